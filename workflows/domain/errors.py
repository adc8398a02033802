"""Our errors; some need the types of the modules that define them.

HoldfastError
├── UsageError
│   ├── ConfigError
│   ├── UnknownAgent
│   ├── EngineTaken       activities.store.engines
│   ├── HostTaken         activities.store.hosts
│   ├── DamagedArchive    activities.archive.archive_file
│   └── HomeUnusable      worker.stack.home
├── NotFound
├── Conflict
├── ToolError
├── ModelError            activities.model.failures
├── StaleFence
│   └── UnknownEpoch
├── DatabaseNewer
├── DatabaseOlder
├── DatabaseForeign
└── Unavailable
    ├── SchemaMissing     activities.store.outages
    ├── Unreachable       activities.store.outages
    └── ReadOnly          activities.store.outages

Not of the family, because their package or a library always catches them:
TreeTooLarge, UndecodableWord, WorkBudgetExceeded, UnreadableIndex (activities.shell.analysis), CheckFailed
(activities.calls.planner), OutcomeUnknown, CallStopped (activities.tools.tool), VersionConflict
(activities.store.outages), GivenUp (activities.fault_limit: Temporal), ProviderPause (activities.model.retry_budget:
Temporal), ReloadDue (workflows.runtime), UnknownBehaviour (workflows.domain.behaviour: Temporal), UnsafeMember
(worker.tar_extraction: tarfile).
"""

from collections.abc import Iterable, Mapping
from typing import Any


class HoldfastError(Exception):
    """Root of our errors."""


class UsageError(HoldfastError):
    """What a person typed or wrote is wrong; says where and what to do."""


class ConfigError(UsageError):
    """A configuration file is wrong: file, line, field."""


class UnknownAgent(UsageError):
    """An agent cannot work here: `problem` is a sentence, `available` the names to choose from."""

    def __init__(self, problem: str, available: Iterable[str]) -> None:
        super().__init__(f"{problem} Available agents: {', '.join(sorted(available)) or 'none'}.")


class NotFound(HoldfastError):
    """There is no such session, ask, turn or grant."""


class Conflict(HoldfastError):
    """It exists, but not in the state that the request needs."""


class ToolError(HoldfastError):
    """A call failed; the model reads the message, nothing is retried. `metadata` is for people, `changes` are
    `messages.SessionChange`."""

    def __init__(self, message: str, metadata: Mapping[str, Any] | None = None, changes: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.metadata = dict(metadata or {})
        self.changes = changes


class StaleFence(HoldfastError):
    """A higher fence, a later epoch, or the turn's end has overtaken the caller: it must touch nothing more."""


class UnknownEpoch(StaleFence):
    """PostgreSQL has not given out the caller's epoch: forged, or of a database since restored."""


class DatabaseNewer(HoldfastError):
    """A newer Holdfast has migrated the database."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The database is at migration {found}, this Holdfast knows migrations up to {known}. "
            "Run the newer Holdfast, or restore a backup made before the upgrade."
        )


class DatabaseOlder(HoldfastError):
    """The database lacks migrations that this Holdfast needs."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The database is at migration {found}, this Holdfast needs {known}: prepare it first, by "
            "`python -P -m worker.prepare` or `holdfast up --restart-worker`."
        )


class DatabaseForeign(HoldfastError):
    """A migration of the database differs from ours of that number."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"The database was made by another Holdfast than this one: its migration {number} is a different one, as "
            "happens between releases. It is left as it is. Go on with the Holdfast that made it, or name another "
            "directory in HOLDFAST_HOME (a server of your own: another database in HOLDFAST_POSTGRES_URL)."
        )


class Unavailable(HoldfastError):
    """The database, the engine or the stack cannot be reached now."""
