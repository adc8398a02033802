"""Removing a stack for good: its database, its engine's file, its logs and keys; never anything that is not its own."""

import asyncio
import os
import shutil
from pathlib import Path

from worker.settings import Settings
from worker.stack import belongings, cluster, locks
from worker.stack.incumbent import runs
from worker.stack.layout import Layout
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.value import Value


class Doomed(Value):
    """A file or directory that would be removed, and what it is."""

    path: Path
    what: str


def doomed(settings: Settings) -> list[Doomed]:
    """Everything of this stack that is here, the database first. Raises UsageError for a home that is no stack's."""
    layout = Layout(home=settings.home)
    data = cluster.root_of(settings)
    found = []
    if belongings.is_cluster(data):
        found.append(Doomed(path=data, what="the database: sessions, answers, logs of events"))
    beside = cluster.sockets_of(settings, data)
    if beside.parent != data and beside.is_dir():
        found.append(Doomed(path=beside, what="the database's socket"))
    if layout.state.exists() or _begun(layout, data):
        known = ((layout.home / name, what) for name, what in belongings.MADE.items())
        return found + [Doomed(path=path, what=what) for path, what in known if os.path.lexists(path)]
    if not found and settings.home.exists() and any(settings.home.iterdir()):
        raise UsageError(
            f"{str(settings.home)!r} does not look like a stack's home, so nothing is removed: see what HOLDFAST_HOME "
            "names."
        )
    return found


async def purge(settings: Settings, wanted: list[Doomed]) -> list[Path]:
    """Remove these, of a stack that is down; what is left in the home, which goes too when it is empty.

    Raises Conflict when the stack was started meanwhile.
    """
    layout = Layout(home=settings.home)
    if not wanted and not layout.home.is_dir():
        return []  # a lock would make a home of it
    async with locks.held(layout.up_lock):
        if runs(layout):
            raise Conflict("The stack was started meanwhile: nothing is removed.")
        for each in wanted:
            await asyncio.to_thread(_remove, each.path)
    layout.up_lock.unlink(missing_ok=True)
    left = sorted(layout.home.iterdir()) if layout.home.is_dir() else []
    if not left and layout.home.is_dir():
        layout.home.rmdir()
    return left


def _begun(layout: Layout, data: Path) -> bool:
    names = [path.name for path in layout.home.iterdir()] if layout.home.is_dir() else []
    return belongings.is_begun_home(names, data.name)


def _remove(path: Path) -> None:
    """A link is removed, and not what it leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
