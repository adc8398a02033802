"""A trial: real worker processes, doors and effects around a house, and the verdict over what they left behind."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import psutil
from temporalio.client import Client, WorkflowFailureError

from activities.model.litellm_model import LiteLLM
from activities.store.sessions import Overview
from tests.acceptance import histories, story, workers
from tests.acceptance.door import ClientLedger, Door
from tests.acceptance.effects import EffectLedger
from tests.acceptance.invariants import Violation, violations
from tests.acceptance.records import SessionRecords, TrialRecords
from tests.acceptance.workers import Nursery, WorkerProcess
from tests.house import ACTOR, PATIENCE, House, house
from worker.bells import workflow_id
from worker.client import SessionClient
from worker.scripted.script import Script
from worker.settings import Settings
from worker.stack.state import Endpoints
from workflows.domain.ids import SessionId

_LOOK_PERIOD: Final = 0.2


@dataclass
class Trial:
    """What a trial has at hand. `wasted` is how many model requests its faults and stops may cost, `code` a copy of
    ours that its workers run instead."""

    house: House
    directory: Path
    nursery: Nursery
    effects: EffectLedger
    ledger: ClientLedger = field(default_factory=ClientLedger)
    workers: list[WorkerProcess] = field(default_factory=list)
    healed: list[datetime] = field(default_factory=list)
    clients: AsyncExitStack = field(default_factory=AsyncExitStack)
    wasted: int = 0
    code: Path | None = None

    @property
    def door(self) -> Door:
        return Door(self.house.client, self.ledger)

    async def say(self, text: str) -> SessionId:
        """Start a session."""
        return await self.door.start(self.house.project, text, self.effects.programs)

    async def worker(self, faults: str = "", temporal: str | None = None) -> WorkerProcess:
        """Start a worker process, with these failpoints armed; perhaps with another way to Temporal."""
        endpoints = self.house.endpoints.model_copy(update={"temporal_address": temporal} if temporal else {})
        own = workers.environment(self.house.settings, endpoints, self.directory, faults)
        log = self.directory / f"worker-{len(self.workers)}.log"
        started = await self.nursery.start(own, log, self.code)
        if self.workers and all(earlier.ended for earlier in self.workers):
            self.healed.append(datetime.now(UTC))
        self.workers.append(started)
        return started

    @asynccontextmanager
    async def somebody(self, name: str) -> AsyncIterator[Door]:
        """Another person's door."""
        actor = ACTOR.model_copy(update={"subject": f"{name}@there"})
        async with SessionClient(self.house.settings, self.house.endpoints, actor) as client:
            yield Door(client, self.ledger)

    @asynccontextmanager
    async def ledger_locked(self) -> AsyncIterator[None]:
        """Hold up, for at most ten seconds, whoever reads or writes the ledger of calls."""
        async with self.house.database.transaction() as connection:
            await connection.execute("LOCK TABLE call")
            yield

    async def reconnect(self) -> None:
        """Go on with a new client, as the next command would: connections of before a restart are broken."""
        client = SessionClient(self.house.settings, self.house.endpoints, ACTOR)
        self.house.client = await self.clients.enter_async_context(client)

    async def listed(self, session: SessionId, wanted: Callable[[Overview], bool], patience: float = PATIENCE) -> None:
        """Wait until listings show the session so: what is no event, or comes after thousands of them."""
        async with asyncio.timeout(patience):
            while not wanted(await self.house.client.session(session)):
                await asyncio.sleep(_LOOK_PERIOD)

    async def retrying(self, session: SessionId) -> None:
        """Wait until the engine knows that an activity has failed, and when to try it again."""
        run = self.house.temporal.get_workflow_handle(workflow_id(session))
        async with asyncio.timeout(PATIENCE):
            while not any(each.attempt > 1 for each in (await run.describe()).raw_description.pending_activities):
                await asyncio.sleep(_LOOK_PERIOD)

    async def passes(self) -> None:
        """Fail with all that is violated."""
        found = await self.verdict()
        assert not found, "\n".join(f"{each.invariant}: {each.what}" for each in found)

    async def verdict(self) -> list[Violation]:
        """Wait until what has to end has ended, stop the workers, and judge."""
        overviews = await self.house.client.sessions()
        resting = [await self.asleep(overview) for overview in overviews]
        await self.stop_workers()
        left = [*await asyncio.to_thread(self.left), *await self.locks()]
        sessions = [await self.records(each.id, rests) for each, rests in zip(overviews, resting, strict=True)]
        return violations(
            TrialRecords(
                sent=self.ledger,
                requests=self.house.model.ledger.entries,
                effects=self.effects.lines(),
                sessions=sessions,
                left=left,
                healed=self.healed,
                heartbeat=timedelta(seconds=self.house.settings.heartbeat_seconds),
                wasted=self.wasted,
            )
        )

    async def asleep(self, session: Overview) -> bool:
        """Wait for the end of a run that has nothing more to do; whether the session rests."""
        if session.working:
            return False
        with suppress(WorkflowFailureError):  # terminated or cancelled by the test
            async with asyncio.timeout(PATIENCE):
                await self.house.temporal.get_workflow_handle(workflow_id(session.id)).result()
        return True

    async def records(self, session: SessionId, resting: bool) -> SessionRecords:
        client = self.house.client
        return SessionRecords(
            session=session,
            log=[seen.record async for seen in client.log(session)],
            verified=await client.verify(session),
            transcript=await client.transcript(session),
            runs=await histories.runs(self.house.temporal, workflow_id(session)),
            resting=resting,
        )

    def left(self) -> list[str]:
        """What nobody has cleaned up: temporary files, and processes of commands."""
        files = [f"temporary file {path}" for path in self.house.project.rglob(".holdfast-*")]
        return files + [f"process {process.pid}: {process.cmdline()}" for process in self.commands()]

    async def locks(self) -> list[str]:
        """Advisory locks that the workers of this trial have not given back, although they are gone."""
        held = "SELECT pid FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory'"
        mine = f"{held} AND d.datname = current_database()"
        async with self.house.database.transaction() as connection:
            rows = await (await connection.execute(mine)).fetchall() if self.workers else []
        return [f"advisory lock of the database's process {pid}" for (pid,) in rows]

    def commands(self) -> list[psutil.Process]:
        """What runs of the sessions' commands: their supervisors, whatever works in the project, and the effects."""
        places = (self.house.project, self.house.settings.home / "calls", self.effects.programs)
        return [process for process in psutil.process_iter() if _works_in(process, *map(str, places))]

    async def stop_workers(self) -> None:
        for worker in self.workers:
            await worker.end()

    async def tell(self) -> None:
        """Print what a person needs who looks for the cause of a failure."""
        await story.tell(self.house.settings, self.house.endpoints, self.house.temporal, self.directory)
        for worker in self.workers:
            story.show(worker.log)


@asynccontextmanager
async def trial(
    settings: Settings,
    endpoints: Endpoints,
    temporal: Client,
    scripts: Script | Mapping[str, Script],
    directory: Path,
    nursery: Nursery,
    **changed: Any,
) -> AsyncIterator[Trial]:
    """A trial without a worker; whatever happens, none of its processes outlives it."""
    async with house(settings, endpoints, temporal, LiteLLM({}), scripts, directory) as built:
        built.settings = built.settings.model_copy(update={"idle_seconds": 0.5, **changed})
        built.client.settings = built.settings
        going_on = Trial(built, directory, nursery, EffectLedger(directory))
        try:
            yield going_on
        finally:
            await going_on.clients.aclose()
            await going_on.stop_workers()
            for process in going_on.commands():
                process.kill()


def _works_in(process: psutil.Process, *places: str) -> bool:
    """Whether a living process has to do with one of these directories: by its command line, or by where it is."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        seen = [process.cwd(), *process.cmdline()]
    except psutil.Error:  # gone meanwhile, or somebody else's
        return False
    return any(text.startswith(places) for text in seen)
