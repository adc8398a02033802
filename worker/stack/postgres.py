"""The embedded PostgreSQL server, reached by a Unix socket in a directory that only its owner may enter."""

import asyncio
import signal
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from worker.stack import processes
from worker.stack.cluster import Cluster, environment_of
from worker.stack.linux import dies_with_me
from worker.stack.state import PartName

_POLL: Final = 0.02  # seconds; the server tells in a file
_STEPS: Final = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))  # fast, immediate, gone
_SETTINGS: Final = (
    "listen_addresses=",  # the socket only
    "unix_socket_permissions=0700",
    "max_connections=100",
    "shared_buffers=64MB",
    "max_wal_size=512MB",
    "jit=off",  # compiling costs more than our small queries take
    "timezone=UTC",
    "log_timezone=UTC",
    "cluster_name=holdfast",
)


class PostgresService:
    """The server of a cluster, as a part of the stack."""

    name = PartName.POSTGRES
    farewell = _STEPS

    def __init__(self, cluster: Cluster, log: Path, environment: Mapping[str, str]) -> None:
        self._cluster = cluster
        self._log = log
        self._environment = environment_of(environment)

    async def start(self) -> Process:
        await self._clear()
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
                preexec_fn=dies_with_me(signal.SIGQUIT),
                **self._cluster.identity,
            )

    async def ready(self, process: Process) -> None:
        """Wait for the word "ready" in the server's own pid file."""
        while True:
            lines = self._noted()
            if len(lines) > 7 and lines[0] == str(process.pid) and lines[7].strip() == "ready":
                return
            await asyncio.sleep(_POLL)

    async def _clear(self) -> None:
        """End the server that an earlier supervisor left, and remove what a dead one left.

        PostgreSQL itself takes any process with the noted number for a server, also a zombie or a stranger, and
        refuses to start. We know a server by its working directory: it is the data directory.
        """
        noted = self._noted()
        if noted and noted[0].isdigit() and self._is_server(int(noted[0])):
            await self._end(processes.ref(int(noted[0])))
        self._cluster.pid_file.unlink(missing_ok=True)
        for socket in self._cluster.sockets.glob(".s.PGSQL.*"):
            socket.unlink(missing_ok=True)

    def _noted(self) -> list[str]:
        try:
            return self._cluster.pid_file.read_text().splitlines()
        except FileNotFoundError:
            return []

    def _is_server(self, pid: int) -> bool:
        return processes.directory(pid) == self._cluster.data.resolve()

    async def _end(self, server: processes.ProcessRef) -> None:
        for number, seconds in _STEPS:
            server.kill(number)
            if await processes.gone(server, seconds):
                return
