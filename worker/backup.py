"""Backups: everything that sessions are in one file, and a new home made of it.

The file is a tar: a manifest, a dump of the database, the outputs and archives of the home, and, if wanted, the
directories that sessions work in. Temporal's history is not in it: a restored session starts a new run from its rows.
"""

import asyncio
import hashlib
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from activities.store import events, sessions
from activities.store.database import Database
from activities.store.migrate import clear, migrate
from worker.parking import park_restored
from worker.settings import Settings
from worker.stack import dumps
from worker.stack.layout import Layout
from worker.stack.status import external, status
from worker.stack.up import up
from worker.unpacking import below, checked, unpack
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.value import Value

Say = Callable[[str], None]

_MANIFEST: Final = "backup.json"
_DUMP: Final = "database.dump"
_KEPT: Final = ("tool-output", "archive")  # of the home; keys are not kept
_BROKEN: Final = (OSError, tarfile.TarError, KeyError, ValidationError, EOFError)


class Backup(Value):
    """What a backup holds; `workspaces` are the directories that lie in it, in their order."""

    format: Literal["holdfast-backup/1"] = "holdfast-backup/1"
    holdfast: str
    at: datetime
    home: str
    sessions: int
    dump: str
    workspaces: tuple[str, ...] = ()


async def backup(settings: Settings, url: str, file: Path, *, workspaces: bool, say: Say) -> Path:
    """Write a backup while everything goes on; its file. Raises UsageError, Unavailable."""
    now = datetime.now(UTC)
    file = file / f"holdfast-{now:%Y%m%dT%H%M%SZ}.tar" if file.is_dir() else file
    if file.exists():
        raise UsageError(f"{str(file)!r} is there already: name another file, or a directory.")
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".holdfast-") as scratch:
        dumped = Path(scratch) / _DUMP
        await dumps.dump(settings, url, dumped)
        async with Database(url, size=1) as database:
            known = await sessions.overview(database)
        directories = sorted({each.directory for each in known if each.archive is None}) if workspaces else []
        there = [each for each in directories if Path(each).is_dir()]
        for each in sorted(set(directories) - set(there)):
            say(f"Not there, and not in the backup: {each}")
        manifest = Backup(
            holdfast=version("holdfast"),
            at=now,
            home=str(settings.home),
            sessions=len(known),
            dump=await asyncio.to_thread(_digest, dumped),
            workspaces=tuple(there),
        )
        draft = Path(scratch) / "backup.tar"
        await asyncio.to_thread(_pack, draft, manifest, dumped, settings.home)
        draft.rename(file)
    return file


async def restore(settings: Settings, file: Path, say: Say) -> Backup:
    """Make a new home of a backup, and start its stack. Whatever was at work is parked.

    Directories that are there are left alone. Raises UsageError, Conflict, Unavailable.
    """
    if any(part.name == "worker" and part.pid is not None for part in status(settings).parts):
        raise Conflict("A worker is at work here: `holdfast down` first, or name another home by HOLDFAST_HOME.")
    with tempfile.TemporaryDirectory(prefix="holdfast-") as scratch:
        manifest = await asyncio.to_thread(_unpack, file, Path(scratch))

        async def fill(url: str) -> None:
            await clear(url)
            await dumps.load(settings, url, Path(scratch) / _DUMP)
            await migrate(url)
            await park_restored(url, say)
            await asyncio.to_thread(_put, file, manifest, settings.home, say)
            await _verify(url, say)

        if (named := external(settings)) is not None:
            await fill(named.postgres_url)
        else:
            _put_engine_aside(settings, say)
            await up(settings, say, migrate=fill)
    return manifest


def is_backup(file: Path) -> bool:
    """Whether this is a backup, as far as its form tells. Raises UsageError for no file."""
    if not file.is_file():
        raise UsageError(f"There is no file {str(file)!r}.")
    with file.open("rb") as stream:
        return stream.read(2) != b"\x1f\x8b"  # archives are gzip, backups are not


async def _verify(url: str, say: Say) -> None:
    async with Database(url, size=1) as database:
        known = [each for each in await sessions.overview(database) if each.archive is None]
        verified = [await events.verify(database, each.id) for each in known]
    for each in verified:
        if each.problem is not None:
            say(f"{each.session}: {each.problem}")
    say(f"Sessions that came back: {len(verified)}. Chains that are whole: {sum(v.problem is None for v in verified)}.")


def _put_engine_aside(settings: Settings, say: Say) -> None:
    """An engine that has gone further than the rows must not go on with them: a new one begins with these."""
    engine = Layout(home=settings.home).temporal
    if status(settings).supervisor is None and engine.exists() and any(engine.iterdir()):
        aside = engine.with_name(f"temporal.{datetime.now(UTC):%Y%m%dT%H%M%S}")
        engine.rename(aside)
        say(f"Temporal's former file was put aside: {aside}")


def _pack(draft: Path, manifest: Backup, dumped: Path, home: Path) -> None:
    told = dumped.with_name(_MANIFEST)
    told.write_text(manifest.model_dump_json(indent=2))
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        with tarfile.open(fileobj=stream, mode="w") as tar:
            for part in (told, dumped):
                tar.add(part, part.name)
            for name in _KEPT:
                if (home / name).is_dir():
                    tar.add(home / name, f"home/{name}")
            for place, directory in enumerate(manifest.workspaces):
                tar.add(directory, f"workspaces/{place}")
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def _opened(file: Path) -> Iterator[tuple[tarfile.TarFile, dict[str, tarfile.TarInfo]]]:
    """A backup whose members are checked. Raises UsageError for what is none, or is not whole."""
    try:
        with tarfile.open(file, "r:") as tar:
            yield tar, {member.name: member for member in checked(tar)}
    except _BROKEN as error:
        raise UsageError(f"{str(file)!r} is no whole backup of Holdfast: {error}.") from None


def _unpack(file: Path, scratch: Path) -> Backup:
    """Take manifest and dump out of a backup, and see that they are whole."""
    with _opened(file) as (tar, members):
        unpack(tar, [members[name] for name in (_MANIFEST, _DUMP)], scratch, lambda _: None)
        manifest = Backup.model_validate_json((scratch / _MANIFEST).read_bytes())
    if _digest(scratch / _DUMP) != manifest.dump:
        raise UsageError(f"{str(file)!r} is damaged: the dump in it is not what was written.")
    return manifest


def _put(file: Path, manifest: Backup, home: Path, say: Say) -> None:
    """Put the files of the home and the work trees where they were; what is there stays."""
    targets = {f"home/{name}": home / name for name in _KEPT}
    targets |= {f"workspaces/{place}": Path(each) for place, each in enumerate(manifest.workspaces)}
    with _opened(file) as (tar, members):
        for prefix, target in targets.items():
            if target.is_dir() and any(target.iterdir()):
                say(f"Left as it is, for something is there: {target}")
            elif (root := members.get(prefix)) is not None:
                new = not target.exists()
                target.mkdir(parents=True, exist_ok=True)
                unpack(tar, below(members.values(), prefix), target, say)
                if new:
                    target.chmod(root.mode & 0o755 | 0o700)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
