"""`kill -9` of the worker while a schedule's prompt is accepted: one prompt."""

import asyncio

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.recording_client import RecordedRequest
from tests.histories.history_scenarios import DONE
from tests.polling import WAIT_TIMEOUT
from tests.workflows.test_schedules import SECRET, is_known, let_pass, made, outcomes, run_of
from worker.scripted.script import DEFAULT_SCRIPT, Script
from workflows.domain.events.prompts import PromptAccepted

pytestmark = pytest.mark.acceptance


@pytest.mark.parametrize(
    "point",
    [
        "external.sql:holdfast.schedules.fire=kill9@7",  # what is decided is on its way
        "schedule.fired=kill9@1",
    ],
    ids=["in its transaction", "behind its commit"],
)
async def test_a_killed_firing_accepts_one_prompt(open_trial: Open, point: str) -> None:
    async with open_trial(scripts={DEFAULT_SCRIPT: Script(answers=(DONE,))}) as trial:
        harness = trial.harness
        first = await trial.worker(faults=point)
        entry = await made(harness)
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not await is_known(harness.temporal, entry.id):
                await asyncio.sleep(0.1)
        await let_pass(harness, entry.id)
        await harness.temporal.get_schedule_handle(entry.id).trigger()
        await trial.replace(first)
        last = await run_of(harness, entry.id)
        assert last.session is not None
        await harness.ended(last.session)
        found = await harness.client.sessions.list_recent()
        accepted = [each for each in await harness.events(last.session) if isinstance(each, PromptAccepted)]
        trial.ledger.prompts += [RecordedRequest(each.prompt, SECRET) for each in accepted]
        kinds = await outcomes(harness, entry.id)
        await harness.temporal.get_schedule_handle(entry.id).delete()

    assert len(found) == len(accepted) == 1 and kinds == ["created", "started"]
