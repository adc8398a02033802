"""The embedded PostgreSQL server, on a Unix socket in a private directory."""

import asyncio
import signal
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from worker.stack import processes
from worker.stack.cluster import Cluster, environment_of
from worker.stack.linux import parent_death_signal
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
    """The cluster's server as a part of the stack."""

    name = PartName.POSTGRES
    stop_signals = _STOP_SIGNALS

    def __init__(self, cluster: Cluster, log: Path, environment: Mapping[str, str]) -> None:
        self._cluster = cluster
        self._log = log
        self._environment = environment_of(environment)

    async def start(self) -> Process:
        await self._end_leftovers()
        settings = (*_SETTINGS, f"unix_socket_directories={self._cluster.sockets}")
        with self._log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                self._cluster.binaries.program("postgres"),
                *("-D", str(self._cluster.data)),
                *(word for setting in settings for word in ("-c", setting)),
                stdin=DEVNULL,
                stdout=log,
                stderr=STDOUT,
                cwd=self._cluster.root,
                env=self._environment,
                start_new_session=True,
                preexec_fn=parent_death_signal(signal.SIGQUIT),
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
        """PostgreSQL takes any process with the noted pid for a server, even a zombie or a stranger, and refuses to
        start.

        We recognize a server by its working directory, the data directory.
        """
        noted = self._pid_file_lines()
        if noted and noted[0].isdigit() and self._is_server(int(noted[0])):
            await self._end(processes.ref(int(noted[0])))
        self._cluster.pid_file.unlink(missing_ok=True)
        for socket in self._cluster.sockets.glob(".s.PGSQL.*"):
            socket.unlink(missing_ok=True)

    def _pid_file_lines(self) -> list[str]:
        try:
            return self._cluster.pid_file.read_text().splitlines()
        except FileNotFoundError:
            return []

    def _is_server(self, pid: int) -> bool:
        return processes.working_directory(pid) == self._cluster.data.resolve()

    async def _end(self, server: processes.ProcessRef) -> None:
        for number, seconds in _STOP_SIGNALS:
            server.kill(number)
            if await processes.wait_until_gone(server, seconds):
                return
