"""Backups: all sessions in one file, and a new home restored from it.

A tar of a manifest, a database dump, the home's outputs and archives, optionally the sessions' directories; not
Temporal's history: a restored session's new run starts from its rows.
"""

import asyncio
import hashlib
import os
import shlex
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from activities.store import events, schedule_records, schedules, sessions
from activities.store.database import Database
from activities.store.migrate import drop_empty_schema, migrate
from worker.backup_tree import BackupTree, DirectoryEstimate
from worker.settings import Settings
from worker.stack import accounts, dumps, locks, owned_files
from worker.stack.layout import Layout
from worker.stack.status import external_endpoints, status
from worker.stack.up import up
from worker.startup_suspension import suspend_restored
from worker.tar_extraction import members_below, read_members, unpack
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.value import Value

Report = Callable[[str], None]

_MANIFEST: Final = "backup.json"
_DUMP: Final = "database.dump"
_SCRATCH: Final = ".holdfast-backup-"
_LOCK: Final = "lock"
_HOME_DIRECTORIES: Final = ("tool-output", "archive")  # of the home, without keys
_READ_ERRORS: Final = (OSError, tarfile.TarError, KeyError, ValidationError, EOFError)


class BackupManifest(Value):
    """`workspaces`: the directories in order."""

    format: Literal["holdfast-backup/1"] = "holdfast-backup/1"
    holdfast: str
    at: datetime
    home: str
    sessions: int
    dump: str
    workspaces: tuple[str, ...] = ()


async def select_directories(
    settings: Settings, url: str, *, include_used: bool, named: Iterable[Path], report: Report
) -> list[DirectoryEstimate]:
    """This host's sessions' directories and the named ones; `/` and ancestors of the user's home only if named.

    Raises UsageError if a named one is missing.
    """
    wanted = {_existing_directory(path) for path in named}
    if include_used:
        async with Database(url, size=1) as database:
            known = await sessions.unarchived(database)
        for path in sorted({Path(each.directory) for each in known if each.host == settings.host} - wanted):
            if not path.is_dir():
                report(f"Missing, so not in the backup: {str(path)!r}")
            elif _belongs_to_stack(path, settings):
                report(f"Not in the backup, because it belongs to the stack: {str(path)!r}")
            elif settings.holds_user_home(path):
                report(f"Only by its name in the backup: {str(path)!r} (--workspace {shlex.quote(str(path))}).")
            else:
                wanted.add(path)
    return await asyncio.to_thread(lambda: [tree.estimate() for tree in _trees(settings, wanted)])


def destination(file: Path, now: datetime) -> Path:
    """The backup's file, with a timed name in a directory. Raises UsageError if it cannot be written."""
    if file.is_dir():
        return file / f"holdfast-{now:%Y%m%dT%H%M%SZ}.tar"
    if file.exists():
        raise UsageError(f"{str(file)!r} already exists: name another file, or a directory.")
    if file.suffix != ".tar":
        raise UsageError(f"There is no directory {str(file)!r}: make it, or name a file that ends in .tar.")
    if not file.parent.is_dir():
        raise UsageError(f"There is no directory {str(file.parent)!r}: make it first.")
    return file


async def backup(
    settings: Settings, url: str, file: Path, *, directories: Sequence[DirectoryEstimate], report: Report
) -> Path:
    """Back up while sessions run; returns the file. Raises UsageError, Unavailable."""
    now = datetime.now(UTC)
    file = destination(file, now)
    _check_free_space(file.parent, directories)
    with _scratch(file.parent) as scratch:
        dump_file = scratch / _DUMP
        await dumps.dump(settings, url, dump_file)
        async with Database(url, size=1) as database:
            known = await sessions.ids(database)
        manifest = BackupManifest(
            holdfast=version("holdfast"),
            at=now,
            home=str(settings.home),
            sessions=len(known),
            dump=await asyncio.to_thread(_digest, dump_file),
            workspaces=tuple(each.directory for each in directories),
        )
        draft = scratch / "backup.tar"
        await asyncio.to_thread(_pack, draft, manifest, dump_file, settings, directories, report)
        draft.rename(file)
    return file


