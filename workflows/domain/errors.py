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
    """A configuration file is wrong: names the file and the field."""


class MissingKey(UsageError):
    """A model's provider has no key here."""


class UnchosenModel(UsageError):
    """Nothing names a model: a person may choose one of `models`, if there are any."""

    def __init__(self, problem: str, models: Iterable[str]) -> None:
        self.models = tuple(models)
        super().__init__(problem)


class MisspeltModel(UsageError):
    """A model is not known, and its name resembles that of `meant`; `question` is for a person."""

    def __init__(self, model: str, meant: str) -> None:
        self.meant = meant
        self.question = f"{model!r} is not in the table of models. Did you mean {meant!r}?"
        super().__init__(f"{self.question} To have {model!r} asked all the same, add --any-model.")


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
            f"Another Temporal, {other}, runs the sessions of this database: {silent_seconds:.0f} s ago it had a "
            f"worker{where}. If {ours} ran them as well, each would run twice. Set TEMPORAL_ADDRESS to that Temporal, "
            "or HOLDFAST_POSTGRES_URL to another database. The database is free 15 s after the last of those workers "
            "has stopped."
        )


class HostTaken(UsageError):
    """Workers of another data directory, with other files, have this host's name."""

    def __init__(self, host: str, address: str | None, silent_seconds: float) -> None:
        where = "" if address is None else f" at {address}"
        super().__init__(
            f"The host name {host!r} belongs to another machine: {silent_seconds:.0f} s ago a worker{where} used it "
            "with another data directory. Both would work on the sessions of that host, whose files are there. Give "
            "this machine another name with HOLDFAST_HOST, or let both share the work trees and HOLDFAST_HOME. The "
            "name is free 15 s after that worker has stopped."
        )


class DamagedArchive(UsageError):
    """A file that is no archive, or was changed."""

    def __init__(self, path: PurePath, why: str) -> None:
        super().__init__(f"{str(path)!r} is not a complete Holdfast archive: {why}. Look for another copy.")


class NotFound(HoldfastError):
    """There is no such session, ask, turn or grant."""


class NothingYet(NotFound):
    """No stack was ever started here."""

    def __init__(self) -> None:
        super().__init__("There is no session yet: `holdfast run` starts one.")


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
    """A URL was not fetched: why, as the end of a sentence."""


class ModelError(HoldfastError):
    """A model could not be asked, or did not finish its answer."""

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class StaleFence(HoldfastError):
    """A higher fence, a later epoch, or the turn's end has overtaken the caller: it must touch nothing more."""


class UnknownEpoch(StaleFence):
    """PostgreSQL has not given out the caller's epoch: forged, or of a database since restored."""


class DatabaseBehind(StaleFence):
    """PostgreSQL was put back: the session's log ends at event `end`, and lacks the one that the caller has `seen`."""

    def __init__(self, session: str, seen: int, end: int) -> None:
        super().__init__(
            f"The database was put back behind session {session!r}: its log ends at event {end}, and lacks event "
            f"{seen}, which its run has seen."
        )
        self.seen, self.end = seen, end


class DatabaseNewer(HoldfastError):
    """A newer Holdfast has migrated the database."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The database is at migration {found}, but this Holdfast knows only those up to {known}. "
            "Run the newer Holdfast, or restore a backup made before the upgrade."
        )


class DatabaseOlder(HoldfastError):
    """The database lacks migrations that this Holdfast needs."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The database is at migration {found}, but this Holdfast needs {known}: prepare it first with "
            "`python -P -m worker.prepare` or `holdfast up --restart-worker`."
        )


class DatabaseForeign(HoldfastError):
    """A migration of the database differs from ours of that number."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"Another release of Holdfast made this database: its migration {number} differs from ours. Nothing was "
            "changed. Use the release that made it, or set HOLDFAST_HOME to another directory (with a server of your "
            "own: HOLDFAST_POSTGRES_URL to another database)."
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
        super().__init__(
            f"PostgreSQL is read-only at the moment, as during a failover: try again later. (PostgreSQL: {why})"
        )


class VersionConflict(Exception):
    """A row is no longer as it was last seen: decide again."""


class ReloadDue(Exception):
    """The rows have to be loaded again first. Ends a move of a turn; it is not a failure."""


class UnknownBehaviour(Exception):
    """Fails the workflow's task, not the workflow: a worker of the release that has begun it goes on."""

    def __init__(self, behaviour: int, known: Iterable[int]) -> None:
        super().__init__(
            f"A newer release works here: this run has behaviour {behaviour}, and this worker knows {sorted(known)}. "
            "It leaves the run to a newer worker."
        )


class CallStopped(_CallEnded):
    """The process or subagent of a call was stopped."""


class OutcomeUnknown(Exception):
    """It cannot be known whether a call's effect happened; the message says what is known."""


class ServerFailed(HoldfastError):
    """A server of tools is not connected; the message says why."""


class LoginNeeded(ServerFailed):
    """It wants a person to log in."""


class CallNotSent(HoldfastError):
    """A server of tools was not reached: the call has not run."""


class CallUnanswered(HoldfastError):
    """A call was sent to a server of tools, and nobody knows what has become of it."""


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
