"""The embedded Temporal: a development server with a file, on loopback, with the settings that make it fast."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from worker.settings import Settings
from worker.stack import locks
from worker.stack.binaries.children import running
from worker.stack.binaries.temporal import TemporalBinary
from worker.stack.layout import Layout
from worker.stack.linux import dies_with_me
from worker.stack.ports import LOOPBACK, Ports
from worker.stack.state import PartName
from workflows.domain.attributes import KEYWORDS
from workflows.domain.errors import Unavailable

# Without these a lone session waits 50 ms at each dispatch, and timers below a second last a second (design.md 11).
DYNAMIC: Final = (
    "history.transferProcessorMaxPollRPS=2000",
    "history.timerProcessorMaxPollRPS=2000",
    "history.visibilityProcessorMaxPollRPS=2000",
    'history.timerProcessorMaxTimeShift="1ms"',
    "system.enableActivityEagerExecution=true",
)
_POLL: Final = 0.1  # seconds between two looks whether the server serves


class Data(Layout):
    """The server's files: its database, and which server made it."""

    @property
    def file(self) -> Path:
        return self.temporal / "temporal.db"

    @property
    def note(self) -> Path:
        """Written when the file has served once: before that it may be half made."""
        return self.temporal / "server-version"

    @property
    def lock(self) -> Path:
        """Held by the server itself, because two servers on one file destroy it."""
        return self.temporal / "lock"

    def version(self) -> str | None:
        """The version of the server that made the data, or None without data."""
        return self.note.read_text().strip() if self.note.exists() else None


class TemporalService:
    """The server, as a part of the stack."""

    name = PartName.TEMPORAL
    farewell = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))

    def __init__(self, settings: Settings, binary: TemporalBinary, ports: Ports) -> None:
        self._data = Data(home=settings.home)
        self._settings = settings
        self._binary = binary
        self._ports = ports
        self._environment = environment_of(settings.environment)

    async def start(self) -> Process:
        if not self._data.note.exists():
            await asyncio.to_thread(_remove, self._data.file)
        lock = locks.acquire(self._data.lock)
        if lock is None:
            raise Unavailable(f"Another Temporal server has not let go of {str(self._data.file)!r} yet.")
        try:
            return await self._spawn(lock)
        finally:
            os.close(lock)

    async def ready(self, process: Process) -> None:
        """Register the search attributes until that succeeds: only a server that serves can."""
        while True:
            if await self._register():
                break
            await asyncio.sleep(_POLL)
        self._data.note.write_text(f"{self._binary.version}\n")

    async def _spawn(self, lock: int) -> Process:
        with self._data.log(self.name).open("ab") as log:
            return await asyncio.create_subprocess_exec(
                str(self._binary.path),
                *self._arguments(),
                stdin=DEVNULL,
                stdout=log,
                stderr=STDOUT,
                cwd=self._data.temporal,
                env=self._environment,
                start_new_session=True,
                preexec_fn=dies_with_me(signal.SIGKILL),
                pass_fds=(lock,),
            )

    def _arguments(self) -> list[str]:
        dynamic = (*DYNAMIC, *self._settings.temporal_dynamic.split())
        return [
            *("server", "start-dev", "--ip", LOOPBACK, "--log-level", "warn"),
            *("--port", str(self._ports.temporal), "--ui-port", str(self._ports.ui)),
            *("--db-filename", str(self._data.file), "--namespace", self._settings.namespace),
            *(word for name in KEYWORDS for word in ("--search-attribute", f"{name}=Keyword")),
            *(word for setting in dynamic for word in ("--dynamic-config-value", setting)),
        ]

    async def _register(self) -> bool:
        """The server takes attributes from its own command line with a new file only; this adds to an old one too."""
        argv = (
            str(self._binary.path),
            *("operator", "search-attribute", "create", "--type", "Keyword", "--command-timeout", "5s"),
            *("--address", f"{LOOPBACK}:{self._ports.temporal}", "--namespace", self._settings.namespace),
            *(word for name in KEYWORDS for word in ("--name", name)),
        )
        async with running(*argv, environment=self._environment) as registering:
            await registering.communicate()
            return registering.returncode == 0


def environment_of(environment: Mapping[str, str]) -> dict[str, str]:
    """What the server gets of our environment: nothing that configures a client, and no secrets."""
    return {name: environment[name] for name in ("PATH", "HOME", "TMPDIR") if name in environment}


def _remove(file: Path) -> None:
    for part in file.parent.glob(f"{file.name}*"):
        part.unlink()
