"""`kill -9` of the worker: wherever it was, the session goes on; nothing happens twice (reliability.md rows 2 to 9)."""

from datetime import datetime
from pathlib import Path

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, EDIT, runs
from tests.acceptance.workers import appears
from tests.house import reached
from worker.scripted.script import Refuse, ScriptedAnswer, ScriptedCall
from workflows.domain.events import CallClaimed, ModelRetry
from workflows.domain.messages import AssistantMessage, CallState, TextPart

pytestmark = pytest.mark.acceptance

POINTS = {
    "row_05_H": "tool.before_claim",
    "row_06_H2": "tool.claimed",
    "row_08_J": "tool.effect_done",
    "row_09_K": "tool.committed",
}


@pytest.mark.parametrize("point", POINTS)
async def test_a_command_runs_once_when_its_worker_is_killed(open_trial: Open, point: str) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        trial.house.configure(permission={"bash": "ask"})
        first = await trial.worker(faults=f"{POINTS[point]}=kill9@1")
        session = await trial.say("Run it.")
        (ask,) = await trial.house.asked(session)
        await trial.door.answer(ask)
        await first.killed()
        await trial.worker()
        await trial.house.ended(session)
        (call,) = await trial.house.calls(session)
    assert call.state is CallState.DONE and call.outcome is not None
    assert "start one\nend one" in call.outcome.output and trial.effects.count("one") == 1


async def test_row_07_a_running_command_outlives_its_worker_and_is_followed_to_its_end(open_trial: Open) -> None:
    async with open_trial(runs("one", hold=True), DONE) as trial:
        first = await trial.worker()
        session = await trial.say("Run it.")
        await trial.effects.reached("one")
        await first.kill()
        await trial.worker()
        trial.effects.release("one")
        await trial.house.ended(session)
        (call,) = await trial.house.calls(session)
        claims = [event for event in await trial.house.events(session) if isinstance(event, CallClaimed)]
    assert [claim.recovered for claim in claims] == [False, True]
    assert call.state is CallState.DONE and call.outcome is not None
    assert "start one\nend one" in call.outcome.output and trial.effects.count("one") == 1


@pytest.mark.parametrize("point", POINTS)
async def test_an_edit_is_made_once_when_its_worker_is_killed(open_trial: Open, point: str) -> None:
    async with open_trial(EDIT, DONE) as trial:
        trial.house.configure(permission={"edit": "ask"})
        file = trial.house.file("a.txt", "a\n")
        first = await trial.worker(faults=f"{POINTS[point]}=kill9@1")
        session = await trial.say("Edit it.")
        (ask,) = await trial.house.asked(session)
        await trial.door.answer(ask)
        await first.killed()
        await trial.worker()
        await trial.house.ended(session)
        (call,) = await trial.house.calls(session)
    assert call.state is CallState.DONE and file.read_text() == "ab\n"


async def test_row_07_an_edit_is_made_once_when_its_worker_is_killed_half_way(open_trial: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with open_trial(EDIT, DONE) as trial:
        file = trial.house.file("a.txt", "a\n")
        first = await trial.worker(faults=f"tool.claimed=block:{gate}@1")
        session = await trial.say("Edit it.")
        await reached(gate)
        async with trial.ledger_locked():
            gate.touch()
            await appears(lambda: any(trial.house.project.glob(".holdfast-*")))
            await first.kill()
        assert file.read_text() == "a\n"
        await trial.worker()
        await trial.house.ended(session)
        (call,) = await trial.house.calls(session)
    assert call.state is CallState.DONE and file.read_text() == "ab\n"


@pytest.mark.parametrize(
    ("point", "requests"),
    [("model.before_request=kill9@1", 1), ("model.after_chunk=kill9@2", 2), ("model.committed=kill9@1", 1)],
    ids=("row_02_C", "row_02_D", "row_03_E"),
)
async def test_an_answer_is_paid_again_only_when_it_was_lost_on_its_way(
    open_trial: Open, point: str, requests: int
) -> None:
    text = "An answer that takes a good number of chunks until it is complete, each of them of sixteen characters."
    async with open_trial(ScriptedAnswer(text=text)) as trial:
        trial.wasted = requests - 1
        first = await trial.worker(faults=point)
        session = await trial.say("Say something.")
        await first.killed()
        await trial.worker()
        await trial.house.ended(session)
        _, answer = await trial.house.client.transcript(session)
    assert isinstance(answer, AssistantMessage) and answer.parts == (TextPart(text=text),)
    assert len(trial.house.model.ledger.entries) == requests


async def test_row_36_the_pause_that_a_provider_asks_for_outlives_the_worker(open_trial: Open) -> None:
    limited = DONE.model_copy(update={"faults": {1: Refuse(headers={"Retry-After": "8"})}})
    async with open_trial(limited) as trial:
        trial.wasted = 1
        first = await trial.worker()
        session = await trial.say("Hello?")
        retry = await trial.house.until(session, lambda event: event.type == "model.retry")
        await trial.retrying(session)
        await first.kill()
        await trial.worker()
        await trial.house.ended(session)
    refused, answered = trial.house.model.ledger.entries
    assert isinstance(retry, ModelRetry) and retry.attempt == 1
    assert refused.ended < datetime.fromisoformat(retry.next_at) <= answered.began


async def test_row_38_the_loop_guard_counts_over_steps_and_restarts(open_trial: Open) -> None:
    read = ScriptedAnswer(tools=(ScriptedCall(name="read", arguments={"filePath": "a.txt"}),))
    async with open_trial(read, read, read, DONE) as trial:
        trial.house.file("a.txt", "hello\n")
        first = await trial.worker(faults="tool.committed=kill9@2")
        session = await trial.say("Read it, and again, and again.")
        await first.killed()
        await trial.worker()
        (ask,) = await trial.house.asked(session)
        (entry,) = await trial.house.client.asks()
        await trial.door.answer(ask)
        await trial.house.ended(session)
    assert entry.request.permission == "doom_loop"
