"""The two stages of acceptance tests: the stack that a test run shares, and a whole stack that tests may kill."""

import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg

from tests import databases
from tests.acceptance.trial import Trial, trial
from tests.acceptance.workers import ForkServer
from tests.conftest import remove
from tests.polling import wait_until
from worker.connect import connect
from worker.scripted.script import Script
from worker.settings import Settings
from worker.stack.cluster import SUPERUSER, Cluster
from worker.stack.state_file import Endpoints
from worker.stack.status import status
from worker.stack.temporal import TemporalFiles
from worker.stack.up import up


@dataclass(frozen=True)
class SharedStack:
    """Servers that trials share: each has its own database, task queue and workers.

    `code`: a copy of ours for the workers.
    """

    settings: Settings
    endpoints: Endpoints
    cluster: Cluster
    fork_server: ForkServer
    code: Path | None = None

    @classmethod
    async def start(cls, settings: Settings, fork_server: ForkServer) -> Self:
        """Start a stack of these settings."""
        endpoints = await up(settings, lambda _: None, worker=False)
        return cls(settings, endpoints, await databases.template(settings), fork_server)

    @classmethod
    @asynccontextmanager
    async def running(cls, settings: Settings, fork_server: ForkServer) -> AsyncIterator[Self]:
        """A stack of these settings, removed after the block."""
        try:
            yield await cls.start(settings, fork_server)
        finally:
            await remove(settings)

    @asynccontextmanager
    async def trial(
        self, scripts: Script | Mapping[str, Script], directory: Path, **changed: Any
    ) -> AsyncIterator[Trial]:
        """A trial on these servers; `changed` are other settings of its workers and clients."""
        directory.mkdir(parents=True, exist_ok=True)
        await self._ready()
        with self._database_and_queue() as (own, endpoints):
            temporal = await connect(own, endpoints)
            async with trial(own, endpoints, temporal, scripts, directory, self.fork_server, **changed) as opened:
                opened.code = self.code
                yield opened

    async def _ready(self) -> None:
        """Make all parts serve: those of the test run always do."""

    @contextmanager
    def _database_and_queue(self) -> Iterator[tuple[Settings, Endpoints]]:
        with databases.new_database(self.cluster) as url:
            own = self.settings.model_copy(update={"task_queue": f"trial-{uuid.uuid4().hex}"})
            yield own, self.endpoints.model_copy(update={"postgres_url": url})


@dataclass(frozen=True)
class OwnStack(SharedStack):
    """A stack whose servers and supervisor may be killed: its trials take turns.

    `worker`: it has a worker, too, which serves the one trial on the stack's own database and task queue.
    """

    worker: bool = False

    async def _ready(self) -> None:
        await up(self.settings, lambda _: None, worker=self.worker)  # an earlier failed trial may have left it half-way
        await wait_until(lambda: all(part.serving for part in status(self.settings).parts))

    @contextmanager
    def _database_and_queue(self) -> Iterator[tuple[Settings, Endpoints]]:
        if self.worker:
            yield self.settings, self.endpoints
        else:
            with super()._database_and_queue() as own:
                yield own

    def versions(self) -> str:
        """The versions of the servers."""
        with psycopg.connect(self.cluster.url(SUPERUSER, "postgres")) as connection:
            postgres = connection.info.server_version // 10_000
        return f"PostgreSQL {postgres}, Temporal {TemporalFiles(home=self.settings.home).version()}"
