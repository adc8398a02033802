"""Answers: each ask is decided once, by a person, about what they saw (reliability.md rows 29 to 33, bug B24)."""

import asyncio

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.effect_ledger import effect
from tests.acceptance.scenarios import DONE, forged_answer, runs
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events.asks import AskAnswered, AskRaised
from workflows.domain.events.calls import CallClaimed
from workflows.domain.ids import AskId
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import Reply

pytestmark = pytest.mark.acceptance

TIMES = 50


async def test_row_30_of_two_answers_at_once_exactly_one_wins(open_trial: Open) -> None:
    tokens = [f"t{number}" for number in range(TIMES)]
    async with open_trial(*map(runs, tokens), DONE) as trial, trial.another_person("alice") as alice:
        async with trial.another_person("bob") as bob:
            trial.harness.configure(permission={"bash": "ask"})
            await trial.worker()
            session = await trial.start_session("Run them all.")
            for number in range(TIMES):
                (ask,) = await trial.harness.wait_for_asks(session, number + 1)
                both = [alice.answer(ask, Reply.ONCE), bob.answer(ask, Reply.REJECT, feedback="no")]
                results = await asyncio.gather(*both, return_exceptions=True)
                (refused,) = [result for result in results if isinstance(result, BaseException)]
                winner = "bob" if refused is results[0] else "alice"
                assert isinstance(refused, Conflict) and f"by {winner}@there" in str(refused)
            await trial.harness.ended(session)
        calls = await trial.harness.calls(session)
        answers = [event for event in await trial.harness.events(session) if isinstance(event, AskAnswered)]
    allowed = [answer.reply == "once" for answer in answers]
    assert [call.state is CallState.DONE for call in calls] == allowed
    assert [trial.effects.count(token) for token in tokens] == [int(each) for each in allowed]


async def test_row_29_the_same_answer_again_gets_the_first_record_and_another_one_is_refused(open_trial: Open) -> None:
    async with open_trial(runs("one", hold=True), DONE) as trial:
        session, ask = await trial.asked()
        first = await trial.recording_client.answer(ask)
        again = await trial.recording_client.answer(ask)
        with pytest.raises(Conflict, match="already answered once by tester@here"):
            await trial.recording_client.answer(ask, Reply.REJECT)
        trial.effects.release("one")
        await trial.harness.ended(session)
    assert again.repeated and again.ask == first.ask
    assert trial.effects.count("one") == 1


async def test_row_32_an_answer_to_what_was_not_seen_or_is_not_there_changes_nothing(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        session, ask = await trial.asked()
        with pytest.raises(Conflict, match="not what you saw"):
            await trial.recording_client.answer(ask, digest="0" * 64)
        with pytest.raises(NotFound, match="There is no ask"):
            await trial.recording_client.answer(AskId("per_unknown"))
        await trial.recording_client.stop(session)
        await trial.harness.ended(session)
        with pytest.raises(Conflict, match="closed before your answer"):
            await trial.recording_client.answer(ask)
        events = await trial.harness.events(session)
    assert sum(event.type == "answer.refused" for event in events) == 2
    assert trial.effects.count("one") == 0


async def test_row_33_always_releases_what_it_covers_and_leaves_the_rest(open_trial: Open) -> None:
    touch = ScriptedCall(name="bash", arguments={"command": "touch other"})
    five = ScriptedAnswer(tools=(effect("a"), effect("b"), touch, effect("c"), effect("d")))
    async with open_trial(five, DONE) as trial:
        trial.harness.configure(permission={"bash": "ask"})
        await trial.worker()
        session = await trial.start_session("Run them.")
        await trial.harness.wait_for_asks(session, 5)  # in any order
        asks = {entry.id: entry.arguments["command"] for entry in await trial.harness.client.inbox.asks()}
        covered = [ask for ask, command in asks.items() if command != "touch other"]
        settled = await trial.recording_client.answer(covered[0], Reply.ALWAYS)
        (left,) = await trial.harness.client.inbox.asks()
        await trial.recording_client.answer(left.id)
        await trial.harness.ended(session)
    assert asks[left.id] == "touch other"
    assert set(settled.asks) == set(covered)
    assert [trial.effects.count(token) for token in "abcd"] == [1, 1, 1, 1]


async def test_a_command_that_runs_and_writes_is_asked_about_once_and_runs_once(open_trial: Open) -> None:
    command = ScriptedCall(name="bash", arguments={"command": "mkdir built && effect one"})
    async with open_trial(ScriptedAnswer(tools=(command,)), DONE) as trial:
        session, ask = await trial.asked()
        await trial.recording_client.answer(ask)
        await trial.harness.ended(session)
        events = await trial.harness.events(session)
    (raised,) = [event for event in events if isinstance(event, AskRaised)]
    (claimed,) = [event for event in events if isinstance(event, CallClaimed)]
    assert (raised.ask, raised.permissions) == (ask, ("bash", "edit"))
    assert [decision.ask for decision in claimed.decisions] == [ask, ask]
    assert trial.effects.count("one") == 1 and (trial.harness.project / "built").is_dir()


async def test_b24_a_forged_signal_runs_nothing_and_the_true_answer_still_counts(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        session, ask = await forged_answer(trial)
        await trial.harness.until(session, lambda event: event.type == "signal.without_answer")
        assert trial.effects.count("one") == 0
        await trial.recording_client.answer(ask)
        await trial.harness.ended(session)
    assert trial.effects.count("one") == 1
