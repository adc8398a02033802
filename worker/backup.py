"""Backups: all sessions in one file, and a new home restored from it.

A tar of a manifest, a database dump, and the home's outputs and archives; not Temporal's history: a restored session's
new run starts from its rows.
"""

import asyncio
import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from activities.store import events, schedule_records, schedules, sessions
from activities.store.database import Database
from activities.store.migrate import drop_empty_schema, migrate
from worker.settings import Settings
from worker.stack import dumps, locks
from worker.stack.layout import Layout
from worker.stack.status import external_endpoints, status
from worker.stack.up import up
from worker.startup_suspension import suspend_restored
from worker.tar_extraction import DUMP, HOME_DIRECTORIES, MANIFEST, extract, read_members
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.value import Value

Report = Callable[[str], None]

_SCRATCH: Final = ".holdfast-backup-"
_LOCK: Final = "lock"
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ_ERRORS: Final = (OSError, tarfile.TarError, KeyError, ValidationError, EOFError)


class BackupManifest(Value):
    """`dump`: its SHA-256."""

    format: Literal["holdfast-backup/1"] = "holdfast-backup/1"
    holdfast: str
    at: datetime
    dump: str


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


async def backup(settings: Settings, url: str, file: Path, report: Report) -> Path:
    """Back up while sessions run; returns the file. Raises UsageError, Unavailable."""
    now = datetime.now(UTC)
    file = destination(file, now)
    with _scratch(file.parent) as scratch:
        dump_file = scratch / DUMP
        await dumps.dump(settings, url, dump_file)
        digest = await asyncio.to_thread(_digest, dump_file)
        manifest = BackupManifest(holdfast=version("holdfast"), at=now, dump=digest)
        draft = scratch / "backup.tar"
        await asyncio.to_thread(_pack, draft, manifest, dump_file, settings.home, report)
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
            await dumps.load(settings, url, scratch / DUMP)
            await migrate(url)
            await suspend_restored(url, report)
            await asyncio.to_thread(_restore_files, file, settings.home, report)
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
    try:
        made = tempfile.TemporaryDirectory(dir=directory, prefix=_SCRATCH)
    except OSError as error:
        problem = f"Nothing can be written in {str(directory)!r}: {error.strerror}. Name another directory."
        raise UsageError(problem) from error
    with made as name:
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


def _pack(draft: Path, manifest: BackupManifest, dump_file: Path, home: Path, report: Report) -> None:
    manifest_file = dump_file.with_name(MANIFEST)
    manifest_file.write_text(manifest.model_dump_json(indent=2))
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        with tarfile.open(fileobj=stream, mode="w", dereference=True) as tar:  # two names of a file are two members
            for part in (manifest_file, dump_file):
                tar.add(part, part.name)
            for path in (path for name in HOME_DIRECTORIES for path in sorted((home / name).glob("*"))):
                if (problem := _add_file(tar, path, f"home/{path.parent.name}/{path.name}")) is not None:
                    report(f"Not in the backup: {str(path)!r} ({problem}).")
        stream.flush()
        os.fsync(stream.fileno())


def _add_file(tar: tarfile.TarFile, path: Path, name: str) -> str | None:
    """Returns what keeps it out of the tar: workers and the sweeper go on while it is read."""
    try:
        file = os.fdopen(os.open(path, _OPEN), "rb")
    except OSError as error:
        return error.strerror
    with file:
        member = tar.gettarinfo(arcname=name, fileobj=file)
        if not member.isreg():
            return "no file"
        tar.addfile(member, file)
    return None


@contextmanager
def _open_backup(file: Path) -> Iterator[tuple[tarfile.TarFile, dict[str, tarfile.TarInfo]]]:
    """Raises UsageError for anything but a complete backup."""
    try:
        with tarfile.open(file, "r:") as tar:
            yield tar, read_members(tar)
    except _READ_ERRORS as error:
        raise UsageError(f"{str(file)!r} is not a complete Holdfast backup: {error}.") from None


def _unpack(file: Path, scratch: Path) -> BackupManifest:
    with _open_backup(file) as (tar, members):
        for name in (MANIFEST, DUMP):
            extract(tar, members[name], scratch / name)
        manifest = BackupManifest.model_validate_json((scratch / MANIFEST).read_bytes())
    if _digest(scratch / DUMP) != manifest.dump:
        raise UsageError(f"{str(file)!r} is damaged: the dump in it is not what was written.")
    return manifest


def _restore_files(file: Path, home: Path, report: Report) -> None:
    """Existing ones stay."""
    with _open_backup(file) as (tar, members):
        for target in (home / name for name in HOME_DIRECTORIES):
            inside = [each for name, each in members.items() if name.startswith(f"home/{target.name}/")]
            if inside and target.is_dir() and any(target.iterdir()):
                report(f"Left as it is, because something is there already: {target}")
                continue
            for each in inside:
                target.mkdir(mode=0o700, parents=True, exist_ok=True)
                extract(tar, each, target / Path(each.name).name)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
