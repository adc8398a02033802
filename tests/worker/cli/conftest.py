"""A person at a shell: commands run as processes, with pipes or on a terminal."""

import asyncio
import codecs
import fcntl
import json
import os
import pty
import re
import sys
import termios
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyte
import pytest

from tests.harness import Harness
from tests.opencode_comparison.exported_schema import check_export
from tests.polling import WAIT_TIMEOUT
from tests.worker.cli.command_server import run_forked
from tests.workflows.conftest import open_harness as open_harness
from tests.workflows.conftest import pooler_url as pooler_url
from tests.workflows.conftest import port as port
from tests.workflows.conftest import with_sweeper as with_sweeper

PROGRAM = Path(sys.executable).with_name("holdfast")
_NOT_KEPT = ("HOLDFAST_", "TEMPORAL_", "PYTHONDONTWRITEBYTECODE")  # the last one slows each start
_UTF_8 = codecs.getincrementaldecoder("utf-8")
CTRL_C = "\x03"
CTRL_D = "\x04"


@dataclass(frozen=True)
class CommandResult:
    """A command's exit code and output."""

    code: int
    out: str
    err: str


@dataclass
class PtySession:
    """A command on its own terminal, with the output so far, and what it looks like."""

    process: Process
    master: int
    text: str = ""
    _screen: pyte.Stream = field(default_factory=lambda: pyte.Stream(pyte.Screen(80, 24)))
    _grown: asyncio.Event = field(default_factory=asyncio.Event)
    _decoder: codecs.IncrementalDecoder = field(default_factory=lambda: _UTF_8("replace"))

    def read(self) -> None:
        try:
            read = self._decoder.decode(os.read(self.master, 65536))  # it may end within a character
            self.text += read
            self._screen.feed(read)
        except OSError:  # the other end is closed
            asyncio.get_running_loop().remove_reader(self.master)
        self._grown.set()

    async def until(self, pattern: str) -> re.Match[str]:
        """Wait until the pattern appears after the last match; drop everything up to it.

        Lines may come in pieces: a pattern for a whole line needs something after it.
        """
        found = await self._find(pattern, lambda: self.text)
        self.text = self.text[found.end() :]
        return found

    async def until_shown(self, pattern: str) -> None:
        """Wait until the pattern stands on the screen before the cursor; drop what came until then."""
        await self._find(pattern, lambda: self.before_cursor)
        self.text = ""

    async def _find(self, pattern: str, read: Callable[[], str]) -> re.Match[str]:
        with suppress(TimeoutError):
            async with asyncio.timeout(WAIT_TIMEOUT):
                while (found := re.search(pattern, read())) is None:
                    self._grown.clear()
                    await self._grown.wait()
                return found
        raise AssertionError(f"{pattern!r} is not in {read()!r}")

    @property
    def before_cursor(self) -> str:
        assert self._screen.listener is not None
        rows, cursor = self._screen.listener.display, self._screen.listener.cursor
        return "\n".join((*(row.rstrip() for row in rows[: cursor.y]), rows[cursor.y][: cursor.x]))

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    async def type_until(self, key: str, pattern: str) -> None:
        """Type a key until the pattern appears: a pager drops what is typed while it draws."""
        async with asyncio.timeout(WAIT_TIMEOUT):
            while re.search(pattern, self.text) is None:
                self.type(key)
                await asyncio.sleep(0.2)
        await self.until(pattern)

    def hang_up(self) -> None:
        """Close the terminal, as closing its window does."""
        asyncio.get_running_loop().remove_reader(self.master)
        os.close(self.master)

    async def ended(self) -> int:
        async with asyncio.timeout(WAIT_TIMEOUT):
            return await self.process.wait()


@asynccontextmanager
async def ending(process: Process) -> AsyncIterator[None]:
    """Kill the process if it outlives its test."""
    try:
        yield
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@dataclass(frozen=True)
class CommandRunner:
    """A shell in a directory, with an environment. `checks_exports`: what is exported has to be in OpenCode's forms."""

    environment: dict[str, str]
    directory: Path
    program: Path = PROGRAM
    checks_exports: bool = True

    def with_(self, **variables: str) -> "CommandRunner":
        """The same shell with more variables."""
        return replace(self, environment={**self.environment, **variables})

    def at(self, directory: Path) -> "CommandRunner":
        """The same shell in another directory."""
        return replace(self, directory=directory)

    async def run(self, *arguments: str, typed: str = "", out: int = PIPE) -> CommandResult:
        """Run `holdfast` to its end; `typed` is its standard input."""
        given = typed.encode("utf-8", "surrogateescape")
        async with asyncio.timeout(WAIT_TIMEOUT):
            if self.program == PROGRAM:
                code, said, err = await run_forked(arguments, self.directory, self.environment, given, out)
            else:
                async with self.process(*arguments, stdin=PIPE, out=out) as process:
                    said, err = await process.communicate(given)
                code = process.returncode or 0
        if self.checks_exports and arguments[:1] == ("export",) and code == 0 and out == PIPE:
            check_export(json.loads(said or b""))
        return CommandResult(code, (said or b"").decode(), err.decode())

    @asynccontextmanager
    async def process(self, *arguments: str, stdin: int = DEVNULL, out: int = PIPE) -> AsyncIterator[Process]:
        """`holdfast` with pipes; it ends with the context."""
        process = await asyncio.create_subprocess_exec(
            self.program, *arguments, stdin=stdin, stdout=out, stderr=PIPE, cwd=self.directory, env=self.environment
        )
        async with ending(process):
            yield process

    @asynccontextmanager
    async def terminal(self, *arguments: str) -> AsyncIterator[PtySession]:
        """`holdfast` on its own terminal; it ends with the context."""
        master, slave = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            self.program,
            *arguments,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=self.directory,
            env={**self.environment, "TERM": "xterm"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        terminal = PtySession(process, master)
        asyncio.get_running_loop().add_reader(master, terminal.read)
        async with ending(process):
            yield terminal


OpenHarness = Callable[..., AbstractAsyncContextManager[Harness]]


def shell(harness: Harness) -> CommandRunner:
    """A shell in the harness's project, for which the harness's servers are external."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_KEPT)}
    own = {
        "HOME": str(harness.project.parent),
        "XDG_CONFIG_HOME": str(harness.settings.config.parent),
        "HOLDFAST_HOME": str(harness.settings.home),
        "HOLDFAST_POSTGRES_URL": harness.endpoints.postgres_url,
        "TEMPORAL_ADDRESS": harness.endpoints.temporal_address,
        "HOLDFAST_TASK_QUEUE": harness.settings.task_queue,
        "HOLDFAST_HOST": "*",
        "HOLDFAST_WORKER": "false",
    }
    return CommandRunner(kept | own, harness.project)


@pytest.fixture
def bare(tmp_path: Path) -> CommandRunner:
    """A shell of a user who has never started a stack."""
    (tmp_path / "project").mkdir()
    own = {"HOME": str(tmp_path), "HOLDFAST_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    return CommandRunner(own, tmp_path / "project")


def files_below(directory: Path) -> list[str]:
    return sorted(str(each.relative_to(directory)) for each in directory.rglob("*"))
