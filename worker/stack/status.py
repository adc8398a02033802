"""The stack's status, from one small file for every command."""

from collections.abc import Callable

from worker import release
from worker.release import Release
from worker.settings import Settings
from worker.stack import home, state_file
from worker.stack.layout import Layout
from worker.stack.state_file import Endpoints, PartName, StackPart, StackPhase, StackState, WorkerNote
from workflows.domain.errors import NothingYet, Unavailable, UsageError
from workflows.domain.value import Value
from workflows.domain.views.sessions import LeftProcess


class PartStatus(Value):
    """`pid` is None while the part does not run."""

    name: str
    pid: int | None
    serving: bool
    exits: int
    trouble: str | None
    release: Release | None = None


class StackSizes(Value):
    """Bytes; `postgres` is None if it does not answer, `temporal` if external."""

    postgres: int | None
    temporal: int | None
    outputs: int
    archives: int
    logs: int


class Retention(Value):
    """Days; None is for ever, unless noted."""

    sessions: float | None
    outputs: float
    runs: float | None  # Temporal's; None: an external one decides


class ServerStatus(Value):
    """An external server seen from here; `workers` poll Temporal for our host."""

    name: str
    address: str
    version: str | None = None
    workers: int | None = None
    trouble: str | None = None
    risk: str | None = None


class HostStatus(Value):
    """`sessions` wait unless `working`; `taken`: another machine has our host name."""

    name: str
    working: bool
    sessions: int
    taken: bool = False


class StackStatus(Value):
    """`stopped`: on purpose; else it may be started, unless its home has `trouble`.

    `servers` and `hosts`: the external ones; they, `sizes`, `retention`, `stuck` and `left_running` are set only if
    measured. `stuck`: how many sessions cannot go on.
    """

    serving: bool
    stopped: bool
    release: Release
    trouble: str | None = None
    supervisor_release: Release | None = None
    supervisor: int | None = None
    endpoints: Endpoints | None = None
    parts: tuple[PartStatus, ...] = ()
    servers: tuple[ServerStatus, ...] = ()
    hosts: tuple[HostStatus, ...] = ()
    sizes: StackSizes | None = None
    retention: Retention | None = None
    stuck: int | None = None
    left_running: tuple[LeftProcess, ...] = ()


def external_endpoints(settings: Settings) -> Endpoints | None:
    """The external servers, if both are: then none runs here."""
    if settings.postgres_url is None or settings.external_temporal is None:
        return None
    addresses = {"postgres_url": settings.postgres_url, "pooler_url": settings.postgres_pooler_url}
    return Endpoints(**addresses, temporal_address=settings.external_temporal)


def endpoints(settings: Settings) -> Endpoints | None:
    """The external servers, or the stack's if it serves."""
    if (named := external_endpoints(settings)) is not None:
        return named
    seen = state_file.read(Layout(home=settings.home).state)
    return seen.endpoints if seen is not None and seen.serving else None


def ready_endpoints(settings: Settings, report: Callable[[str], None], *, worker: bool = True) -> Endpoints | None:
    """If nothing has to be started. Raises UsageError as `require_same_servers`."""
    worker = worker and settings.worker
    if not worker and (named := external_endpoints(settings)) is not None:
        return named
    seen = state_file.read(Layout(home=settings.home).state)
    if seen is None or not (seen.works if worker else seen.serving):
        return None
    for notice in unapplied_settings(settings):
        report(notice)
    return require_same_servers(settings, seen)


def require_stack(settings: Settings) -> None:
    """That a stack serves, or is to be brought back: its processes have died, nobody has stopped it.

    Raises NothingYet where none was ever started, Unavailable where it is stopped, UsageError for an unusable home.
    """
    if external_endpoints(settings) is not None:
        return
    seen = state_file.read(Layout(home=settings.home).state)
    if seen is not None and seen.phase in (StackPhase.STARTING, StackPhase.SERVING):
        return
    if seen is None and settings.postgres_url is None:
        from worker.stack import cluster, owned_files  # a running stack's commands do without

        if not owned_files.holds_cluster(cluster.root_of(settings)):
            if trouble := _trouble(settings):
                raise UsageError(trouble)
            raise NothingYet
    raise Unavailable("The stack is down: `holdfast up` starts it.")


