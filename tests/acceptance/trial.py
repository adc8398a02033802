"""A trial: real worker processes, doors and effects around a house, and the verdict over what they left behind."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final

import psutil
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionResponse
from temporalio.client import Client, WorkflowFailureError

from activities.model.wires.router import WireRouter
from activities.store.sessions import Overview
from tests.acceptance import histories, neighbour, story, workers
from tests.acceptance.crossing import Crossing, crossing
from tests.acceptance.door import ClientLedger, Door
from tests.acceptance.effects import EffectLedger
from tests.acceptance.invariants import LIVENESS, Violation, violations
from tests.acceptance.records import SessionRecords, TrialRecords
from tests.acceptance.workers import Nursery, WorkerProcess
from tests.house import ACTOR, House, house, reached
from tests.patience import PATIENCE, slowness
from worker.client import SessionClient
from worker.scripted.script import DEFAULT, Script
from worker.settings import Settings
from worker.stack.state import Endpoints
from workflows.domain.ids import SessionId, workflow_id

_LOOK_PERIOD: Final = 0.2
_LOCKS: Final = b"""
SELECT pid FROM pg_locks JOIN pg_database d ON d.oid = database
WHERE locktype = 'advisory' AND d.datname = current_database()
"""


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
    neighbours: list[SessionId] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)
    wasted: int = 0
    code: Path | None = None

    @property
    def door(self) -> Door:
        return Door(self.house.client, self.ledger)

    async def say(self, text: str, door: Door | None = None) -> SessionId:
        """Start a session."""
        return await (door or self.door).start(self.house.project, text, self.effects.programs)

    async def worker(self, faults: str = "", **ways: str) -> WorkerProcess:
        """Start a worker process, with these failpoints armed; perhaps with other ways to the servers."""
        endpoints = self.house.endpoints.model_copy(update=ways)
        own = workers.environment(self.house.settings, endpoints, self.directory, faults)
        log = self.directory / f"worker-{next(self.numbers)}.log"  # taken before a wait: two may start at once
        started = await self.nursery.start(own, log, self.code)
        if self.workers and all(earlier.ended for earlier in self.workers):
            self.healed.append(datetime.now(UTC))
        self.workers.append(started)
        return started

    @asynccontextmanager
    async def somebody(self, name: str, **ways: str) -> AsyncIterator[Door]:
        """Another person's door, perhaps with other ways to the servers."""
        actor = ACTOR.model_copy(update={"subject": f"{name}@there"})
        endpoints = self.house.endpoints.model_copy(update=ways)
        async with SessionClient(self.house.settings, endpoints, actor) as client:
            yield Door(client, self.ledger)

    def cut_off(self) -> AbstractAsyncContextManager[Door]:
        """A door that does not reach the engine: what it accepts is delivered by a sweeper."""
        return self.somebody("lonely", temporal_address="127.0.0.1:1")

    @asynccontextmanager
    async def ledger_locked(self) -> AsyncIterator[None]:
        """Hold up, for at most ten seconds, whoever reads or writes the ledger of calls."""
        async with self.house.database.transaction() as connection:
            await connection.execute("LOCK TABLE call")
            yield

    async def crossing(self) -> Crossing:
        """A way to the database on which commits can be caught, until the end of the trial."""
        return await self.clients.enter_async_context(crossing(self.house.endpoints.postgres_url))

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

    async def quiet(self, session: SessionId) -> None:
        """Wait until nothing of the session is under way in the engine, although its run is open."""
        run = self.house.temporal.get_workflow_handle(workflow_id(session))
        async with asyncio.timeout(PATIENCE):
            while not _rests((await run.describe()).raw_description):
                await asyncio.sleep(_LOOK_PERIOD)

    async def passes(self) -> None:
        """Fail with all that is violated."""
        found = await self.verdict()
        assert not found, "\n".join(f"{each.invariant}: {each.what}" for each in found)

    async def verdict(self) -> list[Violation]:
        """Wait until what has to end has ended, stop the workers, and judge."""
        beside = [(session, await self.alone(session)) for session in self.neighbours]
        overviews = await self.taken_up()
        resting = [each for each in overviews if not each.working]
        awake = [f"open run of {each.id}" for each in resting if not await self.asleep(each)]
        served = any(not worker.ended for worker in self.workers)
        await self.stop_workers()
        left = [*await self.remaining(self.left), *await self.remaining(self.locks), *awake]
        sessions = {each.id: await self.records(each.id, each in resting) for each in overviews}
        return violations(
            TrialRecords(
                sent=self.ledger,
                requests=self.house.model.ledger.entries,
                effects=self.effects.lines(),
                sessions=list(sessions.values()),
                left=left,
                healed=self.healed,
                patience=timedelta(seconds=self.liveness()),
                wasted=self.wasted,
                neighbours=[(sessions[one], sessions[other]) for one, other in beside],
                served=served,
            )
        )

    async def neighbour(self) -> None:
        """Start a session whose course no fault may change, and wait until the model is in the middle of its answer.

        The verdict compares it with the same that runs alone. It may cost a request: see `wasted`.
        """
        self.house.file(neighbour.FILE, neighbour.CONTENT)
        self.neighbours.append(await self.say(neighbour.PROMPT))
        await reached(self.directory / neighbour.NAME)

    async def alone(self, beside: SessionId) -> SessionId:
        """Let a neighbour come to its end, then have another one run when all faults are over."""
        (self.directory / neighbour.NAME).touch()
        await self.house.ended(beside)
        session = await self.say(neighbour.PROMPT)
        await self.house.ended(session)
        return session

    async def taken_up(self) -> list[Overview]:
        """How all sessions stand, after prompts have had as long to be taken up as they may need."""
        overviews = await self.house.client.sessions()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.liveness()):
                while any(each.working and each.turn_state != "open" for each in overviews):
                    await asyncio.sleep(_LOOK_PERIOD)
                    overviews = await self.house.client.sessions()
        return overviews

    def liveness(self) -> float:
        """In how many seconds what is due has to go on, on this machine."""
        return (self.house.settings.heartbeat_seconds + LIVENESS.total_seconds()) * slowness()

    async def asleep(self, session: Overview) -> bool:
        """Wait for the end of a run that has nothing more to do; whether it comes."""
        run = self.house.temporal.get_workflow_handle(workflow_id(session.id))
        with suppress(WorkflowFailureError):  # terminated or cancelled by the test
            try:
                async with asyncio.timeout(PATIENCE):
                    await run.result()
            except TimeoutError:
                return False
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

    async def remaining(self, look: Callable[[], Awaitable[list[str]]]) -> list[str]:
        """What is still there when whoever has told its end has had time to be gone: it needs a moment."""
        seen: list[str] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(self.liveness()):
                while seen := await look():
                    await asyncio.sleep(_LOOK_PERIOD)
        return seen

    async def left(self) -> list[str]:
        """What nobody has cleaned up: temporary files, and processes of commands."""
        files = [f"temporary file {path}" for path in self.house.project.rglob(".holdfast-*")]
        running = await asyncio.to_thread(self.commands)
        return files + [f"process {process.pid}: {process}" for process in running]

    async def locks(self) -> list[str]:
        """Advisory locks that the workers of this trial have not given back, although they are gone."""
        held = await self.house.database.rows(_LOCKS) if self.workers else []
        return [f"advisory lock of the database's process {row['pid']}" for row in held]

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
    named = {DEFAULT: scripts} if isinstance(scripts, Script) else scripts
    played = {**named, neighbour.NAME: neighbour.script(directory / neighbour.NAME)}
    async with house(settings, endpoints, temporal, WireRouter({}), played, directory) as built:
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


def _rests(run: DescribeWorkflowExecutionResponse) -> bool:
    return not run.pending_activities and not run.HasField("pending_workflow_task")


def _works_in(process: psutil.Process, *places: str) -> bool:
    """Whether a living process has to do with one of these directories: by its command line, or by where it is."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        seen = [process.cwd(), *process.cmdline()]
    except psutil.Error:  # gone meanwhile, or somebody else's
        return False
    return any(text.startswith(places) for text in seen)
