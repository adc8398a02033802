"""Checks what prevents a working stack, with remedies."""

import asyncio
import shlex
import shutil
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import packages_distributions
from typing import Final

from activities.credentials.keys import Keys
from activities.model.providers import PROVIDERS
from activities.store import pg_server
from worker.settings import Settings
from worker.stack import cluster, database_checks, external_servers, home, ports
from worker.stack.binaries import postgres, temporal
from worker.stack.database_checks import DatabaseCheck
from worker.stack.diagnosis import ISOLATION_REMEDY, NOT_ISOLATED, CheckResult, Diagnosis, Level
from worker.stack.layout import Layout
from worker.stack.state_file import Endpoints, PartName
from worker.stack.status import ServerStatus, endpoints, external_endpoints, outdated_processes, status
from worker.stack.temporal import TemporalFiles
from workflows.domain.errors import HoldfastError, Unavailable

_PACKAGES: Final = ("activities", "prompts", "worker", "workflows")
_DISTRIBUTION: Final = "holdfast"
_GIB: Final = 2**30
_SCARCE: Final = 2 * _GIB  # bytes
_POLLER_GRACE: Final = 10.0  # seconds for a running worker's first poll
_POLL_INTERVAL: Final = 0.5  # seconds
_FULL: Final = _GIB // 4  # bytes; both servers stop at zero


Check = Callable[[Settings], Awaitable[Diagnosis]]


async def run_checks(settings: Settings) -> list[CheckResult]:
    """Run all checks concurrently; one that cannot run fails with its reason."""
    return list(await asyncio.gather(*(_run_check(name, check, settings) for name, check in _CHECKS.items())))


async def _run_check(name: str, check: Check, settings: Settings) -> CheckResult:
    try:
        level, message, remedy = await check(settings)
    except HoldfastError as error:  # whose message holds the remedy
        level, message, remedy = Level.FAILURE, str(error), ""
    except OSError as error:
        level, message, remedy = Level.FAILURE, str(error), "Check that what it names exists, and is yours."
    return CheckResult(check=name, level=level, message=message, remedy=remedy)


async def _packages(settings: Settings) -> Diagnosis:
    owners = packages_distributions()
    strangers = {owner for name in _PACKAGES for owner in owners.get(name, [])} - {_DISTRIBUTION}
    if not strangers:
        return Level.OK, "only Holdfast owns its packages", ""
    return (
        Level.FAILURE,
        f"other distributions install packages of the same names: {', '.join(sorted(strangers))}",
        "Install Holdfast into an environment of its own, with `make install` or `uv tool install`.",
    )


async def _postgres(settings: Settings) -> Diagnosis:
    if settings.postgres_url is not None:
        seen = await external_servers.postgres_status(settings.postgres_url)
        risky = Level.WARNING if settings.lossy_database else Level.FAILURE
        return _external(seen, _CONNECT_REMEDY, risky, pg_server.REMEDY)
    found = await postgres.find(settings, cluster.data_version(cluster.root_of(settings)))
    if (served := endpoints(settings)) is not None:
        seen = await external_servers.postgres_status(served.postgres_url)
        if seen.trouble is not None:
            return Level.FAILURE, seen.trouble, _RESTART_REMEDY.format(name="postgres")
    return Level.OK, f"PostgreSQL {found.major} in {found.directory}", ""


async def _temporal(settings: Settings) -> Diagnosis:
    if settings.external_temporal is not None:
        seen = await external_servers.temporal_status(settings, settings.external_temporal)
        remedy = "Check that it runs, or correct TEMPORAL_ADDRESS and its companions."
        return _external(seen, remedy, Level.WARNING, _UPGRADE_REMEDY)
    found = await temporal.find(settings, TemporalFiles(home=settings.home).version())
    if (served := endpoints(settings)) is not None:
        seen = await external_servers.temporal_status(settings, served.temporal_address)
        if seen.trouble is not None:
            return Level.FAILURE, seen.trouble, _RESTART_REMEDY.format(name="temporal")
    return Level.OK, f"server {found.version} in {found.path}", ""


