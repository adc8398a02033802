"""The worker process."""

import asyncio
import gc
import logging
import os
import signal
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import uvloop
from temporalio.client import Client

from activities import failpoints, stop_interceptor
from activities.calls.planner.planner import open_planner
from activities.credentials.keys import Keys
from activities.mcp.connections import McpConnections
from activities.model.catalogue import has_litellm_key
from activities.model.model_table import ModelTables
from activities.model.wires.litellm.litellm_names import isolate
from activities.model.wires.router import WireRouter
from activities.model.wires.timeouts import StreamTimeouts
from activities.redact import Redactor
from activities.stop_interceptor import StopInterceptor
from activities.store import engines, hosts, migrate, pg_server
from activities.store.database import Database
from worker import release
from worker.assemble import build_worker
from worker.background_tasks import every, run_in_background
from worker.connect import connect, identify_engine, set_retention
from worker.credential_handoff import CredentialEnvironment
from worker.engine_schedules import EngineSchedules
from worker.exit_process import exit_process
from worker.file_waits import FileWaits
from worker.liveness import LivenessReporter, OwnershipRenewal
from worker.machine_id import machine_id
from worker.maintenance import maintenance_jobs
from worker.notifier import Notifier
from worker.observability import Observability
from worker.outbox import CommandListener, SignalSender, queue
from worker.reconcile import Reconciler
from worker.redaction import redactor
from worker.release import Release
from worker.schedule_reconciler import ScheduleReconciler
from worker.settings import Settings, process_environment
from worker.stack import processes, state_file
from worker.stack.layout import Layout
from worker.stack.state_file import WorkerNote
from worker.stack.status import endpoints
from worker.sweeper import Sweeper
from workflows.domain.errors import HoldfastError, Unavailable, UsageError

_LOG: Final = logging.getLogger("holdfast.worker")
_GC_THRESHOLDS: Final = (10_000, 5, 5)  # for the collector of cycles: 150 steps allocate as many (Python: 700, 10, 10)


async def serve(settings: Settings) -> None:
    """Work until SIGTERM or SIGINT; then running activities get `drain_seconds`."""
    addresses = endpoints(settings)
    if addresses is None:
        raise Unavailable("The stack is not running: start it with `holdfast up`.")
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stopping.set)
    if settings.postgres_url is not None:
        await _require_usable_database(settings, settings.postgres_url)
    observability = Observability(settings)
    client = await connect(settings, addresses, runtime=observability.runtime, interceptors=observability.interceptors)
    await _apply_retention(settings, client)
    pooler, size = addresses.pooler_url, settings.database_connections
    async with Database(addresses.postgres_url, pooler=pooler, size=size) as database:
        liveness = LivenessReporter(await _ownership_renewals(settings, client, database), settings.alive_file)
        await liveness.renew()
        timeouts = StreamTimeouts(
            headers=settings.headers_seconds, first_byte=settings.first_token_seconds, idle=settings.silence_seconds
        )
        model = WireRouter(
            process_environment(),
            timeouts=timeouts,
            redactor=redactor(settings),
            tables=ModelTables(settings.models_file),
        )
        sender, stops = SignalSender(database, client, settings), StopInterceptor(database)
        if settings.external_temporal is None:  # the only worker
            await sender.forget_worker()
        reconciler = Reconciler(database, client, sender, settings.reconcile_seconds)
        engine = EngineSchedules(client, settings.task_queue)
        schedules = ScheduleReconciler(database, engine, sender, settings.reconcile_seconds)
        background_tasks = (
            CommandListener(database, sender).run(),
            Sweeper(database, sender, reconciler, schedules).run(),
            FileWaits(database, sender.send, settings.host).run(),
            every(stop_interceptor.POLL_INTERVAL, stops.cancel_stopped, _LOG),
            *(job.run() for job in maintenance_jobs(database, settings.home, settings.archive_after, settings.host)),
            liveness.run(stopping),
            observability.run(database),
            Notifier(database, settings, redactor(settings)).run(),
            _warm(model, settings),
        )
        async with (
            run_in_background(*background_tasks),
            open_planner() as planner,
            McpConnections(
                CredentialEnvironment(settings), settings.mcp_logins, redactor(settings).text
            ) as connections,
            build_worker(settings, client, database, model, stops, planner, connections),
        ):
            _LOG.info("working on %r, pid %d", queue(settings.task_queue, settings.host), os.getpid())
            await stopping.wait()
    await observability.close()
    if liveness.ownership_error is not None:
        raise liveness.ownership_error


async def _ownership_renewals(settings: Settings, client: Client, database: Database) -> list[OwnershipRenewal]:
    """One data directory per host, one engine per external database."""
    renewals: list[OwnershipRenewal] = []
    if settings.host is not None:
        renewals.append(partial(hosts.report_alive, database, settings.host, machine_id(settings.home)))
    if settings.postgres_url is not None:
        renewals.append(partial(engines.report_alive, database, await identify_engine(client)))
    return renewals


async def _warm(model: WireRouter, settings: Settings) -> None:
    """Import litellm if there is a key for it (seconds, 130 MB); exempt all objects so far from garbage collection."""
    with suppress(UsageError):  # a damaged key file: the turn that needs it reports that
        if has_litellm_key(Keys(settings.auth).list(), CredentialEnvironment(settings)):
            await model.warm()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)


class RedactingFormatter(logging.Formatter):
    """Tracebacks and libraries may quote secrets in a worker's log."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self.redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self.redactor.text(super().format(record))


def configure_logging(settings: Settings) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(RedactingFormatter(redactor(settings)))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it would log each request


async def _apply_retention(settings: Settings, client: Client) -> None:
    """For our own engine; failure does not stop the worker."""
    if settings.external_temporal is None:
        try:
            await set_retention(client, settings.retention_days)
        except Unavailable as error:
            _LOG.warning("%s", error)


async def _require_usable_database(settings: Settings, url: str) -> None:
    found = await pg_server.require_server(url, lossy=settings.lossy_database)
    if found.lossy:
        _LOG.warning("%s %s", pg_server.display_address(url), pg_server.describe_risk(found))
    await migrate.require_current(url)
    if settings.postgres_pooler_url is not None:
        await pg_server.require_pooled_settings(settings.postgres_pooler_url)


def write_worker_note(settings: Settings, installed: Release) -> None:
    """Note which release the worker is, to compare with the installed one."""
    file = Layout(home=settings.home).worker
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    note = WorkerNote(
        process=processes.current_process(),
        release=installed,
        variables=tuple(name for name, value in settings.environment.items() if value and name.isprintable()),
        temporary=Path(tempfile.gettempdir()),
        managed=settings.managed_config,
        settings=settings.digests(),
    )
    state_file.write(file, note)
    _LOG.info("holdfast %s, pid %d", installed, os.getpid())


def main() -> None:
    """Run as `python -P -m worker.serve`."""
    installed = release.installed_release()
    if "--version" in sys.argv[1:]:
        print(f"holdfast {installed}")
        return
    code = 0
    try:
        settings = Settings.read()
        configure_logging(settings)
        write_worker_note(settings, installed)
        failpoints.configure(settings.environment)
        isolate(process_environment())  # now, before threads exist
        # asyncio.run would wait for the thread that may still import litellm
        uvloop.new_event_loop().run_until_complete(serve(settings))
    except HoldfastError as error:
        print(f"holdfast worker: {error}", file=sys.stderr)
        code = 3
    exit_process(code)


if __name__ == "__main__":
    main()
