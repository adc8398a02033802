"""Removes a stack's database, engine file, logs and keys, its start at login and our old cache, nothing else."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from worker.settings import Settings
from worker.stack import cluster, locks, owned_files, systemd_unit
from worker.stack.layout import Layout
from worker.stack.running_supervisor import is_running
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.value import Value


class PurgeItem(Value):
    path: Path
    description: str


def purge_items(settings: Settings) -> list[PurgeItem]:
    """This stack's files, database first, and what we have made elsewhere for it. Raises UsageError if the home is no
    stack's."""
    return [*_stack_items(settings), *_items_elsewhere(settings)]


def _items_elsewhere(settings: Settings) -> Iterator[PurgeItem]:
    """The cache is the user's: only their usual stack's end is its end."""
    if (unit := systemd_unit.unit_path(settings)).exists():
        yield PurgeItem(path=unit, description="systemd's unit, which starts the stack at login")
    if settings.is_default_home and (cache := _old_cache(settings)).is_dir():
        yield PurgeItem(path=cache, description="Temporal servers that an earlier Holdfast has fetched or built")


def _old_cache(settings: Settings) -> Path:
    named = Path(settings.environment.get("XDG_CACHE_HOME", ""))
    user = Path(settings.environment.get("HOME") or Path.home())
    return (named if named.is_absolute() else user / ".cache") / "holdfast"


def _stack_items(settings: Settings) -> list[PurgeItem]:
    layout = Layout(home=settings.home)
    data = cluster.root_of(settings)
    found = []
    if owned_files.holds_cluster(data):
        found.append(PurgeItem(path=data, description="the database: sessions, answers, logs of events"))
    socket_dir = cluster.sockets_of(settings, data)
    if socket_dir.parent != data and socket_dir.is_dir():
        found.append(PurgeItem(path=socket_dir, description="the database's socket"))
    names = [path.name for path in layout.home.iterdir()] if layout.home.exists() else []
    before_start = settings.is_default_home and owned_files.HOME_ENTRIES.keys() >= set(names)  # as `auth login` has it
    if layout.state.exists() or before_start or owned_files.is_partial_home(names, data.name):
        known = ((layout.home / name, description) for name, description in owned_files.HOME_ENTRIES.items())
        return found + [
            PurgeItem(path=path, description=description) for path, description in known if os.path.lexists(path)
        ]
    if not found and names:
        raise UsageError(
            f"{str(settings.home)!r} does not look like a stack's home, so nothing is removed: see what HOLDFAST_HOME "
            "names."
        )
    return found


async def purge(settings: Settings, wanted: list[PurgeItem]) -> list[Path]:
    """Returns what remains in the home. Raises Conflict if the stack was started meanwhile."""
    layout = Layout(home=settings.home)
    if not wanted and not layout.home.is_dir():
        return []  # a lock would make it a home
    async with locks.hold(layout.up_lock):
        if is_running(layout):
            raise Conflict("The stack was started meanwhile: nothing is removed.")
        for each in wanted:
            if each.path == systemd_unit.unit_path(settings):
                await systemd_unit.disable(settings, lambda _: None)
            else:
                await asyncio.to_thread(_remove, each.path)
    layout.up_lock.unlink(missing_ok=True)
    left = sorted(layout.home.iterdir()) if layout.home.is_dir() else []
    if not left and layout.home.is_dir():
        layout.home.rmdir()
    return left


def _remove(path: Path) -> None:
    """A link goes without its target."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
