"""Makes a session of an export: its prompts and answers, with texts, thoughts, calls and files.

What else it says is kept as notes. Thoughts come without their providers' signatures.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from pydantic import JsonValue

from activities.calls import outcomes
from activities.new_ids import new_id
from worker.opencode.import_file import (
    ForeignError,
    ForeignMessage,
    ForeignMessageInfo,
    ForeignPart,
    ForeignState,
    ImportFile,
)
from worker.opencode.turn_errors import ABORTED
from workflows.domain.agents.built_in import BUILD
from workflows.domain.close_reason import CloseReason
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.copied_messages import (
    CopiedAnswer,
    CopiedCall,
    CopiedPrompt,
    CopiedTurn,
    ImportedMessage,
    ImportedSession,
)
from workflows.domain.ids import GenerationId, MessageId, PartId, Prefix, SessionId, TurnId, answer_id
from workflows.domain.messages import (
    FINISH_BROKEN_OFF,
    AnswerMetadata,
    CallState,
    FilePart,
    NewPart,
    Outcome,
    ReasoningPart,
    TextPart,
)
from workflows.domain.prompt import PromptContent
from workflows.domain.titles import replace_unprintable
from workflows.domain.usage import Tokens, decimal_text

# what exports make anew: parts, and fields of `info`
_DERIVED: Final = ("step-start", "step-finish", "compaction")
_DERIVED_INFO: Final = {"path", "mode"} | {each.alias for each in ForeignMessageInfo.model_fields.values()} - {"error"}
_MOST: Final = 10**12  # tokens, and dollars: no sum of them overflows
_NAME: Final = 200  # characters of an agent or a model
_TASK: Final = re.compile(r'<task id="([^"]*)" state="(\w+)"')
_NO_TOOL_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")


class SessionImport:
    """One file, as a session that `author` begins."""

    def __init__(self, found: ImportFile, turn_config: TurnConfig, author: str, *, new_ids: bool) -> None:
        self._found = found
        self._turn_config = turn_config
        self._author = author
        self._ids = _new_ids(found) if new_ids else {id: id for id in found.ids}
        self._turns: list[CopiedTurn] = []
        self._turn_is_open = False  # the next answer belongs to the newest turn
        self._newest: CopiedAnswer | None = None
        self._answer_before: dict[str, CopiedAnswer | None] = {}  # each message of the file
        self._at_work = _find_tasks_at_work(found)
        self._tails: dict[str, str] = {}  # by the message that asks for a summary: the first that is sent besides it

    def make(self) -> ImportedSession:
        bodies = self._found.document["messages"]
        messages = tuple(
            self._message(each, body) for each, body in zip(self._found.read.messages, bodies, strict=True)
        )
        return ImportedSession(
            id=SessionId(self._ids[self._found.read.info.id]),
            title=_named(self._found.read.info.title, "Imported"),
            origin=self._found.read.info.id,
            digest=self._found.digest,
            info=self._found.document["info"],
            turn_config=self._turn_config,
            turns=tuple(self._turns),
            messages=messages,
        )

    def _message(self, message: ForeignMessage, body: dict[str, Any]) -> ImportedMessage:
        info = message.info
        self._answer_before[info.id] = self._newest
        for each in message.parts:
            if each.tail_start_id in self._answer_before:
                self._tails[info.id] = each.tail_start_id
        seen = self._prompt(message) if info.role == "user" else self._answer(message)
        return ImportedMessage(
            id=MessageId(self._ids[info.id]),
            origin=info.id,
            user=info.role == "user",
            unknown=self._unknown(message, body, seen),
            seen=seen,
        )

    def _open_turn(self, info: ForeignMessageInfo) -> CopiedTurn:
        at = _moment(info.time.created)
        self._turns.append(
            CopiedTurn(
                id=TurnId(new_id(Prefix.TURN)),
                number=len(self._turns) + 1,
                turn_config=self._turn_config.id,
                agent=_named(info.agent, BUILD.name),
                model=_model(info),
                reason=CloseReason.DONE,
                opened_at=at,
                ended_at=at,
            )
        )
        self._turn_is_open = True
        return self._turns[-1]

    def _end_turn(self, info: ForeignMessageInfo, **update: object) -> None:
        """Its newest answer is the last, as far as the file has been read."""
        ended = {"ended_at": _ended(info), **_ending(info.error), **update}
        self._turns[-1] = self._turns[-1].model_copy(update=ended)

    def _prompt(self, message: ForeignMessage) -> CopiedPrompt | None:
        """The copied prompt, which opens a turn; None if it has nothing for a model."""
        self._turn_is_open = False
        info, parts = message.info, [part for each in message.parts if (part := self._prompt_part(each)) is not None]
        if not any(isinstance(part, FilePart) or part.text.strip() for part in parts):
            return None
        return CopiedPrompt(
            id=MessageId(self._ids[info.id]),
            origin=info.id,
            turn=self._open_turn(info).id,
            step=1,
            author=self._author,
            variant=info.model.variant if info.model else None,
            content=PromptContent(parts=tuple(parts), system=info.system, tools=info.tools),
            at=_moment(info.time.created),
        )

    def _prompt_part(self, each: ForeignPart) -> TextPart | FilePart | None:
        """What a model sees of a part of a prompt: a text, or a file that the export contains."""
        if each.type == "text" and not each.ignored:
            return TextPart(text=each.text)
        return self._found.files.get(each.id)

    def _answer(self, message: ForeignMessage) -> CopiedAnswer | None:
        """The copied answer; None if it is empty."""
        info, parts, calls = message.info, tuple(self._texts(message)), tuple(self._calls(message))
        answer = CopiedAnswer(
            generation=GenerationId(f"{Prefix.GENERATION}{self._ids[info.id][3:]}"),
            origin=info.id,
            turn=TurnId(""),
            step=0,
            body=_metadata(info),
            parts=parts,
            calls=calls,
            at=_ended(info),
        )
        if info.summary is True and parts and self._newest is not None:
            last = self._last_before_tail(info.parent_id) or self._newest
            newest = answer_id(self._newest.generation)
            return answer.model_copy(update={"turn": last.turn, "step": last.step, "newest": newest, "calls": ()})
        if not (parts or calls):
            if info.error is not None and self._turn_is_open:
                self._end_turn(info)
            return None
        turn = self._turns[-1] if self._turn_is_open else self._open_turn(info)
        begun = {"opened_at": _moment(info.time.created)} if turn.step == 0 else {}
        self._end_turn(info, step=turn.step + 1, **begun)
        self._newest = answer.model_copy(update={"turn": turn.id, "step": turn.step + 1})
        return self._newest

    def _last_before_tail(self, request: str | None) -> CopiedAnswer | None:
        """The last answer that the summary of a request stands for, if the file says so."""
        tail = self._tails.get(request or "")
        return None if tail is None else self._answer_before[tail]

    def _texts(self, message: ForeignMessage) -> Iterator[NewPart]:
        for position, each in enumerate(message.parts):
            if each.is_text and each.text.strip():
                thought = each.type == "reasoning"
                body = ReasoningPart(text=each.text) if thought else TextPart(text=each.text, phase=each.phase)
                yield NewPart(id=PartId(self._ids[each.id]), position=position, body=body)

    def _calls(self, message: ForeignMessage) -> Iterator[CopiedCall]:
        for position, each in enumerate(message.parts):
            if (call := each.state) is not None:
                id = PartId(self._ids[each.id])
                state, outcome = outcomes.interrupted("not_copied") if each.id in self._at_work else _settlement(call)
                yield CopiedCall(
                    id=id,
                    position=position,
                    provider_id=id,
                    tool=_NO_TOOL_NAME.sub("_", each.tool)[:64] or "tool",
                    arguments=call.input,
                    state=state,
                    outcome=outcome,
                    claimed_at=_moment(call.time.start) if call.time.start is not None else None,
                    settled_at=_moment(call.time.end or message.info.time.created),
                )

    def _unknown(
        self, message: ForeignMessage, body: dict[str, Any], seen: CopiedPrompt | CopiedAnswer | None
    ) -> dict[str, JsonValue]:
        """What the file says of a message that its prompt or answer does not hold."""
        info = {name: value for name, value in body["info"].items() if name not in _DERIVED_INFO}
        parts: list[JsonValue] = [
            part
            for each, part in zip(message.parts, body["parts"], strict=True)
            if each.type not in _DERIVED
            and not (isinstance(seen, CopiedPrompt) and self._prompt_part(each) is not None)
            and not (isinstance(seen, CopiedAnswer) and (each.is_text or each.state is not None))
        ]
        return ({"info": info} if info else {}) | ({"parts": parts} if parts else {})


def _ending(error: ForeignError | None) -> dict[str, object]:
    """How an answer with this error ends its turn."""
    if error is None:
        return {"reason": CloseReason.DONE, "error": None}
    if error.name == ABORTED:
        return {"reason": CloseReason.STOPPED, "error": None}
    return {"reason": CloseReason.FAILED, "error": _named(str(error.data.get("message") or ""), error.name)}


def _new_ids(found: ImportFile) -> Mapping[str, str]:
    """New ids in the order of the file, as clients sort by ids."""
    return {id: new_id(prefix) for prefix, id in found.read.ids()}


def _find_tasks_at_work(found: ImportFile) -> set[str]:
    """The parts of calls whose background tasks have no result in the file."""
    begun: dict[str, str] = {}  # the session of each
    for each in (part for message in found.read.messages for part in message.parts):
        match each.state:
            case ForeignState(status="completed", output=output, metadata={"background": True}):
                if (task := _TASK.match(output)) is not None and task[2] == "running":
                    begun[each.id] = task[1]
        if begun and each.is_text:
            ended = {id for id, state in _TASK.findall(each.text) if state != "running"}
            begun = {part: id for part, id in begun.items() if id not in ended}
    return set(begun)


def _settlement(state: ForeignState) -> tuple[CallState, Outcome]:
    if state.status == "completed":
        return CallState.DONE, Outcome(title=state.title, output=state.output, metadata=state.metadata)
    if state.status == "error":
        return CallState.FAILED, Outcome(output=state.error, error=True, metadata=state.metadata)
    return outcomes.interrupted("not_copied")


def _metadata(info: ForeignMessageInfo) -> AnswerMetadata:
    tokens = info.tokens
    return AnswerMetadata(
        finish=_named(info.finish, FINISH_BROKEN_OFF if info.error else "unknown"),
        agent=_named(info.agent, BUILD.name),
        model=_model(info),
        variant=info.variant,
        tokens=Tokens(
            total=None if tokens.total is None else _count(tokens.total),
            input=_count(tokens.input),
            output=_count(tokens.output),
            reasoning=_count(tokens.reasoning),
            cache_read=_count(tokens.cache.read),
            cache_write=_count(tokens.cache.write),
        ),
        cost=decimal_text(Decimal(str(min(max(info.cost, 0), _MOST)))),
    )


def _model(info: ForeignMessageInfo) -> str:
    provider, model = info.provider_id, info.model_id
    if info.model is not None:
        provider, model = info.model.provider_id, info.model.model_id
    return _named(f"{provider}/{model}" if provider and model else None, "none")


def _named(text: str | None, otherwise: str) -> str:
    return replace_unprintable(text or "").strip()[:_NAME] or otherwise


def _count(number: float) -> int:
    return int(min(max(number, 0), _MOST))


def _moment(milliseconds: float) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _ended(info: ForeignMessageInfo) -> datetime:
    return _moment(info.time.completed or info.time.created)