def _external(found: ServerStatus, trouble_remedy: str, risky: Level, risk_remedy: str) -> Diagnosis:
    if found.trouble is not None:
        return Level.FAILURE, found.trouble, trouble_remedy
    message = f"an external server, {found.version} at {found.address}"
    return (risky, f"{message}: it {found.risk}", risk_remedy) if found.risk else (Level.OK, message, "")


async def _disk(settings: Settings) -> Diagnosis:
    """The fullest disk that we write to: root's database is outside of its home."""
    directories = [settings.home] if settings.postgres_url is not None else [settings.home, cluster.root_of(settings)]
    usages = [(shutil.disk_usage(home.nearest_existing(each)), each) for each in directories]
    free, place = min(((usage.free, each) for usage, each in usages if usage.total), default=(_SCARCE, settings.home))
    message = f"{free / _GIB:.1f} GB are free for {place}"
    if free < _SCARCE:
        return Level.FAILURE if free < _FULL else Level.WARNING, message, _SPACE_REMEDY.format(place=place)
    if home.home_problem(settings.home) is not None:  # /proc, for one, is on no disk
        return Level.WARNING, "cannot be seen: the home cannot be used", "See what is said of home."
    return Level.OK, message, ""


async def _home(settings: Settings) -> Diagnosis:
    if (why := home.home_problem(settings.home)) is not None:
        return Level.FAILURE, f"{settings.home} cannot be used: {why}", home.REMEDY
    if settings.home.exists() and settings.home.stat().st_mode & 0o022:
        remedy = f"`chmod 700 {shlex.quote(str(settings.home))}`: they could replace keys, addresses and outputs."
        return Level.WARNING, f"other users of this machine may write to {settings.home}", remedy
    return Level.OK, f"{settings.home} can be written to", ""


async def _stack(settings: Settings) -> Diagnosis:
    seen = status(settings)
    restarting = [f"{part.name}: {part.trouble}" for part in seen.parts if part.pid is None and part.trouble]
    if seen.serving and not restarting:
        return Level.OK, f"serves, supervised by process {seen.supervisor}", ""
    if external_endpoints(settings) is not None and not settings.worker:
        return Level.OK, "nothing is to be run here: the servers and the workers are elsewhere", ""
    if seen.serving:
        return Level.FAILURE, f"restarts {', '.join(restarting)}", "See `holdfast logs`."
    if seen.supervisor is None and seen.parts and not seen.stopped:
        return Level.WARNING, "does not run: its supervisor has died", "`holdfast up` brings it back, nothing is lost."
    return Level.WARNING, "does not run", "`holdfast up` starts it."


async def _versions(settings: Settings) -> Diagnosis:
    seen = status(settings)
    if notices := outdated_processes(seen):
        found, _, remedy = notices[0].partition(": ")
        return Level.WARNING, found, remedy
    return Level.OK, f"Holdfast {seen.release}, here and in what runs", ""


async def _ports(settings: Settings) -> Diagnosis:
    chosen = ports.load(Layout(home=settings.home).ports)
    if chosen is None or settings.external_temporal is not None or status(settings).supervisor is not None:
        return Level.OK, f"Temporal on {chosen.temporal}, its pages on {chosen.ui}" if chosen else "none needed yet", ""
    taken = [str(port) for port in (chosen.temporal, chosen.ui) if not ports.is_free(port)]
    if not taken:
        return Level.OK, f"{chosen.temporal} and {chosen.ui} are free", ""
    return (
        Level.WARNING,
        f"other programs listen on {', '.join(taken)}",
        "Nothing to do: the next start chooses new ones.",
    )


def _of_database(check: DatabaseCheck, silent: Level = Level.WARNING) -> Check:
    async def checked(settings: Settings) -> Diagnosis:
        served = endpoints(settings)
        url = settings.postgres_url or (served.postgres_url if served else None)
        if url is None:
            return _STACK_DOWN
        try:
            return await check(settings, url)
        except Unavailable:  # or tables are missing
            return silent, "cannot be seen: PostgreSQL does not answer", "See what is said of postgres."

    return checked


