"""People at their shells: commands run as processes, with pipes or on a terminal."""

import asyncio
import codecs
import fcntl
import os
import pty
import re
import sys
import termios
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.house import House
from tests.patience import PATIENCE
from tests.workflows.conftest import open_house as open_house
from tests.workflows.conftest import port as port
from tests.workflows.conftest import swept as swept
from tests.workflows.conftest import warm as warm

PROGRAM = Path(sys.executable).with_name("holdfast")
_NOT_KEPT = ("HOLDFAST_", "TEMPORAL_", "PYTHONDONTWRITEBYTECODE")  # the last makes each start compile half of us
_UTF_8 = codecs.getincrementaldecoder("utf-8")
CTRL_C = "\x03"
CTRL_D = "\x04"


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


@dataclass
class Terminal:
    """A command on a terminal of its own, with what has appeared there so far."""

    process: Process
    master: int
    text: str = ""
    _grown: asyncio.Event = field(default_factory=asyncio.Event)
    _decoder: codecs.IncrementalDecoder = field(default_factory=lambda: _UTF_8("replace"))

    def read(self) -> None:
        try:
            self.text += self._decoder.decode(os.read(self.master, 65536))  # which may end within a character
        except OSError:  # the other end is closed
            asyncio.get_running_loop().remove_reader(self.master)
        self._grown.set()

    async def until(self, pattern: str) -> re.Match[str]:
        """Wait until something appears, behind what was waited for before; what is there up to it is forgotten.

        What is to be read to its end needs something behind it: a line may come in pieces.
        """
        async with asyncio.timeout(PATIENCE):
            while (found := re.search(pattern, self.text)) is None:
                self._grown.clear()
                await self._grown.wait()
        self.text = self.text[found.end() :]
        return found

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def look_away(self) -> None:
        """Read nothing from now on, as a slow line does: what is written has nowhere to go."""
        asyncio.get_running_loop().remove_reader(self.master)

    def look_again(self) -> None:
        asyncio.get_running_loop().add_reader(self.master, self.read)

    def hang_up(self) -> None:
        """Close the terminal, as a window is closed."""
        asyncio.get_running_loop().remove_reader(self.master)
        os.close(self.master)

    async def ended(self) -> int:
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


@asynccontextmanager
async def ending(process: Process) -> AsyncIterator[None]:
    """No process outlives its test."""
    try:
        yield
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@dataclass(frozen=True)
class Shell:
    """A shell in a directory, with an environment."""

    environment: dict[str, str]
    directory: Path

    def with_(self, **variables: str) -> "Shell":
        """The same shell with more variables."""
        return Shell({**self.environment, **variables}, self.directory)

    async def run(self, *arguments: str, typed: str = "", out: int = PIPE) -> Ended:
        """Run `holdfast` to its end; `typed` is its standard input, and its output may go elsewhere."""
        async with self.process(*arguments, stdin=PIPE, out=out) as process, asyncio.timeout(PATIENCE):
            said, err = await process.communicate(typed.encode("utf-8", "surrogateescape"))
        return Ended(process.returncode or 0, (said or b"").decode(), err.decode())

    @asynccontextmanager
    async def process(self, *arguments: str, stdin: int = DEVNULL, out: int = PIPE) -> AsyncIterator[Process]:
        """`holdfast` with pipes, which ends with the context."""
        process = await asyncio.create_subprocess_exec(
            PROGRAM, *arguments, stdin=stdin, stdout=out, stderr=PIPE, cwd=self.directory, env=self.environment
        )
        async with ending(process):
            yield process

    @asynccontextmanager
    async def terminal(self, *arguments: str) -> AsyncIterator[Terminal]:
        """`holdfast` on a terminal of its own, which ends with the context."""
        master, slave = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            PROGRAM,
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
        terminal = Terminal(process, master)
        asyncio.get_running_loop().add_reader(master, terminal.read)
        async with ending(process):
            yield terminal


OpenHouse = Callable[..., AbstractAsyncContextManager[House]]


def shell(house: House) -> Shell:
    """A shell in the project of a house, whose stack counts as external servers for it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_KEPT)}
    own = {
        "HOME": str(house.project.parent),
        "XDG_CONFIG_HOME": str(house.settings.config.parent),
        "HOLDFAST_HOME": str(house.settings.home),
        "HOLDFAST_POSTGRES_URL": house.endpoints.postgres_url,
        "TEMPORAL_ADDRESS": house.endpoints.temporal_address,
        "HOLDFAST_TASK_QUEUE": house.settings.task_queue,
        "HOLDFAST_HOST": "*",
        "HOLDFAST_WORKER": "false",
    }
    return Shell(kept | own, house.project)


@pytest.fixture
def bare(tmp_path: Path) -> Shell:
    """A shell of somebody who has never started a stack, and needs none."""
    (tmp_path / "project").mkdir()
    own = {"HOME": str(tmp_path), "HOLDFAST_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    return Shell(own, tmp_path / "project")
