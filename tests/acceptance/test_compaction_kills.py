"""`kill -9` of the worker around a compaction: the context before or the one after, and a turn that ends."""

import pytest

from tests.acceptance.conftest import Open
from tests.workflows.test_compaction import DONE, FULL, TASK, WORDS, compactions, configure, script, sent
from workflows.domain.events.turns import TurnEnded

pytestmark = pytest.mark.acceptance


@pytest.mark.parametrize(
    ("point", "requests"),
    [
        ("model.before_request=kill9@2", 3),
        ("model.after_chunk=kill9@2", 4),  # the first one is of the step before
        ("model.committed=kill9@2", 3),
    ],
    ids=["before its request", "in its answer", "behind its commit"],
)
async def test_a_killed_compaction_leaves_one_context_or_the_other(open_trial: Open, point: str, requests: int) -> None:
    async with open_trial(scripts=script(FULL, DONE)) as trial:
        trial.wasted = requests - 3
        configure(trial.harness)
        first = await trial.worker(faults=point)
        session = await trial.start_session(TASK)
        await trial.replace(first)
        ended = await trial.harness.ended(session)
        found = await compactions(trial.harness, session)
        _, (_, summary), _ = sent(trial.harness)

    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert len(found) == 1 and summary == WORDS
    assert len(trial.harness.model.ledger.entries) == requests
