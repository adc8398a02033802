"""`kill -9` of the worker around a reservation: nothing is counted twice or forgotten."""

from decimal import Decimal

import pytest

from activities.store import budgets
from tests.acceptance.conftest import Open
from worker.scripted.script import ScriptedAnswer, ScriptedCall, ScriptedUsage
from workflows.domain.events.budgets import UsageEstimated
from workflows.domain.events.turns import TurnEnded

pytestmark = pytest.mark.acceptance

USAGE = ScriptedUsage(input=2_000, output=10)
LOOK = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*"}),), usage=USAGE)
DONE = ScriptedAnswer(text="Done. " * 20, usage=USAGE)


@pytest.mark.parametrize(
    ("point", "estimates", "wasted"),
    [("budget.reserved=kill9@1", 1, 0), ("model.after_chunk=kill9@2", 1, 1), ("model.committed=kill9@1", 0, 0)],
    ids=["reserved", "in its answer", "settled"],
)
async def test_a_killed_request_is_counted_once(open_trial: Open, point: str, estimates: int, wasted: int) -> None:
    async with open_trial(LOOK, DONE) as trial:
        trial.wasted = wasted
        price = {"cost": {"input": 3, "output": 15}}
        trial.harness.configure_person(model=price, holdfast={"budget": {"session": {"cost": 5, "tokens": 1_000_000}}})
        first = await trial.worker(faults=point)
        session = await trial.start_session("Look.")
        await trial.replace(first)
        ended = await trial.harness.ended(session)
        (row,) = await budgets.of_session(trial.harness.database, session)
        log = await trial.harness.events(session)
        left = await trial.harness.database.rows(b"SELECT generation FROM reservation")

    guessed = [event for event in log if isinstance(event, UsageEstimated)]
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert len(guessed) == estimates and left == [] and row.steps == 2
    assert row.tokens == 2 * 2_010 + sum(event.tokens for event in guessed)
    assert row.cost == 2 * Decimal("0.00615") + row.estimated
    assert row.estimated == sum(Decimal(event.cost) for event in guessed)