async def restore(settings: Settings, file: Path, report: Report) -> BackupManifest:
    """Make a home and its stack; suspend working sessions. Raises UsageError, Conflict, Unavailable."""
    if any(part.name == "worker" and part.pid is not None for part in status(settings).parts):
        raise Conflict("A worker is running here: run `holdfast down` first, or name another home by HOLDFAST_HOME.")
    with _scratch(Path(tempfile.gettempdir())) as scratch:
        manifest = await asyncio.to_thread(_unpack, file, scratch)

        async def fill(url: str) -> None:
            await drop_empty_schema(url)
            await dumps.load(settings, url, scratch / _DUMP)
            await migrate(url)
            await suspend_restored(url, report)
            await asyncio.to_thread(_restore_files, file, manifest, settings, report)
            await _verify(url, report)

        if (named := external_endpoints(settings)) is not None:
            await fill(named.postgres_url)
        else:
            _set_temporal_aside(settings, report)
            await up(settings, report, migrate=fill)
    return manifest


@contextmanager
def _scratch(directory: Path) -> Iterator[Path]:
    """A directory that goes with this process, or by the next one here if it is killed."""
    for left in directory.glob(f"{_SCRATCH}*"):
        with suppress(OSError):  # another user's
            if (left / _LOCK).exists() and locks.is_free(left / _LOCK):
                shutil.rmtree(left)
    with _new_directory(directory) as name:
        held = locks.try_acquire(Path(name) / _LOCK)
        try:
            yield Path(name)
        finally:
            if held is not None:
                os.close(held)


def is_backup(file: Path) -> bool:
    """Whether the file is a backup. Raises UsageError if there is no file."""
    if not file.is_file():
        raise UsageError(f"There is no file {str(file)!r}.")
    with file.open("rb") as stream:
        return stream.read(2) != b"\x1f\x8b"  # archives are gzip, backups are not


async def _verify(url: str, report: Report) -> None:
    async with Database(url, size=1) as database:
        logs = [await events.verify(database, each.id) for each in await sessions.unarchived(database)]
        known = await schedules.list_all(database, include_over=True)
        records = [found for each in known if (found := await schedule_records.verify(database, each.id)) is not None]
    _report_chains(report, "Sessions", {each.session: each.problem for each in logs})
    if records:
        _report_chains(report, "Schedules", {each.schedule: each.problem for each in records})


def _report_chains(report: Report, what: str, problems: Mapping[str, str | None]) -> None:
    for name, problem in problems.items():
        if problem is not None:
            report(f"{name}: {problem}")
    whole = sum(problem is None for problem in problems.values())
    report(f"{what} that came back: {len(problems)}. Chains that are whole: {whole}.")


def _set_temporal_aside(settings: Settings, report: Report) -> None:
    """An engine ahead of the rows must not continue."""
    engine = Layout(home=settings.home).temporal
    if status(settings).supervisor is None and engine.exists() and any(engine.iterdir()):
        aside = engine.with_name(f"temporal.{datetime.now(UTC):%Y%m%dT%H%M%S}")
        engine.rename(aside)
        report(f"Temporal's former file was put aside: {aside}")


def _existing_directory(path: Path) -> Path:
    if not path.is_dir():
        raise UsageError(f"There is no directory {str(path)!r}.")
    return path.resolve()


def _trees(settings: Settings, directories: Collection[Path], *own: Path) -> Iterator[BackupTree]:
    """The directories' trees, outer ones first; nested ones are separate."""
    excluded = frozenset({settings.home, accounts.SYSTEM_STATE, *own})
    for each in sorted(directories):
        yield BackupTree(each, excluded, frozenset(directories) - {each})


def _new_directory(place: Path) -> "tempfile.TemporaryDirectory[str]":
    try:
        return tempfile.TemporaryDirectory(dir=place, prefix=_SCRATCH)
    except OSError as error:
        raise UsageError(
            f"Nothing can be written in {str(place)!r}: {error.strerror}. Name another directory."
        ) from error


