"""The embedded Temporal: a development server on loopback, tuned for speed."""

import asyncio
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from worker.settings import Settings
from worker.stack import child_programs, locks
from worker.stack.binaries.temporal import TemporalBinary, find
from worker.stack.layout import Layout
from worker.stack.ports import LOOPBACK, Ports
from worker.stack.service import start_process
from worker.stack.state_file import PartName
from workflows.domain.errors import Unavailable
from workflows.domain.search_attributes import KEYWORD_ATTRIBUTES

# Without these, a lone session waits 50 ms per dispatch, and timers below a second take a second (design.md 11).
DYNAMIC: Final = (
    "history.transferProcessorMaxPollRPS=2000",
    "history.timerProcessorMaxPollRPS=2000",
    "history.visibilityProcessorMaxPollRPS=2000",
    'history.timerProcessorMaxTimeShift="1ms"',
    "system.enableActivityEagerExecution=true",
)
# SQLite's own default writes and syncs each commit twice, and makes and removes a file for it: half as many steps of
# 20 sessions. In WAL mode, NORMAL syncs at checkpoints only. A power failure may cost the last moments: the rows have
# them, as when the file is lost.
_PRAGMAS: Final = ("journal_mode=WAL", "synchronous=NORMAL")
_POLL: Final = 0.1  # seconds


class TemporalFiles(Layout):
    """The server's database file, and its version."""

    @property
    def file(self) -> Path:
        return self.temporal / "temporal.db"

    @property
    def version_file(self) -> Path:
        """Written once the file has served: before, it may be half made."""
        return self.temporal / "server-version"

    @property
    def lock(self) -> Path:
        """Two servers on one file destroy it."""
        return self.temporal / "lock"

    def version(self) -> str | None:
        """None without data."""
        return self.version_file.read_text().strip() if self.version_file.exists() else None

    def remove(self) -> None:
        """A half made file, or that of another server: it holds nothing that reconcile does not find in the rows."""
        self.version_file.unlink(missing_ok=True)  # first: what is left after a kill counts as half made
        for part in self.temporal.glob(f"{self.file.name}*"):
            part.unlink()


class TemporalService:
    """Its program is found at each start: an update may have replaced it under a running stack."""

    name = PartName.TEMPORAL
    stop_signals = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))
    _binary: TemporalBinary

    def __init__(self, settings: Settings, ports: Ports) -> None:
        self._data = TemporalFiles(home=settings.home)
        self._settings = settings
        self._ports = ports
        self._environment = environment_of(settings.environment)

    async def start(self) -> Process:
        lock = locks.try_acquire(self._data.lock)
        if lock is None:
            raise Unavailable(f"Another Temporal server has not let go of {str(self._data.file)!r} yet.")
        try:
            self._binary = await find(self._settings, self._data.version())
            if self._data.version() != self._binary.version:
                await asyncio.to_thread(self._data.remove)
            return await start_process(
                *(str(self._binary.path), *self._arguments()),
                log=self._data.log(self.name),
                environment=self._environment,
                on_our_death=signal.SIGKILL,
                cwd=self._data.temporal,
                pass_fds=(lock,),
            )
        finally:
            os.close(lock)

    async def ready(self, process: Process) -> None:
        """Register the search attributes until a serving server takes them."""
        while not await self._register():
            await asyncio.sleep(_POLL)
        self._data.version_file.write_text(f"{self._binary.version}\n")

    def _arguments(self) -> list[str]:
        """The file is named without its directory, where it runs: in an address, `%`, `?` and `#` would count."""
        dynamic = (*DYNAMIC, *self._settings.temporal_dynamic.split())
        return [
            *("server", "start-dev", "--ip", LOOPBACK, "--log-level", "warn"),
            *("--port", str(self._ports.temporal), "--ui-port", str(self._ports.ui)),
            *("--db-filename", self._data.file.name, "--namespace", self._settings.namespace),
            *(word for pragma in _PRAGMAS for word in ("--sqlite-pragma", pragma)),
            *(word for name in KEYWORD_ATTRIBUTES for word in ("--search-attribute", f"{name}=Keyword")),
            *(word for setting in dynamic for word in ("--dynamic-config-value", setting)),
        ]

    async def _register(self) -> bool:
        """Also on an old file; the command line does so only for a new one."""
        argv = (
            str(self._binary.path),
            *("operator", "search-attribute", "create", "--type", "Keyword", "--command-timeout", "5s"),
            *("--address", f"{LOOPBACK}:{self._ports.temporal}", "--namespace", self._settings.namespace),
            *(word for name in KEYWORD_ATTRIBUTES for word in ("--name", name)),
        )
        return (await child_programs.run(*argv, environment=self._environment)).code == 0


def environment_of(environment: Mapping[str, str]) -> dict[str, str]:
    """No client configuration, no secrets."""
    return {name: environment[name] for name in ("PATH", "HOME", "TMPDIR") if name in environment}
