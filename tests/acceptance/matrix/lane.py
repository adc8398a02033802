"""A lane: a stack of its own, on which trials run one after the other, each with its own database and queue."""

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psycopg

from tests import databases
from tests.acceptance import trial as trials
from tests.acceptance.matrix.ends import End
from tests.acceptance.trial import Trial
from tests.acceptance.workers import Nursery
from tests.patience import appears
from worker.connect import connect
from worker.scripted.script import Script
from worker.settings import Settings
from worker.stack.cluster import SUPERUSER, Cluster
from worker.stack.state import Endpoints
from worker.stack.status import status
from worker.stack.temporal import Data
from worker.stack.up import up


@dataclass
class Lane:
    """`ends` remembers what undisturbed runs have come to; `code` is a copy of ours that its workers run instead."""

    settings: Settings
    endpoints: Endpoints
    cluster: Cluster
    nursery: Nursery
    code: Path | None = None
    ends: dict[tuple[str, int], End] = field(default_factory=dict)

    @classmethod
    async def start(cls, settings: Settings, nursery: Nursery) -> Self:
        endpoints = await up(settings, lambda _: None, worker=False)
        return cls(settings, endpoints, await databases.template(settings), nursery)

    def servers(self) -> str:
        """The versions of the stack's servers."""
        with psycopg.connect(self.cluster.url(SUPERUSER, "postgres")) as connection:
            postgres = connection.info.server_version // 10_000
        return f"PostgreSQL {postgres}, Temporal {Data(home=self.settings.home).version()}"

    async def serves(self) -> None:
        """Have all parts serve: a trial that has failed may have left them half-way."""
        await up(self.settings, lambda _: None, worker=False)
        await appears(lambda: all(part.serving for part in status(self.settings).parts))

    @asynccontextmanager
    async def trial(
        self, scripts: Script | Mapping[str, Script], directory: Path, limits: Mapping[str, Any]
    ) -> AsyncIterator[Trial]:
        """A trial on this stack; where the block fails, it tells its story before its database is gone."""
        await self.serves()
        own = self.settings.model_copy(update={"task_queue": f"faults-{uuid.uuid4().hex}"})
        with databases.fresh(self.cluster) as url:
            endpoints = self.endpoints.model_copy(update={"postgres_url": url})
            temporal = await connect(own, endpoints)
            async with trials.trial(own, endpoints, temporal, scripts, directory, self.nursery, **limits) as opened:
                opened.code = self.code
                try:
                    yield opened
                except BaseException:
                    await opened.tell()
                    raise
