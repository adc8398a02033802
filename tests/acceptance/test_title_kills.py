"""`kill -9` of the worker while a title is asked for: one title, paid as recorded."""

import pytest

from tests.acceptance.conftest import Open
from tests.workflows.test_titles import NAMED, is_title_answer, is_titled, script
from workflows.domain.events.sessions import SessionTitled

pytestmark = pytest.mark.acceptance


@pytest.mark.parametrize(
    ("point", "requests"),
    [
        ("model.before_request=kill9@2", 2),
        ("model.after_chunk=kill9@3", 3),  # the first ones are of the step
        ("model.committed=kill9@2", 2),
    ],
    ids=["before its request", "in its answer", "behind its commit"],
)
async def test_a_killed_title_is_given_once(open_trial: Open, point: str, requests: int) -> None:
    async with open_trial(scripts=script(NAMED)) as trial:
        trial.wasted = requests - 2
        client = trial.harness.client
        first = await trial.worker(faults=point)
        session = await trial.start_session("Count the files.")
        await trial.harness.ended(session)
        asked = await client.titles.ask(session)
        await trial.replace(first)
        await trial.harness.until(session, is_titled)
        events, overview = await trial.harness.events(session), await client.sessions.get(session)
        totals = await client.sessions.totals(session)

    assert [event.generation for event in events if isinstance(event, SessionTitled)] == [asked.generation]
    assert sum(map(is_title_answer, events)) == 1 and overview.title == "Counting files"
    assert len(trial.harness.model.ledger.entries) == requests
    assert (totals.steps, totals.tokens.output) == (1, 15)
