"""Asks: a question is a row and workflow state; its answer is a row and a signal."""

import asyncio

import pytest
from temporalio.api.enums.v1 import EventType

from activities.store.events import verify
from tests.harness import Harness
from tests.polling import WAIT_TIMEOUT
from tests.workflows.conftest import Open
from tests.workflows.session_runs import activities, reset
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events.asks import AskRaised, AskReopened
from workflows.domain.events.calls import CallClaimed
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import AskId, SessionId
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import Reply
from workflows.domain.wake_signal import WAKE, Wake, WakeKind


def writes(*names: str) -> ScriptedAnswer:
    return ScriptedAnswer(
        tools=tuple(ScriptedCall(name="write", arguments={"filePath": name, "content": name}) for name in names)
    )


DONE = ScriptedAnswer(text="Done.")
DECIDED = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED


async def test_an_ask_waits_and_once_lets_the_call_run(open_harness: Open) -> None:
    async with open_harness(writes("a.txt"), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        assert not (harness.project / "a.txt").exists()
        await harness.answer(ask)
        await harness.ended(session)
        events = await harness.events(session)
    assert (harness.project / "a.txt").read_text() == "a.txt"
    (claimed,) = [event for event in events if isinstance(event, CallClaimed)]
    assert [(decision.by, decision.ask) for decision in claimed.decisions] == [("answer", ask)]


async def test_a_reject_without_a_word_ends_the_turn(open_harness: Open) -> None:
    async with open_harness(writes("a.txt"), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        await harness.answer(ask, Reply.REJECT)
        ended = await harness.ended(session)
        (call,) = await harness.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "rejected"
    assert call.state is CallState.REFUSED and not (harness.project / "a.txt").exists()
    assert len(harness.model.ledger.entries) == 1


async def test_what_has_not_begun_when_a_reject_ends_the_turn_does_not_run(open_harness: Open) -> None:
    allowed = ScriptedCall(name="bash", arguments={"command": "cat a.txt; echo b > b.txt"})  # waits for the first edit
    answer = ScriptedAnswer(tools=(*writes("a.txt", "c.txt").tools, allowed))
    async with open_harness(answer, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": {"*": "ask", "b.txt": "allow"}})
        session = await harness.start_session("Write.")
        (ask, *_) = await harness.wait_for_asks(session, 2)
        await harness.answer(ask, Reply.REJECT)
        ended = await harness.ended(session)
        calls = await harness.calls(session)
        asks = [event.type for event in await harness.events(session) if event.type.startswith("ask.")]
    told = [call.outcome.output for call in calls if call.outcome is not None]
    assert isinstance(ended, TurnEnded) and ended.reason == "rejected"
    assert [call.state for call in calls] == [CallState.REFUSED] * 3
    assert [text.startswith("Not run: the turn ended") for text in told].count(True) == 2
    assert sorted(asks) == ["ask.answered", "ask.closed", "ask.raised", "ask.raised"]


async def test_a_reject_with_feedback_is_read_by_the_model(open_harness: Open) -> None:
    async with open_harness(writes("a.txt"), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        await harness.answer(ask, Reply.REJECT, feedback="use b.txt instead")
        ended = await harness.ended(session)
        (call,) = await harness.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert call.outcome is not None and call.outcome.output.endswith("feedback: use b.txt instead")


async def test_always_saves_a_grant_and_releases_the_asks_it_covers(open_harness: Open) -> None:
    reads = ScriptedAnswer(
        tools=tuple(ScriptedCall(name="bash", arguments={"command": f"echo {word}"}) for word in ("one", "two"))
    )
    async with open_harness(reads, reads, DONE) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Say one and two.")
        asks = await harness.wait_for_asks(session, 2)
        await harness.answer(asks[0], Reply.ALWAYS)
        await harness.ended(session)
        (grant,) = await harness.client.grants.list_all()
        events = await harness.events(session)
    answered = [event.by_grant for event in events if event.type == "ask.answered"]
    assert grant.grant.patterns == ("echo *",) and answered == [None, grant.grant.id]
    assert sum(event.type == "ask.raised" for event in events) == 2


async def test_an_effect_that_needs_several_permissions_is_asked_about_once(open_harness: Open) -> None:
    command = ScriptedCall(name="bash", arguments={"command": "rm -rf build && mkdir dist"})
    async with open_harness(ScriptedAnswer(tools=(command,)), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask", "bash": {"*": "ask"}})
        session = await harness.start_session("Clean up.")
        (ask,) = await harness.wait_for_asks(session)
        await harness.answer(ask)
        await harness.ended(session)
        events = await harness.events(session)
    (claimed,) = [event for event in events if isinstance(event, CallClaimed)]
    assert (harness.project / "dist").is_dir() and sum(event.type == "ask.raised" for event in events) == 1
    assert [(each.permission, each.ask) for each in claimed.decisions] == [("bash", ask), ("edit", ask)]


async def test_a_denied_permission_refuses_before_another_is_asked_for(open_harness: Open) -> None:
    command = ScriptedCall(name="bash", arguments={"command": "mkdir dist"})
    async with open_harness(ScriptedAnswer(tools=(command,)), DONE) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask", "edit": "deny"})
        session = await harness.start_session("Go.")
        await harness.ended(session)
        events = await harness.events(session)
    assert not (harness.project / "dist").exists() and "ask.raised" not in [event.type for event in events]


async def test_the_second_answer_is_refused_with_the_author_of_the_first(open_harness: Open) -> None:
    async with open_harness(writes("a.txt"), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        results = await asyncio.gather(
            harness.answer(ask, Reply.ONCE), harness.answer(ask, Reply.REJECT), return_exceptions=True
        )
        await harness.ended(session)
    (refused,) = [result for result in results if result is not None]
    assert isinstance(refused, Conflict) and "already answered" in str(refused) and "tester@here" in str(refused)


async def test_an_answer_to_an_unknown_ask_says_so(open_harness: Open) -> None:
    async with open_harness(DONE) as harness:
        with pytest.raises(NotFound, match="There is no ask 'per_x'"):
            await harness.answer(AskId("per_x"))


async def test_an_answer_given_while_no_worker_runs_is_honoured(open_harness: Open) -> None:
    async with open_harness(writes("a.txt"), DONE) as harness:
        harness.configure(permission={"edit": "ask"})
        async with harness.running_worker():
            session = await harness.start_session("Write a.txt.")
            (ask,) = await harness.wait_for_asks(session)
        await harness.answer(ask)
        async with harness.running_worker():
            await harness.ended(session)
    assert (harness.project / "a.txt").read_text() == "a.txt"


async def test_a_run_that_was_reset_while_an_ask_waits_goes_on_with_the_answer_to_that_ask(open_harness: Open) -> None:
    async with open_harness(writes("a.txt"), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        await reset(harness, session, "holdfast.asks.open")
        await asks_again(harness, session)
        await harness.answer(ask)
        await harness.ended(session)
        log = [event.type for event in await harness.events(session)]
    assert (harness.project / "a.txt").read_text() == "a.txt"
    assert (log.count("ask.raised"), log.count("call.claimed")) == (1, 1)


async def asks_again(harness: Harness, session: SessionId) -> None:
    """Wait until the newest run has opened its ask and has the result."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        history = await harness.history(session)
        while "holdfast.asks.open" not in activities(history) or history.events[-1].event_type != DECIDED:
            await asyncio.sleep(0.05)
            history = await harness.history(session)


@pytest.mark.parametrize("events", [2000, 12])
async def test_the_fifth_equal_call_with_an_equal_result_asks_over_steps_and_runs(
    open_harness: Open, events: int
) -> None:
    read = ScriptedAnswer(tools=(ScriptedCall(name="read", arguments={"filePath": "a.txt"}),))
    async with open_harness(*[read] * 7, DONE) as harness, harness.running_worker():
        harness.set_limits(history_events=events)
        harness.file("a.txt", "hello\n")
        session = await harness.start_session("Read a.txt, and again, and again.")
        (ask,) = await harness.wait_for_asks(session)
        (entry,) = await harness.client.inbox.asks()
        await harness.answer(ask)
        await harness.ended(session)
    assert entry.reasons[0] == "the same call was made again and again, which may be a loop"
    assert harness.model.last_request is not None
    told = str(harness.model.last_request.body).count("Your last calls were the same")
    assert told == 2  # behind the third and the fourth result; "once" begins anew


async def test_a_poll_asks_nobody(open_harness: Open) -> None:
    look = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "date +%N | tee last"}),))
    async with open_harness(*[look] * 9, DONE) as harness, harness.running_worker():
        session = await harness.start_session("Look until something changes.")
        await harness.ended(session)
        assert not any(isinstance(event, AskRaised) for event in await harness.events(session))


async def test_the_model_reads_the_rule_that_denies(open_harness: Open) -> None:
    async with open_harness(writes("a.txt"), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": {"a.*": "deny"}})
        session = await harness.start_session("Write a.txt.")
        await harness.ended(session)
        (call,) = await harness.calls(session)
    assert call.state is CallState.REFUSED and call.outcome is not None
    assert "prevents you from using this specific tool call" in call.outcome.output


async def test_a_row_and_a_signal_without_the_answers_event_approve_nothing(open_harness: Open) -> None:
    async with open_harness(writes("a.txt"), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        async with harness.client.database.transaction() as connection:
            await connection.execute(
                b"UPDATE ask SET state = 'answered', reply = 'once', author = 'ada@laptop', settled_at = now()"
            )
        await harness.workflow(session).signal(WAKE, Wake(kind=WakeKind.ANSWER, subject=ask))
        await harness.until(session, lambda event: isinstance(event, AskReopened))
        assert not (harness.project / "a.txt").exists()
        await harness.answer(ask)
        await harness.ended(session)
        verified = await verify(harness.client.database, session)
    assert (harness.project / "a.txt").read_text() == "a.txt"
    assert verified.problem is None
