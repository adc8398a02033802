"""Temporal's file put back from a while ago, PostgreSQL newer: sessions go on from their rows (attack a6)."""

import asyncio
import shutil
from pathlib import Path
from typing import Final

import pytest

from activities.store import outbox
from tests.acceptance.scenarios import DONE, runs
from tests.acceptance.stack_parts import part, servers_down
from tests.acceptance.stacks import OwnStack
from tests.acceptance.trial import Trial
from tests.polling import attempts
from worker.scripted.script import Script
from worker.settings import Settings
from worker.stack.state_file import PartName
from worker.stack.temporal import TemporalFiles
from workflows.domain.ids import SessionId

pytestmark = pytest.mark.acceptance

PERIOD: Final = 1.0  # seconds instead of 30
REPAIRED: Final = 4 * PERIOD + 20  # two minutes at the default period
ASKED: Final = ("waiting", "ended", "newer")
SCRIPTS: Final = {
    **{name: Script(answers=(runs(name), DONE, DONE)) for name in ASKED},
    "working": Script(answers=(runs("working", hold=True), DONE, DONE)),
}
NOT_SCHEDULED: Final = "is in the log, and no activity was scheduled for it"  # that Temporal remembers
REPAIRS: Final = ("session.refreshed", "session.restarted", "write.refused")


async def test_sessions_act_on_what_a_restored_temporal_has_forgotten(own_stack: OwnStack, tmp_path: Path) -> None:
    undisturbed, disturbed = [
        await logs_of(own_stack, tmp_path / str(restored), restored=restored) for restored in (False, True)
    ]
    assert {name: [each for each in log if each not in REPAIRS] for name, log in disturbed.items()} == undisturbed
    assert [name for name, log in disturbed.items() if "session.refreshed" in log][:3] == [*ASKED], disturbed


async def logs_of(stack: OwnStack, directory: Path, *, restored: bool) -> dict[str, list[str]]:
    """The events of sessions that go on for a while after a copy of Temporal's file, which is then put back or not."""
    async with stack.trial(SCRIPTS, directory, reconcile_seconds=PERIOD) as trial:
        trial.harness.configure(permission={"bash": {"*": "allow"} | {f"effect {name}": "ask" for name in ASKED}})
        worker = await trial.worker()
        sessions = {name: await begin(trial, name) for name in ("waiting", "ended", "working")}
        await trial.effects.reached("working")
        copy = copy_of(stack.settings, directory)
        await answer(trial, sessions["ended"])
        trial.effects.release("working")
        for name in ("ended", "working"):
            await trial.harness.ended(sessions[name])
        sessions["newer"] = await begin(trial, "newer")
        await worker.kill()
        for name in ("waiting", "newer"):
            await answer(trial, sessions[name])
        if restored:
            async with servers_down(stack.settings, PartName.TEMPORAL):
                put_back(stack.settings, copy)
        await trial.worker()
        async with asyncio.timeout(REPAIRED):
            for name in ("ended", "working"):
                await trial.recording_client.prompt(sessions[name], "And now?")
            for name, session in sessions.items():
                await trial.harness.ended(session, 2 if name in ("ended", "working") else 1)
        assert {name: trial.effects.count(name) for name in sessions} == dict.fromkeys(sessions, 1)
        assert len(trial.harness.model.ledger.entries) == 10
        found = [each for each in await trial.verdict() if not (restored and each.what.endswith(NOT_SCHEDULED))]
        assert not found, found
        return {name: [event.type for event in await trial.harness.events(each)] for name, each in sessions.items()}


async def begin(trial: Trial, name: str) -> SessionId:
    session = await trial.start_session(f"[[script:{name}]] Run it.")
    if name in ASKED:
        await trial.harness.wait_for_asks(session)
    return session


async def answer(trial: Trial, session: SessionId) -> None:
    """Answer the session's ask, with a signal that Temporal acknowledges."""
    (ask,) = await trial.harness.client.inbox.asks(session=session)
    await trial.recording_client.answer(ask.id)
    async for _ in attempts():
        if await outbox.is_empty(trial.harness.database, session):
            return


def copy_of(settings: Settings, directory: Path) -> Path:
    """The files of a Temporal that serves, as a power failure would leave them.

    It is frozen for that: the file and the journal beside it belong together.
    """
    copy = directory / "temporal"
    copy.mkdir()
    (server,) = part(settings, PartName.TEMPORAL)
    server.suspend()
    try:
        for file in _files(settings):
            shutil.copy(file, copy)
    finally:
        server.resume()
    return copy


def put_back(settings: Settings, copy: Path) -> None:
    """Of a Temporal that does not run."""
    for file in _files(settings):
        file.unlink()
    shutil.copytree(copy, TemporalFiles(home=settings.home).file.parent, dirs_exist_ok=True)


def _files(settings: Settings) -> list[Path]:
    """The file, and the journals beside it."""
    file = TemporalFiles(home=settings.home).file
    return [*file.parent.glob(f"{file.name}*")]
