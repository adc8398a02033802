"""Finds programs, and runs them to their end."""

import shutil
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from activities.child_process import running_child

_DIRECTORIES: Final = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


class ProgramResult(NamedTuple):
    """An exit code, and both outputs in one text."""

    code: int
    output: str


def find(name: str, environment: Mapping[str, str]) -> str | None:
    """A program on PATH or in the system's directories: `su` omits /usr/sbin, which has `useradd`."""
    return shutil.which(name, path=environment.get("PATH")) or shutil.which(name, path=_DIRECTORIES)


async def run(
    *argv: str, environment: Mapping[str, str], text: str = "", cwd: Path | None = None, **options: Any
) -> ProgramResult:
    """`text` is its input. Raises OSError if it cannot be started."""
    streams = {"stdin": PIPE, "stderr": STDOUT}
    child = running_child(*argv, directory=cwd, environment=environment, timeout=None, **streams, **options)
    async with child as process:
        output, _ = await process.communicate(text.encode())
    return ProgramResult(await process.wait(), output.decode(errors="replace").strip())
