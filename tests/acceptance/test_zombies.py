"""Zombies: a worker that was overtaken without knowing it touches nothing more (reliability.md rows 14, 21, 54, 59)."""

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, EDIT, edit_of_a_zombie, outcome_of_a_zombie, runs
from tests.acceptance.trial import Trial
from worker.scripted.script import ScriptedAnswer
from workflows.domain.events import MessageCompleted, TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState

pytestmark = pytest.mark.acceptance


async def test_row_21_the_outcome_of_a_zombie_is_refused_and_the_log_says_so(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        session = await outcome_of_a_zombie(trial)
        events = [event.type for event in await trial.house.events(session)]
    assert events.count("write.refused") == 1 and events.count("call.finished") == 1
    assert trial.effects.count("one") == 1


async def test_row_21_a_zombie_does_not_make_the_edit_of_a_stopped_turn(open_trial: Open) -> None:
    async with open_trial(EDIT) as trial:
        file = await edit_of_a_zombie(trial)
    assert file.read_text() == "a\n"


@pytest.mark.parametrize("point", ["tool.before_claim", "tool.claimed"], ids=("row_54_H", "row_14_H2"))
async def test_a_command_runs_once_when_its_frozen_worker_wakes(open_trial: Open, point: str) -> None:
    async with open_trial(runs("one"), DONE, DONE) as trial:
        first = await trial.worker(faults=f"{point}=stop@1")
        session = await trial.say("Run it.")
        await first.frozen()
        await trial.worker()
        await trial.house.ended(session)
        before = await trial.house.calls(session)
        first.wake()
        await next_turn_by_the_first_worker(trial, session)
        assert await trial.house.calls(session) == before
    assert [call.state for call in before] == [CallState.DONE] and trial.effects.count("one") == 1


async def test_row_59_an_answer_that_comes_after_its_turn_was_stopped_is_not_kept(open_trial: Open) -> None:
    async with open_trial(ScriptedAnswer(text="An answer in more than one chunk.")) as trial:
        trial.wasted = 1
        first = await trial.worker(faults="model.after_chunk=stop@1")
        session = await trial.say("Say something.")
        await first.frozen()
        await trial.worker()
        stopped = await trial.door.stop(session)
        await trial.house.ended(session)
        first.wake()
        await next_turn_by_the_first_worker(trial, session)
        events = await trial.house.events(session)
    kept = [event.turn for event in events if isinstance(event, MessageCompleted)]
    ends = [event.reason for event in events if isinstance(event, TurnEnded)]
    assert ends == ["stopped", "done"] and len(kept) == 1 and kept[0] != stopped.turn


async def next_turn_by_the_first_worker(trial: Trial, session: SessionId) -> None:
    """Have the zombie, alone now, carry out another turn: by then it has done whatever it was frozen at."""
    await trial.workers[1].kill()
    await trial.door.prompt(session, "And now?")
    await trial.house.ended(session, 2)