def _check_free_space(directory: Path, wanted: Sequence[DirectoryEstimate]) -> None:
    size, free = sum(each.size for each in wanted), shutil.disk_usage(directory).free
    if size > free:
        need, has = (f"{each / 2**30:,.1f} GB" for each in (size, free))
        raise UsageError(
            f"The backup would take {need}, and {str(directory)!r} has {has} free: name another directory."
        )


def _pack(
    draft: Path,
    manifest: BackupManifest,
    dump_file: Path,
    settings: Settings,
    directories: Sequence[DirectoryEstimate],
    report: Report,
) -> None:
    manifest_file = dump_file.with_name(_MANIFEST)
    manifest_file.write_text(manifest.model_dump_json(indent=2))
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        with tarfile.open(fileobj=stream, mode="w") as tar:
            for part in (manifest_file, dump_file):
                tar.add(part, part.name)
            for name in _HOME_DIRECTORIES:
                if (settings.home / name).is_dir():
                    BackupTree(settings.home / name).pack(tar, f"home/{name}", report)
            trees = _trees(settings, [Path(each) for each in manifest.workspaces], draft.parent)
            for index, (tree, measured) in enumerate(zip(trees, directories, strict=True)):
                tree.pack(tar, f"workspaces/{index}", report, measured)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def _open_backup(file: Path) -> Iterator[tuple[tarfile.TarFile, dict[str, tarfile.TarInfo]]]:
    """Raises UsageError for anything but a complete backup."""
    try:
        with tarfile.open(file, "r:") as tar:
            yield tar, {member.name: member for member in read_members(tar)}
    except _READ_ERRORS as error:
        raise UsageError(f"{str(file)!r} is not a complete Holdfast backup: {error}.") from None


def _unpack(file: Path, scratch: Path) -> BackupManifest:
    with _open_backup(file) as (tar, members):
        unpack(tar, [members[name] for name in (_MANIFEST, _DUMP)], scratch, lambda _: None)
        manifest = BackupManifest.model_validate_json((scratch / _MANIFEST).read_bytes())
    if _digest(scratch / _DUMP) != manifest.dump:
        raise UsageError(f"{str(file)!r} is damaged: the dump in it is not what was written.")
    return manifest


def _restore_files(file: Path, manifest: BackupManifest, settings: Settings, report: Report) -> None:
    """Restore files; existing ones stay."""
    targets = {f"home/{name}": settings.home / name for name in _HOME_DIRECTORIES}
    for index, each in enumerate(manifest.workspaces):
        if _is_protected(Path(each), settings):
            report(f"Not put back, because only commands of Holdfast and you write there: {each!r}")
        else:
            targets[f"workspaces/{index}"] = Path(each)
    with _open_backup(file) as (tar, members):
        for prefix, target in targets.items():
            if target.is_dir() and any(target.iterdir()):
                report(f"Left as it is, because something is there already: {target}")
            elif (root := members.get(prefix)) is not None:
                new = not target.exists()
                target.mkdir(parents=True, exist_ok=True)
                unpack(tar, members_below(members.values(), prefix), target, report)
                if new:
                    target.chmod(root.mode & 0o755 | 0o700)


def _is_protected(directory: Path, settings: Settings) -> bool:
    """Whether restored files would become part of a stack or trusted configuration."""
    misnamed = not directory.is_absolute() or ".." in directory.parts
    return (
        misnamed
        or _belongs_to_stack(directory, settings)
        or directory.resolve().is_relative_to(settings.config.resolve())
    )


def _belongs_to_stack(directory: Path, settings: Settings) -> bool:
    home, real = settings.home.resolve(), directory.resolve()
    made = [home / name for name in (*owned_files.HOME_ENTRIES, owned_files.ARCHIVES, owned_files.DATABASE)]
    return real == home or any(real.is_relative_to(each) for each in (*made, accounts.SYSTEM_STATE))


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
