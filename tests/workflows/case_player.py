"""Plays a case of `loop_flow.json` on a harness, and reports the outcome in the case's terms."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from tests.cases import Case, assert_matches, entries
from tests.harness import Harness
from worker.scripted.script import DEFAULT_SCRIPT, Refuse, Script, ScriptedAnswer, ScriptedCall, ScriptedUsage
from workflows.domain.events.asks import AskAnswered, AskClosed, AskRaised
from workflows.domain.events.calls import CallFinished, CallPrepared
from workflows.domain.events.event import Event
from workflows.domain.events.turns import TurnEnded, TurnOpened
from workflows.domain.ids import SessionId
from workflows.domain.messages import AssistantMessage, Message, TextPart, ToolPart
from workflows.domain.permissions import refusals
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.views.deltas import PublishedDelta

_ERRORS: Final = {"stopped": "MessageAbortedError", "failed": "APIError"}
_DATE: Final = re.compile(r"\A<system-reminder>\nToday's date is [^<]*</system-reminder>\s*")
_ABORTED: Final = "aborted note"  # stands in cases for the note of an abort
_DEFAULT_PROMPT: Final = "hi"


@dataclass
class PlayedCase:
    """A played session; `requests` are the questions open at each reply."""

    harness: Harness
    case: Case
    session: SessionId
    asked_before: int
    requests: list[list[PermissionRequest]] = field(default_factory=list)

    async def check_expected(self) -> None:
        """Compare with all expectations of the case; an unknown key fails."""
        known = self._known()
        for key, value in self.case.expected.items():
            found = await known[key]()
            if key in ("tool_output", "history", "second_call_messages"):
                assert_outputs(found, value)
            else:
                assert_matches(found, value)

    async def messages(self) -> list[dict[str, Any]]:
        return await messages(self.harness, self.session)

    async def calls(self) -> list[ToolPart]:
        return await self.harness.calls(self.session)

    async def raised(self) -> list[str]:
        """The permissions of all asks."""
        log = await self.harness.events(self.session)
        return [name for event in log if isinstance(event, AskRaised) for name in event.permissions]

    async def model_requests(self) -> int:
        return len(self.harness.model.ledger.entries) - self.asked_before

    def sent(self) -> list[dict[str, Any]]:
        """The newest request's messages, without the system prompt and the date."""
        assert self.harness.model.last_request is not None
        messages = self.harness.model.last_request.body["messages"]
        return [
            {**message, "content": _DATE.sub("", message["content"] or "")}
            for message in messages
            if message["role"] != "system"
        ]

    def _known(self) -> dict[str, Callable[[], Awaitable[Any]]]:
        return {
            "llm_calls": self.model_requests,
            "messages": self.messages,
            "permission_requests": self._count,
            "requests": self.raised,
            "requests_seen_per_reply": self._seen,
            "tool_output": self._outputs,
            "history": self.history,
            "children": self._children,
            "child_messages": self._child_messages,
            "second_call_messages": self.pairs,
        }

    async def _children(self) -> int:
        return len(await self.harness.client.sessions.tree(self.session)) - 1

    async def _child_messages(self) -> list[dict[str, Any]]:
        (child,) = (await self.harness.client.sessions.tree(self.session))[1:]
        return await messages(self.harness, child)

    async def _count(self) -> int:
        return len(await self.raised())

    async def _seen(self) -> list[list[list[Any]]]:
        return [[[each.permission, list(each.patterns)] for each in seen] for seen in self.requests]

    async def _outputs(self) -> list[str | None]:
        """None for an error, which stands in the message."""
        return [each.outcome.output if each.outcome and not each.outcome.error else None for each in await self.calls()]

    async def history(self) -> list[list[Any]]:
        return [
            [each["role"], [call["function"]["name"] for call in each.get("tool_calls", ())], each["content"]]
            for each in self.sent()
        ]

    async def pairs(self) -> list[list[str]]:
        return [[each["role"], each["content"]] for each in self.sent()]


async def messages(harness: Harness, session: SessionId) -> list[dict[str, Any]]:
    """The stored messages in OpenCode's form; a turn's error stands in its last answer."""
    log = await harness.events(session)
    transcript = await harness.client.records.transcript(session)
    opened = [event for event in log if isinstance(event, TurnOpened)]
    ends = {event.turn: _ERRORS.get(event.reason) for event in log if isinstance(event, TurnEnded)}
    shown: list[dict[str, Any]] = []
    for turn in opened:
        shown += _turn([each for each in transcript if each.turn == turn.turn], turn.agent, ends.get(turn.turn))
    return shown


