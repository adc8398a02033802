"""A trial: worker processes, clients and effects on a harness's servers, and a verdict on the result."""

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
from tests.acceptance import bystander, failure_report, workers, workflow_histories
from tests.acceptance.database_proxy import DatabaseProxy, database_proxy
from tests.acceptance.effect_ledger import EffectLedger
from tests.acceptance.invariants import LIVENESS, Violation, violations
from tests.acceptance.recording_client import ClientLedger, RecordingClient
from tests.acceptance.records import SessionRecords, TrialRecords
from tests.acceptance.workers import ForkServer, WorkerProcess
from tests.harness import ACTOR, Harness, harness, wait_for_file
from tests.polling import WAIT_TIMEOUT, slowness
from worker.api.sessions import Overview
from worker.client import Holdfast
from worker.scripted.script import DEFAULT_SCRIPT, Script
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from workflows.domain.ids import SessionId, workflow_id

_POLL_INTERVAL: Final = 0.2
_LOCKS: Final = b"""
SELECT pid FROM pg_locks JOIN pg_database d ON d.oid = database
WHERE locktype = 'advisory' AND d.datname = current_database()
"""


@dataclass
class Trial:
    """What a trial needs. `wasted`: how many model requests its faults and stops may cost. `code`: a copy of ours for
    its workers."""

    harness: Harness
    directory: Path
    fork_server: ForkServer
    effects: EffectLedger
    ledger: ClientLedger = field(default_factory=ClientLedger)
    workers: list[WorkerProcess] = field(default_factory=list)
    healed: list[datetime] = field(default_factory=list)
    clients: AsyncExitStack = field(default_factory=AsyncExitStack)
    bystanders: list[SessionId] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)
    wasted: int = 0
    code: Path | None = None

    @property
    def recording_client(self) -> RecordingClient:
        return RecordingClient(self.harness.client, self.ledger)

    async def start_session(self, text: str, recording_client: RecordingClient | None = None) -> SessionId:
        """Start a session."""
        return await (recording_client or self.recording_client).start(
            self.harness.project, text, self.effects.programs
        )

    async def worker(self, faults: str = "", **ways: str) -> WorkerProcess:
        """Start a worker process with these failpoints; `ways` are other addresses of servers."""
        endpoints = self.harness.endpoints.model_copy(update=ways)
        own = workers.environment(self.harness.settings, endpoints, self.directory, faults)
        log = self.directory / f"worker-{next(self.numbers)}.log"  # taken before a wait: two may start at once
        started = await self.fork_server.start(own, log, self.code)
        if self.workers and all(earlier.ended for earlier in self.workers):
            self.healed.append(datetime.now(UTC))
        self.workers.append(started)
        return started

    @asynccontextmanager
    async def another_person(self, name: str, **ways: str) -> AsyncIterator[RecordingClient]:
        """Another person's client; `ways` are other addresses of servers."""
        actor = ACTOR.model_copy(update={"subject": f"{name}@there"})
        endpoints = self.harness.endpoints.model_copy(update=ways)
        async with Holdfast(self.harness.settings, endpoints) as holdfast:
            client = holdfast.as_(actor)
            yield RecordingClient(client, self.ledger)

    def cut_off(self) -> AbstractAsyncContextManager[RecordingClient]:
        """A client without the engine: a sweeper delivers what it accepts."""
        return self.another_person("lonely", temporal_address="127.0.0.1:1")

    @asynccontextmanager
    async def ledger_locked(self) -> AsyncIterator[None]:
        """Block access to the ledger of calls, for at most ten seconds."""
        async with self.harness.database.transaction() as connection:
            await connection.execute("LOCK TABLE call")
            yield

    async def database_proxy(self) -> DatabaseProxy:
        """A proxy to the database that can catch commits, until the end of the trial."""
        return await self.clients.enter_async_context(database_proxy(self.harness.endpoints.postgres_url))

    async def reconnect(self) -> None:
        """Go on with a new client, as the next command would: a restart breaks connections."""
        holdfast = Holdfast(self.harness.settings, self.harness.endpoints)
        self.harness.client = (await self.clients.enter_async_context(holdfast)).as_(ACTOR)

    async def listed(
        self, session: SessionId, wanted: Callable[[Overview], bool], patience: float = WAIT_TIMEOUT
    ) -> None:
        """Wait until listings show the session so: for what has no event, or follows thousands."""
        async with asyncio.timeout(patience):
            while not wanted(await self.harness.client.sessions.get(session)):
                await asyncio.sleep(_POLL_INTERVAL)

    async def retrying(self, session: SessionId) -> None:
        """Wait until the engine has scheduled a failed activity's retry."""
        run = self.harness.temporal.get_workflow_handle(workflow_id(session))
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not any(each.attempt > 1 for each in (await run.describe()).raw_description.pending_activities):
                await asyncio.sleep(_POLL_INTERVAL)

    async def quiet(self, session: SessionId) -> None:
        """Wait until the engine has nothing of the session under way, although its run is open."""
        run = self.harness.temporal.get_workflow_handle(workflow_id(session))
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not _rests((await run.describe()).raw_description):
                await asyncio.sleep(_POLL_INTERVAL)

    async def assert_no_violations(self) -> None:
        """Fail with all violations."""
        found = await self.verdict()
        assert not found, "\n".join(f"{each.invariant}: {each.what}" for each in found)

    async def verdict(self) -> list[Violation]:
        """Wait for everything that must end, stop the workers, and judge."""
        beside = [(session, await self.alone(session)) for session in self.bystanders]
        overviews = await self.wait_for_pickup()
        resting = [each for each in overviews if not each.working]
        awake = [f"open run of {each.id}" for each in resting if not await self.asleep(each)]
        served = any(not worker.ended for worker in self.workers)
        await self.stop_workers()
        left = [*await self.remaining(self.left), *await self.remaining(self.locks), *awake]
        sessions = {each.id: await self.records(each.id, each in resting) for each in overviews}
        return violations(
            TrialRecords(
                sent=self.ledger,
                requests=self.harness.model.ledger.entries,
                effects=self.effects.lines(),
                sessions=list(sessions.values()),
                left=left,
                healed=self.healed,
                patience=timedelta(seconds=self.liveness()),
                wasted=self.wasted,
                bystanders=[(sessions[one], sessions[other]) for one, other in beside],
                served=served,
            )
        )

    async def bystander(self) -> None:
        """Start a session that no fault may affect, and wait for the middle of its answer.

        The verdict compares it with one that runs alone. It may cost a request: see `wasted`.
        """
        self.harness.file(bystander.FILE, bystander.CONTENT)
        self.bystanders.append(await self.start_session(bystander.PROMPT))
        await wait_for_file(self.directory / bystander.NAME)

    async def alone(self, beside: SessionId) -> SessionId:
        """Let a bystander end, then run another after all faults."""
        (self.directory / bystander.NAME).touch()
        await self.harness.ended(beside)
        session = await self.start_session(bystander.PROMPT)
        await self.harness.ended(session)
        return session

    async def wait_for_pickup(self) -> list[Overview]:
        """All sessions, after the time in which prompts must be taken up."""
        overviews = await self.harness.client.sessions.list_recent()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.liveness()):
                while any(each.working and each.turn_state != "open" for each in overviews):
                    await asyncio.sleep(_POLL_INTERVAL)
                    overviews = await self.harness.client.sessions.list_recent()
        return overviews

    def liveness(self) -> float:
        """Seconds within which due work must go on, on this machine."""
        return (self.harness.settings.heartbeat_seconds + LIVENESS.total_seconds()) * slowness()

    async def asleep(self, session: Overview) -> bool:
        """Wait for the end of an idle run; whether it comes."""
        run = self.harness.temporal.get_workflow_handle(workflow_id(session.id))
        with suppress(WorkflowFailureError):  # terminated or cancelled by the test
            try:
                async with asyncio.timeout(WAIT_TIMEOUT):
                    await run.result()
            except TimeoutError:
                return False
        return True

    async def records(self, session: SessionId, resting: bool) -> SessionRecords:
        client = self.harness.client
        return SessionRecords(
            session=session,
            log=[seen.record async for seen in client.records.log(session)],
            verified=await client.records.verify(session),
            transcript=await client.records.transcript(session),
            runs=await workflow_histories.runs(self.harness.temporal, workflow_id(session)),
            resting=resting,
        )

    async def remaining(self, look: Callable[[], Awaitable[list[str]]]) -> list[str]:
        """What is still there a moment after its end was reported."""
        seen: list[str] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(self.liveness()):
                while seen := await look():
                    await asyncio.sleep(_POLL_INTERVAL)
        return seen

    async def left(self) -> list[str]:
        """Leftover temporary files and processes of commands."""
        files = [f"temporary file {path}" for path in self.harness.project.rglob(".holdfast-*")]
        running = await asyncio.to_thread(self.commands)
        return files + [f"process {process.pid}: {process}" for process in running]

    async def locks(self) -> list[str]:
        """Advisory locks left by this trial's ended workers."""
        held = await self.harness.database.rows(_LOCKS) if self.workers else []
        return [f"advisory lock of the database's process {row['pid']}" for row in held]

    def commands(self) -> list[psutil.Process]:
        """Running supervisors of commands, processes in the project, and effects."""
        places = (self.harness.project, self.harness.settings.home / "calls", self.effects.programs)
        return [process for process in psutil.process_iter() if _works_in(process, *map(str, places))]

    async def stop_workers(self) -> None:
        for worker in self.workers:
            await worker.end()

    async def tell(self) -> None:
        """Print what helps to find the cause of a failure."""
        await failure_report.report_failure(
            self.harness.settings, self.harness.endpoints, self.harness.temporal, self.directory
        )
        for worker in self.workers:
            failure_report.print_log(worker.log)


@asynccontextmanager
async def trial(
    settings: Settings,
    endpoints: Endpoints,
    temporal: Client,
    scripts: Script | Mapping[str, Script],
    directory: Path,
    fork_server: ForkServer,
    **changed: Any,
) -> AsyncIterator[Trial]:
    """A trial without a worker; none of its processes outlives it."""
    named = {DEFAULT_SCRIPT: scripts} if isinstance(scripts, Script) else scripts
    played = {**named, bystander.NAME: bystander.script(directory / bystander.NAME)}
    async with harness(settings, endpoints, temporal, WireRouter({}), played, directory) as built:
        built.settings = built.settings.model_copy(update={"idle_seconds": 0.5, **changed})
        built.use_settings(built.settings)
        going_on = Trial(built, directory, fork_server, EffectLedger(directory))
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
    """Whether a living process uses one of these directories: in its command line, or as its own."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        seen = [process.cwd(), *process.cmdline()]
    except psutil.Error:  # gone meanwhile, or somebody else's
        return False
    return any(text.startswith(places) for text in seen)