def require_same_servers(settings: Settings, seen: StackState) -> Endpoints:
    own = {part.name for part in seen.parts}
    postgres = None if PartName.POSTGRES in own else seen.endpoints.postgres_url
    temporal = None if PartName.TEMPORAL in own else seen.endpoints.temporal_address
    if (postgres, temporal) == (settings.postgres_url, settings.external_temporal):
        return seen.endpoints
    raise UsageError(
        "The stack was started with other servers than HOLDFAST_POSTGRES_URL and TEMPORAL_ADDRESS name now: "
        "`holdfast down` stops it, then try again."
    )


def status(settings: Settings) -> StackStatus:
    layout = Layout(home=settings.home)
    seen = state_file.read(layout.state)
    trouble = _trouble(settings) if seen is None or not seen.alive else None
    if seen is None:
        return StackStatus(serving=False, stopped=False, release=release.installed_release(), trouble=trouble)
    worker = state_file.read_worker_note(layout.worker)
    return StackStatus(
        serving=seen.serving,
        stopped=seen.phase is StackPhase.DOWN,
        release=release.installed_release(),
        trouble=trouble,
        supervisor_release=seen.release if seen.alive else None,
        supervisor=seen.supervisor.pid if seen.alive else None,
        endpoints=seen.endpoints if seen.serving else None,
        parts=tuple(_part(part, worker) for part in sorted(seen.parts, key=lambda part: part.name)),
    )


def _trouble(settings: Settings) -> str | None:
    why = home.home_problem(settings.home)
    return None if why is None else str(home.home_unusable(settings.home, why))


def outdated_processes(seen: StackStatus) -> list[str]:
    """Messages, with remedies, on processes of another release."""
    mine, worker = seen.release, next((part.release for part in seen.parts if part.name == PartName.WORKER), None)
    notices = []
    if worker not in (None, mine):
        notices.append(
            f"The worker runs Holdfast {worker}, this command is {mine}: "
            "`holdfast up --restart-worker` starts it anew, and sessions go on."
        )
    if seen.supervisor_release not in (None, mine):
        notices.append(
            f"The stack's supervisor is Holdfast {seen.supervisor_release}, this command is {mine}: "
            "`holdfast down` and `holdfast up` replace it, and sessions go on."
        )
    return notices


def stack_notices(settings: Settings) -> list[str]:
    """Where a serving stack differs from this shell's."""
    seen = state_file.read(Layout(home=settings.home).state)
    if seen is None or not seen.serving:
        return []
    return [*outdated_processes(status(settings)), *unapplied_settings(settings)]


def unapplied_settings(settings: Settings) -> list[str]:
    """Settings of this shell that the running worker does not use."""
    worker = state_file.read_worker_note(Layout(home=settings.home).worker)
    known, here = worker.settings if worker is not None else {}, settings.digests()
    names = [name for name in here if settings.environment.get(name) and known.get(name, here[name]) != here[name]]
    if not names:
        return []
    return [
        f"The running stack was started with other settings than this shell's {', '.join(sorted(names))}: "
        "`holdfast down` and `holdfast up` apply them, and sessions go on."
    ]


def _part(part: StackPart, worker: WorkerNote | None) -> PartStatus:
    pid = part.process.pid if part.process is not None and part.process.alive else None
    return PartStatus(
        name=part.name,
        pid=pid,
        serving=part.serving and pid is not None,
        exits=part.exits,
        trouble=part.trouble,
        release=worker.release if worker is not None and worker.process == part.process else None,
    )