async def play(harness: Harness, case: Case) -> PlayedCase:
    """Play a case after its earlier ones, on one server; ends when only people are waited for."""
    session: SessionId | None = None
    for name in case.input.get("after", ()):
        earlier = next(entry for entry in entries(case.file) if entry.fields["name"] == name)
        session = (await _play(harness, earlier, None)).session
    return await _play(harness, case, session)


async def _play(harness: Harness, case: Case, before: SessionId | None) -> PlayedCase:
    config = dict(case.input.get("config", {}))
    if (own := config.pop("experimental", None)) is not None:  # a project may not let turns go on after a rejection
        harness.configure_person(model={}, experimental=own)
    harness.configure(**config)
    actions = case.input["actions"]
    session = before if "same session" in actions[0] else None
    await _script(harness, case, session)
    asked = len(harness.model.ledger.entries)
    text = _text(actions[0])
    if session is None:
        session = await harness.start_session(text)
    else:
        await harness.client.prompt(session, text)
    played = PlayedCase(harness, case, session, asked)
    for action in actions[1:]:
        await _act(played, action)
    await _wait_until_idle(harness, session)
    return played


async def _script(harness: Harness, case: Case, session: SessionId | None) -> None:
    """Make the model play the case's script from here on; its steps count all answers of a conversation."""
    said = await harness.client.records.transcript(session) if session else ()
    past = [ScriptedAnswer(text="past") for message in said if isinstance(message, AssistantMessage)]
    told = _scripts_by_session(iter(deepcopy(case.input["llm_script"])))
    scripts = {name: Script(answers=tuple(map(_answer, answers))) for name, answers in told.items()}
    harness.model.scripts = scripts | {DEFAULT_SCRIPT: Script(answers=(*past, *scripts[DEFAULT_SCRIPT].answers))}


def _scripts_by_session(
    answers: Iterator[dict[str, Any]], name: str = DEFAULT_SCRIPT, ancestors: int = 0
) -> dict[str, list[dict[str, Any]]]:
    """A script's answers, in the order of the requests, by the session that asks for them. A subagent's task is marked
    with its script's name; the subagent ends with its first answer without tools."""
    told: dict[str, list[dict[str, Any]]] = {name: []}
    for answer in answers:
        told[name].append(answer)
        calls = answer.get("tools", ())
        handed = [call["args"] for call in calls if call["name"] == "task" and not ancestors]
        for number, arguments in enumerate(handed):
            child = f"child{len(told)}-{number}"
            arguments["prompt"] = f"[[script:{child}]] {arguments['prompt']}"
            told |= _scripts_by_session(answers, child, ancestors + 1)
        if not calls and ancestors:
            return told
    return told


def _answer(said: dict[str, Any]) -> ScriptedAnswer:
    if "status" in said:
        return ScriptedAnswer(faults={1: Refuse(status=said["status"], body=said["body"])})
    usage = said.get("usage")
    return ScriptedAnswer(
        text=said.get("text", ""),
        tools=tuple(ScriptedCall(name=call["name"], arguments=call["args"]) for call in said.get("tools", ())),
        finish=said.get("finish"),
        usage=ScriptedUsage(input=usage["prompt_tokens"], output=usage["completion_tokens"]) if usage else None,
    )


def _text(action: str) -> str:
    """The prompt of an action: `prompt`, `prompt first`, `prompt "go on" in the same session`."""
    quoted = re.search(r'"(.*)"', action)
    bare = re.fullmatch(r".*prompt(?: (\w+))?", action)
    return quoted[1] if quoted else (bare and bare[1]) or _DEFAULT_PROMPT


async def _act(played: PlayedCase, action: str) -> None:
    harness, session = played.harness, played.session
    if action.startswith("while the tool waits: prompt"):
        await _wait_until_idle(harness, session)
        await harness.client.prompt(session, _text(action))
    elif action.startswith("abort"):
        await _output(harness, session)
        await harness.client.stop(session)
    elif action == "answer every request with once":
        await _wait_until_idle(harness, session)
        assert await harness.client.inbox.asks(session=session) == []
    else:
        await _reply(played, *_decision(action))


def _decision(action: str) -> tuple[Reply, str | None]:
    """`reply "always"`, `reply ["reject", "no"]`, `reply once`, `reject the … request`, `reject`."""
    words = re.findall(r"\w+", action.removeprefix("reply"))
    feedback = words[1] if "[" in action else None
    return Reply(words[0]), feedback


