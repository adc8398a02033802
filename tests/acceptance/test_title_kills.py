"""`kill -9` of the worker while a title is asked for: one title, paid as recorded."""

import pytest

from tests.acceptance.conftest import Open
from tests.workflows.test_titles import NAMED, is_title_answer, is_titled, script
from workflows.domain.events.sessions import SessionTitled

pytestmark = pytest.mark.acceptance


KILLS = {
    "as it begins": ("model.registering:title@1", "model.registered:title@1"),
    "before its request, and in its answer": ("model.before_request:title@1", "model.after_chunk:title@1"),
    "behind its commit": ("model.committed:title@1",),
}


@pytest.mark.parametrize("kills", KILLS.values(), ids=list(KILLS))
async def test_a_killed_title_is_given_once(open_trial: Open, kills: tuple[str, ...]) -> None:
    """It is tried three times."""
    faults = ";".join(point.replace("@", "=kill9@") for point in kills)
    async with open_trial(scripts=script(NAMED)) as trial:
        trial.wasted = sum("after_chunk" in point for point in kills)
        client = trial.harness.client
        worker = await trial.worker(faults=faults)
        session = await trial.start_session("Count the files.")
        await trial.harness.ended(session)
        asked = await client.titles.ask(session)
        for _ in kills:
            await worker.killed()
            worker = await trial.worker(faults=faults)
        await trial.harness.until(session, is_titled)
        events, overview = await trial.harness.events(session), await client.sessions.get(session)
        totals = await client.sessions.totals(session)

    assert [event.generation for event in events if isinstance(event, SessionTitled)] == [asked.generation]
    assert sum(map(is_title_answer, events)) == 1 and overview.title == "Counting files"
    assert len(trial.harness.model.ledger.entries) == 2 + trial.wasted
    assert (totals.steps, totals.tokens.output) == (1, 15)
