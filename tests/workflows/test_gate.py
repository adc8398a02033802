"""Asks: a question is a row and workflow state; its answer is a row and a bell."""

import asyncio

import pytest
from temporalio.api.enums.v1 import EventType

from activities.store.events import verify
from tests.house import House
from tests.patience import PATIENCE
from tests.workflows.conftest import Open
from tests.workflows.runs import activities, reset
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events import AskReopened, CallClaimed, TurnEnded
from workflows.domain.ids import AskId, SessionId, workflow_id
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import Reply
from workflows.domain.wire import AnswerRef


def writes(*names: str) -> ScriptedAnswer:
    return ScriptedAnswer(
        tools=tuple(ScriptedCall(name="write", arguments={"filePath": name, "content": name}) for name in names)
    )


DONE = ScriptedAnswer(text="Done.")
DECIDED = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED


async def test_an_ask_waits_and_once_lets_the_call_run(open_house: Open) -> None:
    async with open_house(writes("a.txt"), DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        assert not (house.project / "a.txt").exists()
        await house.answer(ask)
        await house.ended(session)
        events = await house.events(session)
    assert (house.project / "a.txt").read_text() == "a.txt"
    (claimed,) = [event for event in events if isinstance(event, CallClaimed)]
    assert [(decision.by, decision.ask) for decision in claimed.decisions] == [("answer", ask)]


async def test_a_reject_without_a_word_ends_the_turn(open_house: Open) -> None:
    async with open_house(writes("a.txt"), DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        await house.answer(ask, Reply.REJECT)
        ended = await house.ended(session)
        (call,) = await house.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "rejected"
    assert call.state is CallState.REFUSED and not (house.project / "a.txt").exists()
    assert len(house.model.ledger.entries) == 1


async def test_a_reject_with_feedback_is_read_by_the_model(open_house: Open) -> None:
    async with open_house(writes("a.txt"), DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        await house.answer(ask, Reply.REJECT, feedback="use b.txt instead")
        ended = await house.ended(session)
        (call,) = await house.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert call.outcome is not None and call.outcome.output.endswith("feedback: use b.txt instead")


async def test_always_saves_a_grant_and_releases_the_asks_it_covers(open_house: Open) -> None:
    reads = ScriptedAnswer(
        tools=tuple(ScriptedCall(name="bash", arguments={"command": f"echo {word}"}) for word in ("one", "two"))
    )
    async with open_house(reads, reads, DONE) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("Say one and two.")
        asks = await house.asked(session, 2)
        await house.answer(asks[0], Reply.ALWAYS)
        await house.ended(session)
        (grant,) = await house.client.grants()
        events = await house.events(session)
    answered = [event.by_grant for event in events if event.type == "ask.answered"]
    assert grant.grant.patterns == ("echo *",) and answered == [None, grant.grant.id]
    assert sum(event.type == "ask.raised" for event in events) == 2


async def test_the_second_answer_is_refused_and_told_who_came_first(open_house: Open) -> None:
    async with open_house(writes("a.txt"), DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        results = await asyncio.gather(
            house.answer(ask, Reply.ONCE), house.answer(ask, Reply.REJECT), return_exceptions=True
        )
        await house.ended(session)
    (refused,) = [result for result in results if result is not None]
    assert isinstance(refused, Conflict) and "already answered" in str(refused) and "tester@here" in str(refused)


async def test_an_answer_to_an_unknown_ask_says_so(open_house: Open) -> None:
    async with open_house(DONE) as house:
        with pytest.raises(NotFound, match="There is no ask 'per_x'"):
            await house.answer(AskId("per_x"))


async def test_an_answer_given_while_no_worker_runs_is_honoured(open_house: Open) -> None:
    async with open_house(writes("a.txt"), DONE) as house:
        house.configure(permission={"edit": "ask"})
        async with house.working():
            session = await house.say("Write a.txt.")
            (ask,) = await house.asked(session)
        await house.answer(ask)
        async with house.working():
            await house.ended(session)
    assert (house.project / "a.txt").read_text() == "a.txt"


async def test_a_run_that_was_reset_while_an_ask_waits_goes_on_with_the_answer_to_that_ask(open_house: Open) -> None:
    async with open_house(writes("a.txt"), DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        await reset(house, session, "holdfast.asks.open")
        await asks_again(house, session)
        await house.answer(ask)
        await house.ended(session)
        log = [event.type for event in await house.events(session)]
    assert (house.project / "a.txt").read_text() == "a.txt"
    assert (log.count("ask.raised"), log.count("call.claimed")) == (1, 1)


async def asks_again(house: House, session: SessionId) -> None:
    """Wait until the newest run has asked, and been told how its ask stands."""
    async with asyncio.timeout(PATIENCE):
        history = await house.history(session)
        while "holdfast.asks.open" not in activities(history) or history.events[-1].event_type != DECIDED:
            await asyncio.sleep(0.05)
            history = await house.history(session)


async def test_two_approved_edits_of_one_file_both_apply_and_the_second_asks_again_with_the_new_difference(
    open_house: Open,
) -> None:
    edits = ScriptedAnswer(
        tools=tuple(
            ScriptedCall(name="edit", arguments={"filePath": "a.txt", "oldString": old, "newString": new})
            for old, new in (("one", "1"), ("two", "2"))
        )
    )
    async with open_house(edits, DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        house.file("a.txt", "one\ntwo\n")
        session = await house.say("Replace the words.")
        for ask in await house.asked(session, 2):
            await house.answer(ask)
        await house.asked(session, 3)
        (again,) = await house.client.asks(session=session)
        await house.answer(again.id)
        await house.ended(session)
    assert (house.project / "a.txt").read_text() == "1\n2\n"
    assert str(again.request.metadata["diff"]).endswith(" 1\n-two\n+2\n")


@pytest.mark.parametrize("events", [2000, 12])
async def test_the_third_equal_call_asks_over_steps_and_runs(open_house: Open, events: int) -> None:
    read = ScriptedAnswer(tools=(ScriptedCall(name="read", arguments={"filePath": "a.txt"}),))
    async with open_house(read, read, read, DONE) as house, house.working():
        house.hurry(history_events=events)
        house.file("a.txt", "hello\n")
        session = await house.say("Read a.txt, and again, and again.")
        (ask,) = await house.asked(session)
        (entry,) = await house.client.asks()
        await house.answer(ask)
        await house.ended(session)
    assert entry.request.permission == "doom_loop"


async def test_a_rule_that_denies_is_told_to_the_model(open_house: Open) -> None:
    async with open_house(writes("a.txt"), DONE) as house, house.working():
        house.configure(permission={"edit": {"a.*": "deny"}})
        session = await house.say("Write a.txt.")
        await house.ended(session)
        (call,) = await house.calls(session)
    assert call.state is CallState.REFUSED and call.outcome is not None
    assert "prevents you from using this specific tool call" in call.outcome.output


async def test_a_row_and_a_signal_without_the_answers_event_approve_nothing(open_house: Open) -> None:
    async with open_house(writes("a.txt"), DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        async with house.client.database.transaction() as connection:
            await connection.execute(
                b"UPDATE ask SET state = 'answered', reply = 'once', author = 'ada@laptop', settled_at = now()"
            )
        await house.temporal.get_workflow_handle(workflow_id(session)).signal("answer", AnswerRef(ask=ask))
        await house.until(session, lambda event: isinstance(event, AskReopened))
        assert not (house.project / "a.txt").exists()
        await house.answer(ask)
        await house.ended(session)
        verified = await verify(house.client.database, session)
    assert (house.project / "a.txt").read_text() == "a.txt"
    assert verified.problem is None