async def _reply(played: PlayedCase, reply: Reply, feedback: str | None) -> None:
    """Answer the ask of the first call, once all asks are open."""
    await _wait_until_idle(played.harness, played.session)
    asks = await played.harness.client.inbox.asks(session=played.session)
    waiting = sorted(asks, key=lambda entry: entry.call or "")  # part ids sort as in the answer
    assert waiting, "there is nothing to reply to"
    bodies = [each.request for each in waiting if isinstance(each.request, PermissionAsk)]
    played.requests.append([request for body in bodies for request in body.requests])
    await played.harness.answer(waiting[0].id, reply, feedback=feedback)


async def _wait_until_idle(harness: Harness, session: SessionId) -> None:
    """Wait until all prompts have had their turn, or every open call waits for a person."""
    if not _has_work(await harness.events(session)):
        return
    async with aclosing(harness.client.records.watch(session)) as watched:
        async for _ in watched:
            if not _has_work(await harness.events(session)):
                return


def _has_work(log: list[Event]) -> bool:
    kinds = [event.type for event in log]
    accepted = kinds.count("prompt.accepted") - kinds.count("prompt.taken") - kinds.count("prompt.withdrawn")
    if kinds.count("turn.opened") == kinds.count("turn.ended"):
        return accepted > 0
    return not _waits(log)


def _waits(log: list[Event]) -> bool:
    """Whether the turn, or all its open calls, wait for an answer."""
    finished = {event.call for event in log if isinstance(event, CallFinished)}
    open_calls = {event.call for event in log if isinstance(event, CallPrepared)} - finished
    settled = {event.ask for event in log if isinstance(event, AskAnswered | AskClosed)}
    asking = {event.call for event in log if isinstance(event, AskRaised) and event.ask not in settled}
    return None in asking or (bool(open_calls) and open_calls <= asking)


async def _output(harness: Harness, session: SessionId) -> None:
    """Wait for a running command's first output."""
    async with aclosing(harness.client.records.watch(session)) as watched:
        async for seen in watched:
            if isinstance(seen, PublishedDelta) and "output" in json.dumps(seen.body):
                return


def _turn(messages: list[Message], agent: str, error: str | None) -> Iterator[dict[str, Any]]:
    shown = [_message(message, agent) for message in messages]
    if error is not None:
        if shown[-1]["role"] == "user":  # without an answer, a client sees an empty one with the error
            shown.append({"role": "assistant", "agent": agent, "parts": []})
        shown[-1].pop("finish", None)
        shown[-1]["error"] = error
    yield from shown


def _message(message: Message, agent: str) -> dict[str, Any]:
    if not isinstance(message, AssistantMessage):
        said = re.sub(r"^\[\[script:[^]]*\]\] ", "", message.text)
        return {"role": "user", "agent": agent, "parts": [{"type": "text", "text": said}]}
    parts = [rendered_part(part) for part in message.parts if isinstance(part, TextPart | ToolPart)]
    return {"role": "assistant", "agent": message.body.agent, "finish": message.body.finish, "parts": parts}


def rendered_part(part: TextPart | ToolPart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    assert part.outcome is not None
    shown = {"type": "tool", "tool": part.tool, "status": "error" if part.outcome.error else "completed"}
    return shown | ({"error": _error(part.outcome.output)} if part.outcome.error else {})


def _error(text: str) -> str:
    """OpenCode's name for a refusal, by the text for the model."""
    feedback = refusals.rejection_text(refusals.REJECTED, " ").rstrip(" ") + " "
    if text.startswith(feedback):
        return f"CorrectedError({text.removeprefix(feedback)})"
    if text in (refusals.REJECTED, refusals.DISMISSED):
        return "RejectedError" if text == refusals.REJECTED else "QuestionRejectedError"
    if text.startswith("Subagent depth limit reached"):
        return "subagent_depth_limit"
    if text.startswith("Subagent failed (task_id: "):
        return f"subagent_failed: {text.rpartition(': ')[2]}"
    return "DeniedError" if "specified a rule which prevents" in text else text


def assert_outputs(found: Any, expected: Any) -> None:
    """Compare texts in lists; `<…>` stands for any text, "aborted note" for a note of an abort."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for each, wanted in zip(found, expected, strict=True):
            assert_outputs(each, wanted)
    elif isinstance(expected, str) and _ABORTED in expected:
        beginning = re.sub(r"<[^>]*>", "", expected.removesuffix(f"+ {_ABORTED}").strip(" "))
        assert found.startswith(beginning) and "The user stopped the turn" in found
    else:
        assert found == expected
