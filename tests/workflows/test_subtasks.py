"""Subtasks of a prompt: calls of `task` that a person has asked for, before any model is asked."""

from typing import Any, Final

import pytest

from tests.harness import Harness
from tests.workflows.conftest import Open
from tests.workflows.delegation import DONE, FOUND, children, delegation_scripts, tasks
from worker.scripted.script import Refuse, ScriptedAnswer
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.events.calls import CallClaimed
from workflows.domain.events.event import Event
from workflows.domain.ids import SessionId
from workflows.domain.messages import AgentPart, CallState, SubtaskPart, TextPart
from workflows.domain.prompt import Prompt
from workflows.domain.sent_request import RequestChoice

UNASKED: Final = ScriptedAnswer(text="No model answers for a subtask.")
REFUSED_ONCE: Final = DONE.model_copy(update={"faults": {1: Refuse(status=400, body={"error": {"message": "nope"}})}})


def subtask(script: str, **more: Any) -> SubtaskPart:
    named = {"agent": "explore", "description": f"look for {script}", **more}
    return SubtaskPart(prompt=f"[[script:{script}]] Where is it?", **named)


async def start(harness: Harness, *parts: SubtaskPart | TextPart | AgentPart) -> SessionId:
    prompt = Prompt(parts=parts, model="scripted/model")
    return (await harness.client.start(str(harness.project), prompt)).session


def decisions(events: list[Event]) -> list[tuple[str, str | None]]:
    claims = [event for event in events if isinstance(event, CallClaimed)]
    return [(each.by, each.author) for claim in claims for each in claim.decisions]


async def test_they_run_one_after_the_other_the_last_first_and_then_the_model_goes_on(open_harness: Open) -> None:
    scripts = delegation_scripts(UNASKED, UNASKED, DONE, one=(FOUND,), two=(ScriptedAnswer(text="It is nowhere."),))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.configure(permission={"task": "ask"})
        parts = (
            TextPart(text="Compare both."),
            subtask("one", command="review"),
            subtask("two", model="scripted/small"),
        )
        session = await start(harness, *parts)
        ended: Any = await harness.ended(session)
        first, second = await children(harness, session, 2)
        calls, log = await tasks(harness, session), await harness.events(session)
        models = [(await harness.client.sessions.get(each)).title for each in (first, second)]
        rows = await harness.database.rows(b"SELECT model FROM turn WHERE session = %(session)s", session=first)
        sent = await harness.client.records.sent(session, RequestChoice(turn=1, step=3))
        with pytest.raises(Conflict, match="No model was asked at this step"):
            await harness.client.records.sent(session, RequestChoice(turn=1, step=1))
        verified, entries = await harness.client.records.verify(session), harness.model.ledger.entries
        request = harness.model.last_request

    assert ended.reason == "done" and [call.state for call in calls] == [CallState.DONE] * 2
    assert models == ["look for two (@explore subagent)", "look for one (@explore subagent)"]
    assert [row["model"] for row in rows] == ["scripted/small"] and len(entries) == 3
    assert decisions(log) == [("prompt", "tester@here")] * 2 and "ask.raised" not in [event.type for event in log]
    assert sent.as_sent and verified.problem is None and request is not None
    roles = [message["role"] for message in request.body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "user"]
    said = [str(message["content"]) for message in request.body["messages"]]
    assert "Compare both.\n\n<system-reminder>\nA person has started" in said[1]
    assert "It is nowhere." in said[3] and "a.txt" in said[5]
    assert "Say in a few words what came of the task above" in said[6]


async def test_what_has_begun_does_not_begin_again_in_a_retry_or_in_a_copy(open_harness: Open) -> None:
    scripts = delegation_scripts(UNASKED, REFUSED_ONCE, DONE, one=(FOUND,))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        session = await start(harness, subtask("one"))
        failed: Any = await harness.ended(session)
        fork = (await harness.client.copies.fork_session(session)).session
        for each, turns in ((session, 2), (fork, 1)):
            await harness.client.retry(each)
            ended: Any = await harness.ended(each, turns)
            assert ended.reason == "done"
        calls = [len(await tasks(harness, each)) for each in (session, fork)]
        sessions = await harness.client.sessions.list_recent()
    assert failed.reason == "failed" and calls == [1, 1] and len(sessions) == 3


async def test_a_rule_that_denies_holds_and_no_last_step_refuses_them(open_harness: Open) -> None:
    scripts = delegation_scripts(UNASKED, DONE, one=(FOUND,))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.configure(permission={"task": "deny"})
        denied = await start(harness, subtask("one"))
        await harness.ended(denied)
        harness.configure(agent={"build": {"steps": 1}})
        last = await start(harness, subtask("one"))
        ended: Any = await harness.ended(last)
        states = [[call.state for call in await tasks(harness, each)] for each in (denied, last)]
    assert states == [[CallState.REFUSED], [CallState.DONE]] and ended.reason == "done"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((subtask("x", agent="scout"),), r"There is no subagent 'scout'. Subagents here: explore, general\.$"),
        ((subtask("x", agent="build"),), "There is no subagent 'build'"),
        ((TextPart(text="Go."), SubtaskPart(agent="explore", description="d", prompt=" ")), "'explore' is empty"),
        ((TextPart(text="Go."), AgentPart(name="scout")), "There is no subagent 'scout'"),
        ((subtask("x"),) * 21, "21 subtasks; at most 20 are allowed"),
    ],
    ids=["unknown", "for people", "empty", "mentioned", "too many"],
)
async def test_what_no_subagent_can_do_is_refused_at_the_door(
    open_harness: Open, parts: tuple[SubtaskPart | TextPart | AgentPart, ...], said: str
) -> None:
    async with open_harness() as harness:
        session = await harness.start_session("Go.")
        with pytest.raises(UsageError, match=said):
            await start(harness, *parts)
        with pytest.raises(UsageError, match=said):
            await harness.client.prompt(session, Prompt(parts=parts))
        assert len(await harness.client.sessions.list_recent()) == 1
