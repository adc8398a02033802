"""`kill -9` of the worker while a title or a summary is asked for: one of them, paid as recorded."""

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.trial import Trial
from tests.workflows.test_titles import NAMED, is_title_answer, is_titled, script
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.sessions import SessionTitled
from workflows.domain.generation import Purpose
from workflows.domain.ids import SessionId

pytestmark = pytest.mark.acceptance


KILLS = {
    "as it begins": ("model.registering:title@1", "model.registered:title@1"),
    "before its request, and in its answer": ("model.before_request:title@1", "model.after_chunk:title@1"),
    "behind its commit": ("model.committed:title@1",),
}
KILLS_OF_SUMMARY = ("model.registered:summary@1", "model.after_chunk:summary@1")


async def kill_at(trial: Trial, session: SessionId, kills: tuple[str, ...], purpose: Purpose) -> str:
    """Ask for a title or a summary under a worker that is killed at each point; the generation. Then another worker
    goes on."""
    trial.wasted = sum("after_chunk" in point for point in kills)
    faults = ";".join(point.replace("@", "=kill9@") for point in kills)
    worker = await trial.worker(faults=faults)
    await trial.harness.ended(session)
    asked = await trial.harness.client.asides.ask(session, purpose)
    for _ in kills:
        await worker.killed()
        worker = await trial.worker(faults=faults)
    return asked.generation


@pytest.mark.parametrize("kills", KILLS.values(), ids=list(KILLS))
async def test_a_killed_title_is_given_once(open_trial: Open, kills: tuple[str, ...]) -> None:
    """It is tried three times."""
    async with open_trial(scripts=script(NAMED)) as trial:
        session = await trial.start_session("Count the files.")
        asked = await kill_at(trial, session, kills, Purpose.TITLE)
        await trial.harness.until(session, is_titled)
        events, overview = await trial.harness.events(session), await trial.harness.client.sessions.get(session)
        totals = await trial.harness.client.sessions.totals(session)

    assert [event.generation for event in events if isinstance(event, SessionTitled)] == [asked]
    assert sum(map(is_title_answer, events)) == 1 and overview.title == "Counting files"
    assert len(trial.harness.model.ledger.entries) == 2 + trial.wasted
    assert (totals.steps, totals.tokens.output) == (1, 15)


async def test_a_killed_summary_is_given_once(open_trial: Open) -> None:
    async with open_trial(scripts=script(NAMED)) as trial:
        session = await trial.start_session("Count the files.")
        asked = await kill_at(trial, session, KILLS_OF_SUMMARY, Purpose.SUMMARY)
        await trial.harness.until(session, lambda event: isinstance(event, MessageCompleted) and event.turn is None)
        events, found = await trial.harness.events(session), await trial.harness.client.records.change_summary(session)

    answers = [event for event in events if isinstance(event, MessageCompleted) and event.purpose is Purpose.SUMMARY]
    assert [event.generation for event in answers] == [asked] and found is not None and found.generation == asked
    assert len(trial.harness.model.ledger.entries) == 2 + trial.wasted