async def _poller(settings: Settings) -> Diagnosis:
    if (served := endpoints(settings)) is None:
        return _STACK_DOWN
    found = await _await_pollers(settings, served)
    if found.trouble is not None:
        return Level.FAILURE, "cannot be seen: Temporal does not answer", "See what is said of temporal."
    known = await external_servers.host_statuses(settings)
    scope = repr(settings.task_queue) if settings.host is None else f"host {settings.host!r}"
    if any(host.taken for host in known):
        return Level.FAILURE, f"{scope} is another machine's, whose worker takes what is begun here", _RENAME_REMEDY
    if found.workers:
        return Level.OK, f"{found.workers} worker{'s' * (found.workers != 1)} of {scope}", ""
    await external_servers.require_own_engine(settings, served)
    if others := [host.name for host in known if host.working]:
        return Level.WARNING, f"no worker of {scope}, only of {', '.join(others)}", _OTHER_HOST_REMEDY
    here = "`holdfast up` starts one; see `holdfast logs`."
    there = "Start one where the work trees are: `python -P -m worker.serve`."
    return Level.FAILURE, f"no worker of {scope}", here if settings.worker else there


async def _await_pollers(settings: Settings, served: Endpoints) -> ServerStatus:
    ours = any(part.name == PartName.WORKER and part.pid is not None for part in status(settings).parts)
    until = time.monotonic() + (_POLLER_GRACE if ours else 0)
    while True:
        found = await external_servers.temporal_status(settings, served.temporal_address)
        if found.workers or found.trouble is not None or time.monotonic() > until:
            return found
        await asyncio.sleep(_POLL_INTERVAL)


async def _key(settings: Settings) -> Diagnosis:
    stored = set(Keys(settings.auth).list())
    given = {provider.id for provider in PROVIDERS.values() if any(map(settings.environment.get, provider.variables))}
    if stored | given:
        return Level.OK, f"a key for {', '.join(sorted(stored | given))}", ""
    return (
        Level.WARNING,
        "no key of a known model provider is here",
        "`holdfast auth login` keeps one, or set a variable like ANTHROPIC_API_KEY before `holdfast up`.",
    )


_CONNECT_REMEDY: Final = "Check that it runs and accepts your login, or correct HOLDFAST_POSTGRES_URL."
_UPGRADE_REMEDY: Final = "Upgrade it, one minor version at a time; docs/deploy.md has the way."
_SPACE_REMEDY: Final = (
    "Free some space on the disk of {place}: `holdfast status` says what takes room, `holdfast archive` moves "
    "a session out of the database."
)
_OTHER_HOST_REMEDY: Final = (
    "What is started here waits: start a worker here, or name the host that shares these files by HOLDFAST_HOST."
)
_RENAME_REMEDY: Final = (
    "Give this machine a name of its own by HOLDFAST_HOST, or have both share the work trees and HOLDFAST_HOME; then "
    "`holdfast down` and `holdfast up`."
)
_RESTART_REMEDY: Final = (
    "`holdfast logs {name}` may say why; `holdfast down`, then `holdfast up` restarts it; nothing is lost."
)
_STACK_DOWN: Final = (Level.WARNING, "cannot be seen while the stack does not run", "`holdfast up` starts it.")


async def _isolation(settings: Settings) -> Diagnosis:
    return Level.WARNING, NOT_ISOLATED, ISOLATION_REMEDY


_CHECKS: Final[dict[str, Check]] = {
    "packages": _packages,
    "postgres": _postgres,
    "temporal": _temporal,
    "home": _home,
    "disk": _disk,
    "ports": _ports,
    "stack": _stack,
    "versions": _versions,
    "migrations": _of_database(database_checks.check_schema, Level.FAILURE),
    "clock": _of_database(database_checks.check_clock),
    "callers": _of_database(database_checks.check_callers),
    "worker": _poller,
    "repairs": _of_database(database_checks.check_repairs),
    "schedules": _of_database(database_checks.check_schedules),
    "model key": _key,
    "isolation": _isolation,
}
