"""Two workers and two doors on one session: one driver (bug B19)."""

import asyncio

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, runs
from workflows.domain.events.prompts import PromptTaken
from workflows.domain.prompt import PromptMode

pytestmark = pytest.mark.acceptance

PROMPTS = 6


async def test_b19_two_workers_and_two_doors_have_one_session_driven_once(open_trial: Open) -> None:
    tokens = [f"t{number}" for number in range(3)]
    async with (
        open_trial(*map(runs, tokens), *[DONE] * (PROMPTS + 2)) as trial,
        trial.another_person("alice") as alice,
        trial.another_person("bob") as bob,
    ):
        await asyncio.gather(trial.worker(), trial.worker())
        session = await trial.start_session("Run them all.")
        doors = [alice, bob] * (PROMPTS // 2)
        sent = [
            recording_client.prompt(session, f"And {number}?", PromptMode.QUEUE)
            for number, recording_client in enumerate(doors)
        ]
        accepted = await asyncio.gather(*sent)
        await trial.harness.ended(session, PROMPTS + 1)
        taken = [event.prompt for event in await trial.harness.events(session) if isinstance(event, PromptTaken)]
    assert sorted(taken[1:]) == sorted(each.prompt for each in accepted)
    assert [trial.effects.count(token) for token in tokens] == [1] * 3
    assert len(trial.harness.model.ledger.entries) == len(tokens) + PROMPTS + 1
