"""A provider's long pauses: the run waits them out, and a person may end them."""

import asyncio

import pytest

from tests.harness import Harness
from tests.polling import WAIT_TIMEOUT
from tests.worker.cli.conftest import shell
from tests.workflows.conftest import Open
from worker.scripted.script import Refuse, ScriptedAnswer
from workflows.domain.events.event import Event
from workflows.domain.events.generations import ModelRetry, PauseEnded
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId

LIMITED = ScriptedAnswer(text="Hello.", faults={1: Refuse(status=429, headers={"retry-after": "7200"})})
PERIOD = 0.5


def is_retry(event: Event) -> bool:
    return isinstance(event, ModelRetry)


async def limited(harness: Harness, text: str = "Hello?") -> SessionId:
    """A session whose provider wants to be asked again in two hours, and whose activities have ended."""
    session = await harness.start_session(text)
    await harness.until(session, is_retry)
    async with asyncio.timeout(WAIT_TIMEOUT):
        while (await harness.workflow(session).describe()).raw_description.pending_activities:
            await asyncio.sleep(0.05)
    return session


async def test_a_long_pause_is_the_runs_and_a_person_may_end_it(open_harness: Open) -> None:
    async with open_harness(LIMITED) as harness, harness.running_worker():
        session = await limited(harness)
        waiting = await harness.client.sessions.get(session)
        person = shell(harness)
        woken = await person.run("wake", session)
        ended = await harness.ended(session)
        again = await person.run("wake", session)
        watched = await person.run("watch", session, "--until-idle")
        (pause,) = [event for event in await harness.events(session) if isinstance(event, PauseEnded)]

    assert waiting.pause is not None and pause.generation
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and len(harness.model.ledger.entries) == 2
    assert woken.out == f"Continues now: {session}\n" and "is asked again now" in watched.out
    assert again.code == 6 and "waits neither for a provider" in again.err


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_pause_is_stopped_at_once_and_outlives_the_worker(open_harness: Open, restarted: bool) -> None:
    async with open_harness(LIMITED) as harness:
        async with harness.running_worker():
            session = await limited(harness)
            if not restarted:
                await harness.client.stop(session)
                ended = await harness.ended(session)
        if restarted:
            async with harness.running_worker():
                await harness.client.stop(session)
                ended = await harness.ended(session)

    assert isinstance(ended, TurnEnded) and ended.reason == "stopped"
    assert len(harness.model.ledger.entries) == 1


async def test_a_pause_is_no_reason_to_look_after_a_session_until_it_is_over(open_harness: Open) -> None:
    async with open_harness(LIMITED) as harness, harness.running_worker(with_sweeper=True, reconcile_seconds=PERIOD):
        session = await limited(harness)
        await harness.workflow(session).terminate("lost")
        await asyncio.sleep(10 * PERIOD)
        refreshed = await harness.database.rows(b"SELECT FROM refresh")
        await harness.database.rows(b"UPDATE generation SET next_at = now(), paused_at = now() - interval '1 hour'")
        ended = await harness.ended(session)

    assert not refreshed and isinstance(ended, TurnEnded) and ended.reason == "done"
