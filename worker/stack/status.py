"""What runs, by one small file: cheap enough for every command."""

from worker import release
from worker.release import Release
from worker.settings import Settings
from worker.stack import state
from worker.stack.layout import Layout
from worker.stack.state import Endpoints, Part, PartName, Phase, WorkerNote
from workflows.domain.value import Value


class PartStatus(Value):
    """One part of the stack as a person wants to see it; `pid` is None while it does not run."""

    name: str
    pid: int | None
    serving: bool
    exits: int
    trouble: str | None
    release: Release | None = None


class Sizes(Value):
    """Bytes; `postgres` is None while the database does not answer, `temporal` where it is a server elsewhere."""

    postgres: int | None
    temporal: int | None
    outputs: int
    archives: int
    logs: int


class Kept(Value):
    """For how many days; None is for ever, where nothing else is said."""

    sessions: float | None
    outputs: float
    runs: float | None  # of Temporal; None: an external one decides that itself


class ServerStatus(Value):
    """An external server as it is seen from here; `workers` ask a Temporal for the tasks of our host."""

    name: str
    address: str
    version: str | None = None
    workers: int | None = None
    trouble: str | None = None
    risk: str | None = None


class HostStatus(Value):
    """A host that workers or sessions have named; `sessions` have work there, and wait where nobody is `working`.

    `taken`: it has the name of this machine's, and is another's.
    """

    name: str
    working: bool
    sessions: int
    taken: bool = False


class StackStatus(Value):
    """The stack as it is now. `stopped` says that somebody wanted it down; else it may be brought up again, unless
    there is `trouble` with its home.

    `servers` are the external ones, and `hosts` those of their workers, where somebody has looked at them; `sizes` and
    `kept` are there when somebody has measured. `release` is that of the command which looks, `supervisor_release` may
    be another one.
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
    sizes: Sizes | None = None
    kept: Kept | None = None


def external(settings: Settings) -> Endpoints | None:
    """The addresses of external servers, if both are named: then there is no server to run here."""
    if settings.postgres_url is None or settings.external_temporal is None:
        return None
    return Endpoints(postgres_url=settings.postgres_url, temporal_address=settings.external_temporal)


def endpoints(settings: Settings) -> Endpoints | None:
    """The addresses of the servers: of the external ones, else of the stack if it serves."""
    if (named := external(settings)) is not None:
        return named
    seen = state.read(Layout(home=settings.home).state)
    return seen.endpoints if seen is not None and seen.serving else None


def status(settings: Settings) -> StackStatus:
    """What runs of the stack, and where."""
    layout = Layout(home=settings.home)
    seen = state.read(layout.state)
    trouble = _trouble(settings) if seen is None or not seen.alive else None
    if seen is None:
        return StackStatus(serving=False, stopped=False, release=release.mine(), trouble=trouble)
    worker = state.noted(layout.worker)
    return StackStatus(
        serving=seen.serving,
        stopped=seen.phase is Phase.DOWN,
        release=release.mine(),
        trouble=trouble,
        supervisor_release=seen.release if seen.alive else None,
        supervisor=seen.supervisor.pid if seen.alive else None,
        endpoints=seen.endpoints if seen.serving else None,
        parts=tuple(_part(part, worker) for part in sorted(seen.parts, key=lambda part: part.name)),
    )


def _trouble(settings: Settings) -> str | None:
    from worker.stack import home  # which most commands do without

    why = home.trouble(settings.home)
    return None if why is None else str(home.Unusable(settings.home, why))


def outdated(seen: StackStatus) -> list[str]:
    """What is said of processes that another Holdfast has started than the one which looks: each with the way out."""
    return _differing(seen.release, _release(seen, PartName.WORKER), seen.supervisor_release)


def noticed(settings: Settings) -> list[str]:
    """The same for a command that does something else, and what `unapplied` says.

    It needs no whole status, and shall start quickly.
    """
    layout = Layout(home=settings.home)
    seen, worker = state.read(layout.state), state.noted(layout.worker)
    if seen is None or not seen.serving:
        return []
    part = seen.part(PartName.WORKER)
    ours = worker is not None and part is not None and worker.process == part.process
    known = worker.release if worker is not None and ours else None
    return [*_differing(release.mine(), known, seen.release), *unapplied(settings)]


def unapplied(settings: Settings) -> list[str]:
    """What is said of settings that this shell names and the running worker does not go by."""
    worker = state.noted(Layout(home=settings.home).worker)
    known, here = worker.settings if worker is not None else {}, settings.digests()
    names = [name for name in here if settings.environment.get(name) and known.get(name, here[name]) != here[name]]
    if not names:
        return []
    return [
        f"The running stack was started with other settings than this shell's {', '.join(sorted(names))}: "
        "`holdfast down` and `holdfast up` apply them, and sessions go on."
    ]


def _differing(mine: Release, worker: Release | None, supervisor: Release | None) -> list[str]:
    said = []
    if worker not in (None, mine):
        said.append(
            f"The worker runs Holdfast {worker}, this command is {mine}: "
            "`holdfast up --restart-worker` starts it anew, and sessions go on."
        )
    if supervisor not in (None, mine):
        said.append(
            f"The stack's supervisor is Holdfast {supervisor}, this command is {mine}: "
            "`holdfast down` and `holdfast up` replace it, and sessions go on."
        )
    return said


def _release(seen: StackStatus, name: PartName) -> Release | None:
    return next((part.release for part in seen.parts if part.name == name), None)


def _part(part: Part, worker: WorkerNote | None) -> PartStatus:
    pid = part.process.pid if part.process is not None and part.process.alive else None
    return PartStatus(
        name=part.name,
        pid=pid,
        serving=part.serving and pid is not None,
        exits=part.exits,
        trouble=part.trouble,
        release=worker.release if worker is not None and worker.process == part.process else None,
    )
