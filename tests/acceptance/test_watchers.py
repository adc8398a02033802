"""Watchers: every event once and in order over any broken connection (bug B21)."""

import pytest

from activities.store.pg_notify import WATCHER_LOCK_CLASS
from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, runs
from tests.acceptance.session_listener import listening
from tests.acceptance.trial import Trial
from tests.polling import attempts

pytestmark = pytest.mark.acceptance

LISTENERS = b"""
SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database d ON d.oid = database
WHERE locktype = 'advisory' AND classid = %(lock_class)s AND d.datname = current_database()
"""  # who watches holds a lock that says so, on the connection that listens


async def test_b21_streams_and_waits_go_on_when_the_listening_connection_is_cut(open_trial: Open) -> None:
    tokens = [f"t{number}" for number in range(5)]
    async with open_trial(*map(runs, tokens), DONE) as trial:
        trial.harness.configure(permission={"bash": "ask"})
        await trial.worker()
        session = await trial.start_session("Run them all.")
        async with listening(trial.harness.client, session) as one, listening(trial.harness.client, session) as other:
            for number in range(1, len(tokens) + 1):
                for listener in (one, other):
                    await listener.wait_for_event(lambda event: event.type == "ask.raised", number)
                await cut_listener(trial)
                (ask,) = [entry.id for entry in await trial.harness.client.inbox.asks()]
                await trial.recording_client.answer(ask)
            for listener in (one, other):
                await listener.wait_for_event(lambda event: event.type == "turn.ended")
    assert one.in_order and other.in_order and len(one.seen) == len(other.seen)
    assert [trial.effects.count(token) for token in tokens] == [1] * 5


async def cut_listener(trial: Trial) -> None:
    """Cut the connection that listens for both, once it does."""
    async for _ in attempts():
        if await trial.harness.database.rows(LISTENERS, lock_class=WATCHER_LOCK_CLASS):
            return
