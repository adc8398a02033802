"""What runs, by one small file: cheap enough for every command."""

from worker.settings import Settings
from worker.stack import state
from worker.stack.layout import Layout
from worker.stack.state import Endpoints, Part, Phase
from workflows.domain.value import Value


class PartStatus(Value):
    """One part of the stack as a person wants to see it; `pid` is None while it does not run."""

    name: str
    pid: int | None
    serving: bool
    exits: int
    trouble: str | None


class ServerStatus(Value):
    """An external server as it is seen from here; `workers` ask a Temporal for the tasks of our host."""

    name: str
    address: str
    version: str | None = None
    workers: int | None = None
    trouble: str | None = None
    risk: str | None = None


class HostStatus(Value):
    """A host that workers or sessions have named; `sessions` have work there, and wait where nobody is `working`."""

    name: str
    working: bool
    sessions: int


class StackStatus(Value):
    """The stack as it is now. `stopped` says that somebody wanted it down; else it may be brought up again.

    `servers` are the external ones, and `hosts` those of their workers, where somebody has looked at them.
    """

    serving: bool
    stopped: bool
    supervisor: int | None = None
    endpoints: Endpoints | None = None
    parts: tuple[PartStatus, ...] = ()
    servers: tuple[ServerStatus, ...] = ()
    hosts: tuple[HostStatus, ...] = ()


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
    seen = state.read(Layout(home=settings.home).state)
    if seen is None:
        return StackStatus(serving=False, stopped=False)
    return StackStatus(
        serving=seen.serving,
        stopped=seen.phase is Phase.DOWN,
        supervisor=seen.supervisor.pid if seen.alive else None,
        endpoints=seen.endpoints if seen.serving else None,
        parts=tuple(_part(part) for part in sorted(seen.parts, key=lambda part: part.name)),
    )


def _part(part: Part) -> PartStatus:
    pid = part.process.pid if part.process is not None and part.process.alive else None
    return PartStatus(
        name=part.name, pid=pid, serving=part.serving and pid is not None, exits=part.exits, trouble=part.trouble
    )
