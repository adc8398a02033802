"""The worker process: runs sessions until it is told to stop, then lets them finish or hands them over."""

import asyncio
import gc
import logging
import os
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

import uvloop
from temporalio.client import Client

from activities import failpoints
from activities.model.litellm_environment import isolate
from activities.model.wires.router import WireRouter
from activities.model.wires.silence import Silence
from activities.redact import Redactor
from activities.stopping import StopWatch
from activities.store import engines, hosts, migrate, server
from activities.store.database import Database
from activities.tools.planner.planner import planning
from worker import release
from worker.assemble import worker
from worker.bells import Bells, queue
from worker.chores import beside
from worker.connect import connect, engine, retain
from worker.leaving import leave
from worker.machine import machine
from worker.notifier import Notifier
from worker.observing import Observing
from worker.presence import Claim, Presence
from worker.redacting import redactor
from worker.release import Release
from worker.ringer import Ringer
from worker.settings import Settings, process_environment
from worker.stack import processes, state
from worker.stack.layout import Layout
from worker.stack.state import WorkerNote
from worker.stack.status import endpoints
from worker.sweeper import Sweeper
from worker.upkeep import Upkeep
from workflows.domain.errors import HoldfastError, Unavailable

_LOG: Final = logging.getLogger("holdfast.worker")
_YOUNG: Final = 50_000  # objects that are made before Python looks for cycles among them, where 700 are its default


async def serve(settings: Settings) -> None:
    """Work until SIGTERM or SIGINT; running activities get `drain_seconds` to finish."""
    places = endpoints(settings)
    if places is None:
        raise Unavailable("The stack is not running: start it with `holdfast up`.")
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stopping.set)
    if settings.postgres_url is not None:
        await _trusted(settings, settings.postgres_url)
    observing = Observing(settings)
    client = await connect(settings, places, runtime=observing.runtime, interceptors=observing.interceptors)
    await _retain(settings, client)
    async with Database(places.postgres_url, size=settings.database_connections) as database:
        presence = Presence(await _claims(settings, client, database), settings.alive_file)
        await presence.claim()
        silence = Silence(
            headers=settings.headers_seconds, first=settings.first_token_seconds, between=settings.silence_seconds
        )
        model = WireRouter(process_environment(), silence=silence, redactor=redactor(settings))
        ringer, stops = Bells(database, client, settings), StopWatch(database)
        chores = (
            Ringer(database, ringer).run(),
            Sweeper(database, client, ringer).run(),
            stops.run(),
            Upkeep(database, settings.home, settings.archive_after, settings.host).run(),
            presence.run(stopping),
            observing.run(database),
            Notifier(database, settings, redactor(settings)).run(),
            _warm(model),
        )
        async with beside(*chores), planning() as planner, worker(settings, client, database, model, stops, planner):
            _LOG.info("working on %r, pid %d", queue(settings.task_queue, settings.host), os.getpid())
            await stopping.wait()
    await observing.close()
    if presence.taken is not None:
        raise presence.taken


async def _claims(settings: Settings, client: Client, database: Database) -> list[Claim]:
    """What nobody else may have: a host, no other data directory; an external database, no other engine."""
    claims: list[Claim] = []
    if settings.host is not None:
        claims.append(partial(hosts.seen, database, settings.host, machine(settings.home)))
    if settings.postgres_url is not None:
        claims.append(partial(engines.seen, database, await engine(client)))
    return claims


async def _warm(model: WireRouter) -> None:
    """Import the library, seconds in which nothing waits for it yet, and never look for garbage among it again.

    The 300,000 objects that are there then live as long as the process.
    """
    await model.warm()
    gc.freeze()
    gc.set_threshold(_YOUNG)


class WithoutSecrets(logging.Formatter):
    """Formats a worker's log: tracebacks and messages of libraries may quote what no log may hold."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self.redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self.redactor.text(super().format(record))


def keep_log(settings: Settings) -> None:
    """Log to standard error, which the supervisor of the stack keeps in a file."""
    handler = logging.StreamHandler()
    handler.setFormatter(WithoutSecrets(redactor(settings)))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


async def _retain(settings: Settings, client: Client) -> None:
    """Tell our own engine how long it keeps finished runs; that it does not take it keeps nobody from working."""
    if settings.external_temporal is None:
        try:
            await retain(client, settings.retention_days)
        except Unavailable as error:
            _LOG.warning("%s", error)


async def _trusted(settings: Settings, url: str) -> None:
    """Refuse an external database that another release has migrated, or that may lose what it has acknowledged; where
    the latter is wanted, say so loudly."""
    found = await server.require(url, lossy=settings.lossy_database)
    if found.lossy:
        _LOG.warning("%s %s", server.address(url), server.risk(found))
    await migrate.require(url)


def introduce(settings: Settings, known: Release) -> None:
    """Note who works here: whoever looks compares it with what is installed."""
    file = Layout(home=settings.home).worker
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    note = WorkerNote(
        process=processes.me(),
        release=known,
        variables=tuple(name for name, value in settings.environment.items() if value),
        temporary=Path(tempfile.gettempdir()),
        managed=settings.managed_config,
        settings=settings.digests(),
    )
    state.write(file, note)
    _LOG.info("holdfast %s, pid %d", known, os.getpid())


def main() -> None:
    """Run as `python -P -m worker.serve`."""
    known = release.mine()
    if "--version" in sys.argv[1:]:
        print(f"holdfast {known}")
        return
    code = 0
    try:
        settings = Settings.read()
        keep_log(settings)
        introduce(settings, known)
        failpoints.configure(settings.environment)
        isolate(process_environment())  # now, for there are no threads yet
        # not asyncio.run, which at its end waits for the thread that may still be importing litellm
        uvloop.new_event_loop().run_until_complete(serve(settings))
    except HoldfastError as error:
        print(f"holdfast worker: {error}", file=sys.stderr)
        code = 3
    leave(code)


if __name__ == "__main__":
    main()
