"""A lane: a stack for trials in turn, each with its own database and queue."""

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psycopg

from tests import databases
from tests.acceptance import trial as trials
from tests.acceptance.matrix.session_ends import SessionEnd
from tests.acceptance.trial import Trial
from tests.acceptance.workers import ForkServer
from tests.polling import wait_until
from worker.connect import connect
from worker.scripted.script import Script
from worker.settings import Settings
from worker.stack.cluster import SUPERUSER, Cluster
from worker.stack.state_file import Endpoints
from worker.stack.status import status
from worker.stack.temporal import TemporalFiles
from worker.stack.up import up


@dataclass
class Lane:
    """`ends` caches undisturbed runs; `code`: a copy of ours for its workers."""

    settings: Settings
    endpoints: Endpoints
    cluster: Cluster
    fork_server: ForkServer
    code: Path | None = None
    ends: dict[tuple[str, int], SessionEnd] = field(default_factory=dict)

    @classmethod
    async def start(cls, settings: Settings, fork_server: ForkServer) -> Self:
        endpoints = await up(settings, lambda _: None, worker=False)
        return cls(settings, endpoints, await databases.template(settings), fork_server)

    def servers(self) -> str:
        """The versions of the stack's servers."""
        with psycopg.connect(self.cluster.url(SUPERUSER, "postgres")) as connection:
            postgres = connection.info.server_version // 10_000
        return f"PostgreSQL {postgres}, Temporal {TemporalFiles(home=self.settings.home).version()}"

    async def serves(self) -> None:
        """Make all parts serve: a failed trial may have left them half-way."""
        await up(self.settings, lambda _: None, worker=False)
        await wait_until(lambda: all(part.serving for part in status(self.settings).parts))

    @asynccontextmanager
    async def trial(
        self, scripts: Script | Mapping[str, Script], directory: Path, limits: Mapping[str, Any]
    ) -> AsyncIterator[Trial]:
        """A trial on this stack; if the block fails, it reports before its database is gone."""
        await self.serves()
        own = self.settings.model_copy(update={"task_queue": f"faults-{uuid.uuid4().hex}"})
        with databases.new_database(self.cluster) as url:
            endpoints = self.endpoints.model_copy(update={"postgres_url": url})
            temporal = await connect(own, endpoints)
            async with trials.trial(own, endpoints, temporal, scripts, directory, self.fork_server, **limits) as opened:
                opened.code = self.code
                try:
                    yield opened
                except BaseException:
                    await opened.tell()
                    raise
