"""`kill -9` of the worker at each point of a compaction: the context before or the one after, and a turn that ends."""

import pytest

from tests.acceptance.conftest import Open
from tests.workflows.test_compaction import (
    DONE,
    FULL,
    SUMMARY,
    TASK,
    TOO_LONG,
    WORDS,
    compactions,
    configure,
    script,
    sent,
)
from workflows.domain.events.turns import TurnEnded

pytestmark = pytest.mark.acceptance

REFUSED_ONCE = SUMMARY.model_copy(update={"faults": {1: TOO_LONG}})
KILLS = {
    "as its step begins": ("model.registering:step@2", "model.full@1"),
    "as it begins": ("model.registering:compaction@1", "model.registered:compaction@1"),
    "behind a refused one": ("compaction.recorded@1", "model.after_chunk:compaction@1"),
    "around its summary": (
        "model.before_request:compaction@1",
        "model.committed:compaction@1",
        "model.registered:step@3",
    ),
}


@pytest.mark.parametrize("kills", KILLS.values(), ids=list(KILLS))
async def test_a_killed_compaction_leaves_one_context_or_the_other(open_trial: Open, kills: tuple[str, ...]) -> None:
    refused = any("recorded" in point for point in kills)
    faults = ";".join(point.replace("@", "=kill9@") for point in kills)
    async with open_trial(scripts=script(FULL, DONE, summary=REFUSED_ONCE if refused else SUMMARY)) as trial:
        trial.wasted = 2 * refused
        configure(trial.harness)
        worker = await trial.worker(faults=faults)
        session = await trial.start_session(TASK)
        for _ in kills:
            await worker.killed()
            worker = await trial.worker(faults=faults)
        ended = await trial.harness.ended(session)
        found = await compactions(trial.harness, session)
        _, (_, summary), _ = sent(trial.harness)

    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert len(found) == 1 and summary == WORDS
    assert len(trial.harness.model.ledger.entries) == 3 + trial.wasted
