"""Watchers: every event once and in order, whatever becomes of their connections (bug B21)."""

import asyncio

import pytest

from activities.store import deltas
from tests.acceptance.conftest import Open
from tests.acceptance.listener import listening
from tests.acceptance.scenarios import DONE, runs
from tests.acceptance.trial import Trial
from tests.patience import PATIENCE

pytestmark = pytest.mark.acceptance

LISTENERS = """
SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database
WHERE locktype = 'advisory' AND classid = %s AND d.datname = current_database()
"""  # who watches holds a lock that says so, on the connection that listens


async def test_b21_streams_and_waits_go_on_when_every_listening_connection_is_cut(open_trial: Open) -> None:
    tokens = [f"t{number}" for number in range(5)]
    async with open_trial(*map(runs, tokens), DONE) as trial:
        trial.house.configure(permission={"bash": "ask"})
        await trial.worker()
        session = await trial.say("Run them all.")
        async with listening(trial.house.client, session) as one, listening(trial.house.client, session) as other:
            for number in range(1, len(tokens) + 1):
                for listener in (one, other):
                    await listener.heard(lambda event: event.type == "ask.raised", number)
                await cut_listeners(trial, 2)
                (ask,) = [entry.id for entry in await trial.house.client.asks()]
                await trial.door.answer(ask)
            for listener in (one, other):
                await listener.heard(lambda event: event.type == "turn.ended")
    assert one.in_order and other.in_order and len(one.seen) == len(other.seen)
    assert [trial.effects.count(token) for token in tokens] == [1] * 5


async def cut_listeners(trial: Trial, count: int) -> None:
    """Cut all connections that listen, until there were so many: one that has just connected shows as one soon."""
    cut = 0
    async with asyncio.timeout(PATIENCE):
        while cut < count:
            async with trial.house.database.transaction() as connection:
                found = await (await connection.execute(LISTENERS.encode(), [deltas.WATCHERS])).fetchall()
            cut += len(found)
            await asyncio.sleep(0 if found else 0.1)
