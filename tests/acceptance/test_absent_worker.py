"""What is accepted while no worker runs is carried out, once, by the next one (reliability.md 7)."""

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, runs
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events.prompts import PromptTaken
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import AskId
from workflows.domain.messages import CallState
from workflows.domain.prompt import PromptMode

pytestmark = pytest.mark.acceptance


async def test_row_04_and_b05_an_answer_given_while_no_worker_runs_is_honoured(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        trial.wasted = 1
        session, ask = await trial.asked()
        await trial.bystander()
        await trial.workers[0].kill()
        assert [entry.id for entry in await trial.harness.client.inbox.asks()] == [ask]
        with pytest.raises(NotFound, match="There is no ask"):
            await trial.recording_client.answer(AskId("per_unknown"))
        await trial.recording_client.answer(ask)
        await trial.worker()
        await trial.harness.ended(session)
    assert trial.effects.count("one") == 1


async def test_row_13_a_stop_accepted_while_the_worker_is_dead_ends_its_command(open_trial: Open) -> None:
    async with open_trial(runs("one", hold=True), DONE) as trial:
        first = await trial.worker()
        session = await trial.start_session("Run it.")
        await trial.effects.reached("one")
        await first.kill()
        await trial.recording_client.stop(session)
        await trial.worker()
        ended = await trial.harness.ended(session)
        (call,) = await trial.harness.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "stopped"
    assert call.state is CallState.CANCELLED and call.outcome is not None
    assert "start one" in call.outcome.output and "end one" not in call.outcome.output


async def test_row_19_prompts_accepted_before_any_worker_ran_are_taken_in_their_order(open_trial: Open) -> None:
    async with open_trial(DONE, DONE, DONE) as trial:
        session = await trial.start_session("First.")
        second = await trial.recording_client.prompt(session, "Second.", PromptMode.QUEUE)
        third = await trial.recording_client.prompt(session, "Third.", PromptMode.QUEUE)
        await trial.worker()
        await trial.harness.ended(session, 3)
        taken = [event.prompt for event in await trial.harness.events(session) if isinstance(event, PromptTaken)]
    assert taken[1:] == [second.prompt, third.prompt]


async def test_row_52_a_stop_of_a_prompt_that_is_only_a_row_withdraws_it(open_trial: Open) -> None:
    async with open_trial(DONE, DONE) as trial:
        session = await trial.start_session("Never mind.")
        stopped = await trial.recording_client.stop(session)
        await trial.recording_client.prompt(session, "This instead.")
        await trial.worker()
        await trial.harness.ended(session)
        events = await trial.harness.events(session)
    assert stopped.turn is None and len(stopped.withdrawn) == 1
    assert sum(isinstance(event, TurnEnded) for event in events) == 1


async def test_row_60_an_ended_session_withdraws_its_prompts_and_asks_no_model(open_trial: Open) -> None:
    async with open_trial(DONE) as trial:
        session = await trial.start_session("Never mind.")
        await trial.recording_client.end(session)
        await trial.worker()
        with pytest.raises(Conflict, match="has ended"):
            await trial.recording_client.prompt(session, "Or do.")
    assert trial.harness.model.ledger.entries == []


async def test_row_52_an_answer_that_a_stop_overtook_is_said_not_to_have_run(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        session, ask = await trial.asked()
        await trial.workers[0].kill()
        await trial.recording_client.answer(ask)
        await trial.recording_client.stop(session)
        await trial.worker()
        await trial.harness.ended(session)
        events = await trial.harness.events(session)
    assert [event.ask for event in events if event.type == "answer.not_run"] == [ask]
    assert trial.effects.count("one") == 0


async def test_row_57_a_stop_is_kept_when_an_operator_terminates_the_run(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        session, ask = await trial.asked()
        await trial.workers[0].kill()
        await trial.recording_client.stop(session)
        await trial.harness.workflow(session).terminate()
        await trial.worker()
        ended = await trial.harness.ended(session)
        with pytest.raises(Conflict, match="closed before your answer"):
            await trial.recording_client.answer(ask)
    assert isinstance(ended, TurnEnded) and ended.reason == "stopped" and trial.effects.count("one") == 0


async def test_row_57_an_answer_and_a_prompt_are_kept_when_an_operator_terminates_the_run(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE, DONE) as trial:
        session, ask = await trial.asked()
        await trial.workers[0].kill()
        await trial.recording_client.answer(ask)
        accepted = await trial.recording_client.prompt(session, "And then?", PromptMode.QUEUE)
        await trial.harness.workflow(session).terminate()
        await trial.worker()
        await trial.harness.ended(session, 2)
        taken = [event.prompt for event in await trial.harness.events(session) if isinstance(event, PromptTaken)]
    assert taken[1:] == [accepted.prompt] and trial.effects.count("one") == 1


async def test_row_57_a_command_goes_on_over_a_terminated_run_while_its_old_follower_lives(open_trial: Open) -> None:
    async with open_trial(runs("one", hold=True), DONE) as trial:
        await trial.worker()
        session = await trial.start_session("Run it.")
        await trial.effects.reached("one")
        await trial.harness.workflow(session).terminate()
        await trial.harness.until(session, lambda event: event.type == "call.claimed", 2)
        trial.effects.release("one")
        call = await trial.ended_call(session)
    assert call.state is CallState.DONE and trial.effects.count("one") == 1


async def test_row_60_a_session_that_ends_with_its_run_terminated_only_closes_its_turn(open_trial: Open) -> None:
    async with open_trial(runs("one")) as trial:
        session, ask = await trial.asked()
        await trial.workers[0].kill()
        await trial.harness.workflow(session).terminate()
        await trial.recording_client.end(session)
        await trial.worker()
        await trial.harness.ended(session)
        with pytest.raises(Conflict, match="closed before your answer"):
            await trial.recording_client.answer(ask)
    assert len(trial.harness.model.ledger.entries) == 1 and trial.effects.count("one") == 0
