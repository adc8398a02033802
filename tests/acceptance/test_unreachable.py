"""PostgreSQL out of a worker's reach for half a minute: nothing is lost, nothing is done twice (row 55)."""

import asyncio
from typing import Final

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, runs
from workflows.domain.messages import CallState

pytestmark = pytest.mark.acceptance

AWAY: Final = 30.0  # seconds: as long as a worker writes a known outcome again before it gives its attempt up


async def test_row_55_the_outcome_of_a_command_is_known_although_postgresql_was_away_when_it_ended(
    open_trial: Open,
) -> None:
    async with open_trial(runs("one", hold=True), runs("two"), DONE) as trial:
        between = await trial.crossing()
        await trial.worker(postgres_url=between.url)
        session = await trial.say("Run them.")
        await trial.effects.reached("one")
        between.part()
        trial.effects.release("one")
        await asyncio.sleep(AWAY)
        between.join()
        await trial.house.ended(session)
        calls = await trial.house.calls(session)
    assert [call.state for call in calls] == [CallState.DONE, CallState.DONE]
    assert [trial.effects.count(token) for token in ("one", "two")] == [1, 1]
