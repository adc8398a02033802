"""Our errors. Those below HoldfastError are for people and models; the others are always caught by their callers.

A class that a library requires as its base stands with the library's user; tests/test_architecture.py lists them.
"""

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from workflows.domain.provider_failure import ProviderFailure


class HoldfastError(Exception):
    """Root of our errors."""


class UsageError(HoldfastError):
    """What a person typed or wrote is wrong; says where and what to do."""


class ConfigError(UsageError):
    """A configuration file is wrong: file, line, field."""


class UnknownAgent(UsageError):
    """An agent cannot work here: `problem` is a sentence, `available` the names to choose from."""

    def __init__(self, problem: str, available: Iterable[str]) -> None:
        self.available = sorted(available)
        super().__init__(f"{problem} Available agents: {', '.join(self.available) or 'none'}.")


class EngineTaken(UsageError):
    """Workers of another Temporal run the sessions of this database."""

    def __init__(self, ours: str, other: str, address: str | None, silent_seconds: float) -> None:
        where = "" if address is None else f" from {address}"
        super().__init__(
            f"This database's sessions are run by another Temporal, {other}: {silent_seconds:.0f} s ago there was a "
            f"worker of it{where}. With {ours} as well each would run twice. Name that one by TEMPORAL_ADDRESS here, "
            "too, or another database in HOLDFAST_POSTGRES_URL. When its workers have gone for good, the database is "
            "free 15 s later."
        )


class HostTaken(UsageError):
    """Workers of another data directory, with other files, have this host's name."""

    def __init__(self, host: str, address: str | None, silent_seconds: float) -> None:
        where = "" if address is None else f" at {address}"
        super().__init__(
            f"Host {host!r} is another machine's: {silent_seconds:.0f} s ago a worker{where} had that name and another "
            "data directory. Sessions of that host would be worked on by either, and their files are there. Give this "
            "machine a name of its own by HOLDFAST_HOST, or have both share the work trees and HOLDFAST_HOME. When "
            "that worker has gone for good, the name is free 15 s later."
        )


class DamagedArchive(UsageError):
    """A file that is no archive, or was changed."""

    def __init__(self, path: PurePath, why: str) -> None:
        super().__init__(f"{str(path)!r} is no whole archive of Holdfast: {why}. Look for another copy of it.")


class NotFound(HoldfastError):
    """There is no such session, ask, turn or grant."""


class Conflict(HoldfastError):
    """It exists, but not in the state that the request needs."""


class _CallEnded(Exception):
    """`metadata` of the call is for people, `changes` are `messages.SessionChange`."""

    def __init__(self, message: str, metadata: Mapping[str, Any] | None = None, changes: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.metadata = dict(metadata or {})
        self.changes = changes


class ToolError(_CallEnded, HoldfastError):
    """A call failed; the model reads the message, nothing is retried."""


class FetchError(HoldfastError):
    """An address on the net was not fetched: why, as the end of a sentence."""


class ModelError(HoldfastError):
    """A model could not be asked, or did not finish its answer."""

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


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


class SchemaMissing(Unavailable):
    """The database lacks tables that this Holdfast needs."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "The database does not have the tables that this Holdfast needs. A worker of the same release makes them "
            f"when it starts; `holdfast doctor` compares the two. (PostgreSQL: {why})"
        )


class Unreachable(Unavailable):
    """PostgreSQL does not answer, or refuses the login; `without_advice`: for pages with their own advice."""

    def __init__(self, why: str) -> None:
        super().__init__(f"PostgreSQL cannot be reached (`holdfast doctor` says what to do): {why}")
        self.without_advice = f"PostgreSQL cannot be reached: {why}"


class ReadOnly(Unavailable):
    """PostgreSQL takes no writes: it is a replica, or a primary that a failover has replaced."""

    def __init__(self, why: str) -> None:
        super().__init__(f"PostgreSQL is read-only just now, as in a failover: try again in a while. (It says: {why})")


class VersionConflict(Exception):
    """A row is no longer as it was last seen: decide again."""


class ReloadDue(Exception):
    """The rows have to be loaded again first: ends a move of a turn, and is no failure."""


class UnknownBehaviour(Exception):
    """Fails the workflow's task, not the workflow: a worker of the release that has begun it goes on."""

    def __init__(self, behaviour: int, known: Iterable[int]) -> None:
        super().__init__(
            f"A newer release works here: this run has behaviour {behaviour}, and this worker knows {sorted(known)}. "
            "It leaves the run to a newer worker."
        )


class CallStopped(_CallEnded):
    """What worked for a call was stopped."""


class OutcomeUnknown(Exception):
    """It cannot be known whether a call's effect happened; the message says what is known."""


class CheckFailed(Exception):
    """A call could not be checked; the message says why."""


class WorkBudgetExceeded(Exception):
    """A command takes too much work to check: ask about it."""


class UndecodableWord(Exception):
    """The message says which piece of a command is not understood."""


class TreeTooLarge(Exception):
    """A tree, or git's index of it, has too many entries to check; the message says which."""


class UnreadableIndex(ValueError):
    """git's index is too large, broken or of an unknown kind."""
