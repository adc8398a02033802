"""Zombies: an overtaken worker changes nothing more (rows 14, 21, 54, 57, 59)."""

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import (
    DONE,
    EDIT,
    PATCH,
    PATCHED,
    SLOW,
    TO_PATCH,
    Mutate,
    edit_of_a_zombie,
    frozen,
    outcome_of_a_zombie,
    project_files,
    resume_zombie,
    runs,
    with_shell_of_class_once,
)
from worker.scripted.script import ScriptedAnswer
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.messages import AssistantMessage, CallState, TextPart

pytestmark = pytest.mark.acceptance

TEXT = "An answer in more than one chunk."


async def test_row_21_the_outcome_of_a_zombie_is_refused_and_the_log_says_so(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        session = await outcome_of_a_zombie(trial)
        events = [event.type for event in await trial.harness.events(session)]
    assert events.count("write.refused") == 1 and events.count("call.finished") == 1
    assert trial.effects.count("one") == 1


async def test_row_21_a_zombie_does_not_make_the_edit_of_a_stopped_turn(open_trial: Open) -> None:
    async with open_trial(EDIT) as trial:
        file = await edit_of_a_zombie(trial)
    assert file.read_text() == "a\n"


@pytest.mark.parametrize(("point", "refused"), [("tool.claimed", False), ("tool.effect_done", True)], ids=["H2", "J"])
async def test_row_14_a_command_runs_once_when_its_frozen_worker_wakes(
    open_trial: Open, point: str, refused: bool
) -> None:
    async with open_trial(runs("one"), DONE, DONE) as trial:
        async with frozen(trial, point) as session:
            await trial.harness.ended(session)
            before = await trial.harness.calls(session)
        if refused:  # it may come after the other turn, which its worker carries out beside it
            await trial.harness.until(session, lambda event: event.type == "write.refused")
        assert await trial.harness.calls(session) == before
        events = [event.type for event in await trial.harness.events(session)]
    assert events.count("call.finished") == 1
    assert [call.state for call in before] == [CallState.DONE] and trial.effects.count("one") == 1


@pytest.mark.parametrize(("point", "begun"), [("tool.claimed", 0), ("tool.effect_done", 1)], ids=["H2", "J"])
async def test_row_14_what_is_unknown_stays_so_when_the_frozen_worker_wakes(
    open_trial: Open, mutate: Mutate, point: str, begun: int
) -> None:
    async with open_trial(runs("one"), DONE, DONE, heartbeat_seconds=SLOW) as trial:
        trial.code = with_shell_of_class_once(mutate)
        async with frozen(trial, point) as session:
            await trial.harness.ended(session)
            before = await trial.harness.calls(session)
        assert await trial.harness.calls(session) == before
    assert [call.state for call in before] == [CallState.UNKNOWN] and trial.effects.count("one") == begun


async def test_row_14_an_edit_is_made_once_when_its_frozen_worker_wakes(open_trial: Open) -> None:
    async with open_trial(EDIT, DONE, DONE) as trial:
        file = trial.harness.file("a.txt", "a\n")
        async with frozen(trial, "tool.effect_done", "Edit it.") as session:
            await trial.harness.ended(session)
            file.write_text("written since\n")
        (call,) = await trial.harness.calls(session)
    assert call.state is CallState.DONE and file.read_text() == "written since\n"


async def test_row_14_a_patch_is_made_once_when_its_worker_was_frozen_between_two_files(open_trial: Open) -> None:
    async with open_trial(PATCH, DONE, DONE) as trial:
        for name, content in TO_PATCH.items():
            trial.harness.file(name, content)
        async with frozen(trial, "tool.changing_file", "Patch it.", arrival=3) as session:
            await trial.harness.ended(session)
            assert project_files(trial) == PATCHED
            for name, content in TO_PATCH.items():
                trial.harness.file(name, content)
        (call,) = await trial.harness.calls(session)
    assert call.state is CallState.DONE and project_files(trial) == PATCHED | TO_PATCH


async def test_row_14_a_running_command_has_one_follower_when_its_frozen_worker_wakes(open_trial: Open) -> None:
    async with open_trial(runs("one", hold=True), DONE, DONE) as trial:
        first = await trial.worker()
        session = await trial.start_session("Run it.")
        await trial.effects.reached("one")
        await first.freeze()
        await trial.worker()
        trial.effects.release("one")
        await trial.harness.ended(session)
        before = await trial.harness.calls(session)
        await resume_zombie(trial, session)
        assert await trial.harness.calls(session) == before
    assert [call.state for call in before] == [CallState.DONE] and trial.effects.count("one") == 1


@pytest.mark.parametrize(("point", "requests"), [("model.after_chunk", 2), ("model.committed", 1)], ids=["D", "E"])
async def test_row_14_a_step_has_one_answer_when_the_frozen_worker_wakes(
    open_trial: Open, point: str, requests: int
) -> None:
    async with open_trial(ScriptedAnswer(text=TEXT), DONE) as trial:
        trial.wasted = requests - 1
        async with frozen(trial, point) as session:
            await trial.harness.ended(session)
            before = await trial.harness.client.records.transcript(session)
        after = await trial.harness.client.records.transcript(session)
    assert after[: len(before)] == before and len(after) == 4
    assert isinstance(before[1], AssistantMessage) and before[1].parts == (TextPart(text=TEXT),)
    assert len(trial.harness.model.ledger.entries) == requests + 1


async def test_row_54_an_attempt_that_was_frozen_before_its_claim_touches_nothing(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE, DONE) as trial:
        async with frozen(trial, "tool.before_claim") as session:
            await trial.harness.ended(session)
            before = await trial.harness.calls(session)
        assert await trial.harness.calls(session) == before
    assert [call.state for call in before] == [CallState.DONE] and trial.effects.count("one") == 1


async def test_row_57_a_zombie_of_a_terminated_chain_touches_nothing(open_trial: Open) -> None:
    async with open_trial(EDIT, DONE, DONE) as trial:
        file = trial.harness.file("a.txt", "a\n")
        async with frozen(trial, "tool.claimed", "Edit it.") as session:
            await trial.harness.workflow(session).terminate()
            await trial.harness.ended(session)
            file.write_text("written since\n")
            before = await trial.harness.calls(session)
        assert await trial.harness.calls(session) == before
    assert [call.state for call in before] == [CallState.DONE] and file.read_text() == "written since\n"


async def test_row_59_an_answer_that_comes_after_its_turn_was_stopped_is_not_kept(open_trial: Open) -> None:
    async with open_trial(ScriptedAnswer(text=TEXT), DONE) as trial:
        trial.wasted = 1
        async with frozen(trial, "model.after_chunk") as session:
            stopped = await trial.recording_client.stop(session)
            steered = await trial.recording_client.prompt(session, "This instead.")
            await trial.harness.ended(session, 2)
        events = await trial.harness.events(session)
    kept = [event.turn for event in events if isinstance(event, MessageCompleted)]
    ends = [event.reason for event in events if isinstance(event, TurnEnded)]
    (own,) = [event.turn for event in events if event.type == "prompt.taken" and event.prompt == steered.prompt]
    assert ends == ["stopped", "done", "done"] and kept[0] == own and stopped.turn not in kept
