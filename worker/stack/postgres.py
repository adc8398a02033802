"""The embedded PostgreSQL server, on a Unix socket in a private directory."""

import asyncio
import signal
from asyncio.subprocess import Process
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from worker.stack import processes
from worker.stack.cluster import Cluster, environment_of
from worker.stack.service import start_process
from worker.stack.state_file import PartName

_POLL: Final = 0.02  # seconds; the server reports in a file
_STOP_SIGNALS: Final = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))  # fast, immediate, gone
_SETTINGS: Final = (
    "listen_addresses=",  # the socket only
    "unix_socket_permissions=0700",
    "max_connections=100",
    "shared_buffers=64MB",
    "max_wal_size=512MB",
    "jit=off",  # compilation costs more than our small queries
    "timezone=UTC",
    "log_timezone=UTC",
    "cluster_name=holdfast",
)


class PostgresService:
    name = PartName.POSTGRES
    stop_signals = _STOP_SIGNALS

    def __init__(self, cluster: Cluster, log: Path, environment: Mapping[str, str]) -> None:
        self._cluster = cluster
        self._log = log
        self._environment = environment_of(environment)

    async def start(self) -> Process:
        await self._end_leftovers()
        settings = (*_SETTINGS, f"unix_socket_directories={self._cluster.sockets}")
        return await start_process(
            *(self._cluster.binaries.program("postgres"), "-D", str(self._cluster.data)),
            *(word for setting in settings for word in ("-c", setting)),
            log=self._log,
            environment=self._environment,
            on_our_death=signal.SIGQUIT,
            cwd=self._cluster.root,
            **self._cluster.identity,
        )

    async def ready(self, process: Process) -> None:
        """Wait for "ready" in the server's pid file."""
        while True:
            lines = self._pid_file_lines()
            if len(lines) > 7 and lines[0] == str(process.pid) and lines[7].strip() == "ready":
                return
            await asyncio.sleep(_POLL)

    async def _end_leftovers(self) -> None:
        """PostgreSQL refuses to start while any process has the noted pid, even a zombie or a stranger.

        A server's working directory is its data directory.
        """
        noted = self._pid_file_lines()
        pid = int(noted[0]) if noted and noted[0].isdigit() else None
        if pid is not None and processes.working_directory(pid) == self._cluster.data.resolve():
            server = processes.ref(pid)
            for number, seconds in _STOP_SIGNALS:
                server.kill(number)
                if await processes.wait_until_gone(server, seconds):
                    break
        self._cluster.pid_file.unlink(missing_ok=True)
        for socket in self._cluster.sockets.glob(".s.PGSQL.*"):
            socket.unlink(missing_ok=True)

    def _pid_file_lines(self) -> list[str]:
        try:
            return self._cluster.pid_file.read_text().splitlines()
        except FileNotFoundError:
            return []
