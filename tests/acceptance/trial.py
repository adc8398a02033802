"""A trial: worker processes, clients and effects on a harness's servers, and a verdict on the result."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final

import psutil
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
from tests.polling import WAIT_TIMEOUT, attempts, slowness
from worker.client import Holdfast
from worker.scripted.script import DEFAULT_SCRIPT, Script
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from workflows.domain.ids import AskId, SessionId, workflow_id
from workflows.domain.messages import ToolPart
from workflows.domain.views.sessions import Overview

_LISTING_INTERVAL: Final = 0.2  # seconds between two listings of all sessions
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
    reported: bool = False

    @property
    def recording_client(self) -> RecordingClient:
        return RecordingClient(self.harness.client, self.ledger)

    async def start_session(
        self, text: str, recording_client: RecordingClient | None = None, subtask: str | None = None
    ) -> SessionId:
        """Start a session."""
        return await (recording_client or self.recording_client).start(
            self.harness.project, text, self.effects.programs, subtask=subtask
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

    async def replace(self, worker: WorkerProcess) -> None:
        """Wait until a failpoint has killed a worker, and start another."""
        await worker.killed()
        await self.worker()

    async def played(self, text: str) -> SessionId:
        """A session whose first turn a worker has carried out."""
        await self.worker()
        session = await self.start_session(text)
        await self.harness.ended(session)
        return session

    async def asked(self, bash: Any = "ask", faults: str = "", **ways: str) -> tuple[SessionId, AskId]:
        """A session with a worker that waits for the answer to its ask; edits ask, and commands by the rules `bash`."""
        self.harness.configure(permission={"bash": bash, "edit": "ask"})
        await self.worker(faults, **ways)
        session = await self.start_session("Run it.")
        (ask,) = await self.harness.wait_for_asks(session)
        return session, ask

    async def ended_call(self, session: SessionId) -> ToolPart:
        """The one call of a session, after the end of its first turn."""
        await self.harness.ended(session)
        (call,) = await self.harness.calls(session)
        return call

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
        async for _ in attempts(patience, _LISTING_INTERVAL):
            if wanted(await self.harness.client.sessions.get(session)):
                return

    async def retrying(self, session: SessionId) -> None:
        """Wait until the engine has scheduled a failed activity's retry, or the run waits out a long pause itself."""
        async for _ in attempts():
            run = (await self.harness.workflow(session).describe()).raw_description
            waits = not run.pending_activities and not run.HasField("pending_workflow_task")
            if waits or any(each.attempt > 1 for each in run.pending_activities):
                return

    async def quiet(self, session: SessionId) -> None:
        """Wait until the engine has nothing of the session under way, although its run is open."""
        async for _ in attempts():
            run = (await self.harness.workflow(session).describe()).raw_description
            if not run.pending_activities and not run.HasField("pending_workflow_task"):
                return

    async def assert_no_violations(self) -> None:
        """Fail with all violations."""
        found = await self.verdict()
        assert not found, "\n".join(map(str, found))

    async def verdict(self) -> list[Violation]:
        """The violated invariants."""
        return violations(await self.records())

    async def records(self) -> TrialRecords:
        """Wait for everything that must end, stop the workers, and collect the records."""
        beside = [(session, await self.alone(session)) for session in self.bystanders]
        overviews = await self.wait_for_pickup()
        resting = [each for each in overviews if not each.working]
        awake = [f"open run of {each.id}" for each in resting if not await self.asleep(each.id)]
        served = any(not worker.ended for worker in self.workers)
        await self.stop_workers()
        left = [*await self.remaining(), *awake]
        sessions = {each.id: await self.session_records(each.id, each in resting) for each in overviews}
        return TrialRecords(
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
        with suppress(TimeoutError):
            async for _ in attempts(self.liveness(), _LISTING_INTERVAL):
                overviews = await self.harness.client.sessions.list_recent()
                if not any(each.working and each.turn_state != "open" for each in overviews):
                    break
        return overviews

    def liveness(self) -> float:
        """Seconds within which due work must go on, on this machine."""
        return (self.harness.settings.heartbeat_seconds + LIVENESS.total_seconds()) * slowness()

    async def asleep(self, session: SessionId) -> bool:
        """Wait for the end of an idle run; whether it comes."""
        with suppress(WorkflowFailureError):  # terminated or cancelled by the test
            try:
                async with asyncio.timeout(WAIT_TIMEOUT):
                    await self.harness.workflow(session).result()
            except TimeoutError:
                return False
        return True

    async def session_records(self, session: SessionId, resting: bool) -> SessionRecords:
        client = self.harness.client
        return SessionRecords(
            session=session,
            log=[seen.record async for seen in client.records.log(session)],
            verified=await client.records.verify(session),
            transcript=await client.records.transcript(session),
            runs=await workflow_histories.runs(self.harness.temporal, workflow_id(session)),
            resting=resting,
        )

    async def remaining(self) -> list[str]:
        """What should be gone, and is still there a moment after its end was reported."""
        with suppress(TimeoutError):
            async for _ in attempts(self.liveness(), _LISTING_INTERVAL):
                left = [f"temporary file {path}" for path in self.harness.project.rglob(".holdfast-*")]
                left += [f"process {each.pid}: {each}" for each in await asyncio.to_thread(self.commands)]
                held = await self.harness.database.rows(_LOCKS) if self.workers else []
                left += [f"advisory lock of the database's process {row['pid']}" for row in held]
                if not left:
                    break
        return left

    def commands(self) -> list[psutil.Process]:
        """Running supervisors of commands, processes in the project, and effects."""
        places = (self.harness.project, self.harness.settings.home / "calls", self.effects.programs)
        return [process for process in psutil.process_iter() if _works_in(process, *map(str, places))]

    async def stop_workers(self) -> None:
        for worker in self.workers:
            await worker.end()

    async def report(self) -> None:
        """Print, and write into the directory, what helps to find the cause of a failure: once."""
        if self.reported:
            return
        self.reported = True
        sent = (*self.ledger.prompts, *self.ledger.answers, *self.ledger.stops)
        (self.directory / "client.txt").write_text("\n".join(map(repr, sent)))
        requests = [entry.model_dump_json() for entry in self.harness.model.ledger.entries]
        (self.directory / "model.jsonl").write_text("\n".join(requests))
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
    """A trial without a worker; none of its processes outlives it, and a failure is reported while its servers run."""
    named = {DEFAULT_SCRIPT: scripts} if isinstance(scripts, Script) else scripts
    played = {**named, bystander.NAME: bystander.script(directory / bystander.NAME)}
    async with harness(settings, endpoints, temporal, WireRouter({}), played, directory) as built:
        built.settings = built.settings.model_copy(update={"idle_seconds": 0.5, **changed})
        built.use_settings(built.settings)
        opened = Trial(built, directory, fork_server, EffectLedger(directory))
        try:
            yield opened
        except (Exception, asyncio.CancelledError):
            await opened.report()
            raise
        finally:
            await opened.clients.aclose()
            await opened.stop_workers()
            for process in opened.commands():
                process.kill()


def _works_in(process: psutil.Process, *places: str) -> bool:
    """Whether a living process uses one of these directories: in its command line, or as its own."""
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        seen = [process.cwd(), *process.cmdline()]
    except psutil.Error:  # gone meanwhile, or somebody else's
        return False
    return any(text.startswith(places) for text in seen)
