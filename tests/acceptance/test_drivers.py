"""Two workers and two doors on one session: one driver (bug B19)."""

import asyncio

import pytest

from activities.store.prompts import Mode
from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, runs
from workflows.domain.events import PromptTaken

pytestmark = pytest.mark.acceptance

PROMPTS = 6


async def test_b19_two_workers_and_two_doors_have_one_session_driven_once(open_trial: Open) -> None:
    tokens = [f"t{number}" for number in range(3)]
    async with (
        open_trial(*map(runs, tokens), *[DONE] * (PROMPTS + 2)) as trial,
        trial.somebody("alice") as alice,
        trial.somebody("bob") as bob,
    ):
        await asyncio.gather(trial.worker(), trial.worker())
        session = await trial.say("Run them all.")
        doors = [alice, bob] * (PROMPTS // 2)
        sent = [door.prompt(session, f"And {number}?", Mode.QUEUE) for number, door in enumerate(doors)]
        accepted = await asyncio.gather(*sent)
        await trial.house.ended(session, PROMPTS + 1)
        taken = [event.prompt for event in await trial.house.events(session) if isinstance(event, PromptTaken)]
    assert sorted(taken[1:]) == sorted(each.prompt for each in accepted)
    assert [trial.effects.count(token) for token in tokens] == [1] * 3
    assert len(trial.house.model.ledger.entries) == len(tokens) + PROMPTS + 1
