"""Backups: everything that sessions are in one file, and a new home made of it.

The file is a tar: a manifest, a dump of the database, the outputs and archives of the home, and, if wanted, the
directories that sessions work in. Temporal's history is not in it: a restored session starts a new run from its rows.
"""

import asyncio
import hashlib
import os
import shlex
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from activities.store import events, sessions
from activities.store.database import Database
from activities.store.migrate import clear, migrate
from worker.packing import Measured, Tree
from worker.parking import park_restored
from worker.settings import Settings
from worker.stack import accounts, belongings, dumps
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


async def choose(settings: Settings, url: str, *, worked_in: bool, named: Iterable[Path], say: Say) -> list[Measured]:
    """The directories that a backup would hold, with their sizes: those that sessions of this host work in, and those
    that are named. Raises UsageError for a named one that is not there.

    The root directory, and whatever holds the user's home, are there only by name.
    """
    wanted = {_directory(path) for path in named}
    if worked_in:
        async with Database(url, size=1) as database:
            known = await sessions.unarchived(database)
        for path in sorted({Path(each.directory) for each in known if each.host == settings.host} - wanted):
            if not path.is_dir():
                say(f"Not there, and not in the backup: {str(path)!r}")
            elif _is_stacks(path, settings):
                say(f"Not in the backup, because it belongs to the stack: {str(path)!r}")
            elif settings.holds_user_home(path):
                say(f"Only by its name in the backup: {str(path)!r} (--workspace {shlex.quote(str(path))}).")
            else:
                wanted.add(path)
    return await asyncio.to_thread(lambda: [tree.measure() for tree in _trees(settings, wanted)])


def destination(file: Path, now: datetime) -> Path:
    """The file that a backup is written to: in a directory, one with the time. Raises UsageError where none can be."""
    if file.is_dir():
        return file / f"holdfast-{now:%Y%m%dT%H%M%SZ}.tar"
    if file.exists():
        raise UsageError(f"{str(file)!r} is there already: name another file, or a directory.")
    if file.suffix != ".tar":
        raise UsageError(f"There is no directory {str(file)!r}: make it, or name a file that ends in .tar.")
    if not file.parent.is_dir():
        raise UsageError(f"There is no directory {str(file.parent)!r}: make it first.")
    return file


async def backup(settings: Settings, url: str, file: Path, *, directories: Sequence[Measured], say: Say) -> Path:
    """Write a backup while everything goes on; its file. Raises UsageError, Unavailable."""
    now = datetime.now(UTC)
    file = destination(file, now)
    _see_room(file.parent, directories)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".holdfast-") as scratch:
        dumped = Path(scratch) / _DUMP
        await dumps.dump(settings, url, dumped)
        async with Database(url, size=1) as database:
            known = await sessions.ids(database)
        manifest = Backup(
            holdfast=version("holdfast"),
            at=now,
            home=str(settings.home),
            sessions=len(known),
            dump=await asyncio.to_thread(_digest, dumped),
            workspaces=tuple(each.directory for each in directories),
        )
        draft = Path(scratch) / "backup.tar"
        await asyncio.to_thread(_pack, draft, manifest, dumped, settings, directories, say)
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
            await asyncio.to_thread(_put, file, manifest, settings, say)
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
        verified = [await events.verify(database, each.id) for each in await sessions.unarchived(database)]
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


def _directory(path: Path) -> Path:
    if not path.is_dir():
        raise UsageError(f"There is no directory {str(path)!r}.")
    return path.resolve()


def _trees(settings: Settings, directories: Collection[Path], *own: Path) -> Iterator[Tree]:
    """The directories, outer ones first: one that lies in another is a tree of its own. `own` belongs to the backup."""
    excluded = frozenset({settings.home, settings.cache, accounts.STATE, *own})
    for each in sorted(directories):
        yield Tree(each, excluded, frozenset(directories) - {each})


def _see_room(directory: Path, wanted: Sequence[Measured]) -> None:
    size, free = sum(each.size for each in wanted), shutil.disk_usage(directory).free
    if size > free:
        need, has = (f"{each / 2**30:,.1f} GB" for each in (size, free))
        raise UsageError(
            f"The backup would take {need}, and {str(directory)!r} has {has} free: name another directory."
        )


def _pack(
    draft: Path, manifest: Backup, dumped: Path, settings: Settings, directories: Sequence[Measured], say: Say
) -> None:
    described = dumped.with_name(_MANIFEST)
    described.write_text(manifest.model_dump_json(indent=2))
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        with tarfile.open(fileobj=stream, mode="w") as tar:
            for part in (described, dumped):
                tar.add(part, part.name)
            for name in _KEPT:
                if (settings.home / name).is_dir():
                    Tree(settings.home / name).pack(tar, f"home/{name}", say)
            trees = _trees(settings, [Path(each) for each in manifest.workspaces], draft.parent)
            for place, (tree, measured) in enumerate(zip(trees, directories, strict=True)):
                tree.pack(tar, f"workspaces/{place}", say, measured)
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


def _put(file: Path, manifest: Backup, settings: Settings, say: Say) -> None:
    """Put the files of the home and the work trees where they were; what is there stays."""
    targets = {f"home/{name}": settings.home / name for name in _KEPT}
    for place, each in enumerate(manifest.workspaces):
        if _is_ours(Path(each), settings):
            say(f"Not put back, because only commands of Holdfast and you write there: {each!r}")
        else:
            targets[f"workspaces/{place}"] = Path(each)
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


def _is_ours(directory: Path, settings: Settings) -> bool:
    """Whether files that a backup brings would become a stack's, or configuration that counts."""
    misnamed = not directory.is_absolute() or ".." in directory.parts
    return misnamed or _is_stacks(directory, settings) or directory.resolve().is_relative_to(settings.config.resolve())


def _is_stacks(directory: Path, settings: Settings) -> bool:
    home, real = settings.home.resolve(), directory.resolve()
    made = [home / name for name in (*belongings.MADE, belongings.ARCHIVES, belongings.DATABASE)]
    return real == home or any(real.is_relative_to(each) for each in (*made, accounts.STATE))


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
