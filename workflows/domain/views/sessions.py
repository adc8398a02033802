"""Sessions as doors list them."""

from datetime import datetime

from workflows.domain.close_reason import CloseReason
from workflows.domain.config.sources import ConfigSources
from workflows.domain.file_changes import ChangedFiles
from workflows.domain.ids import GenerationId, MessageId, PartId, ScheduleId, SessionId, SuspensionId, TurnId
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.provider_failure import FinalFailure
from workflows.domain.suspension import SuspendCause
from workflows.domain.usage import Cost, Tokens
from workflows.domain.value import Value
from workflows.domain.waits import WaitSubject


class ArchiveLocation(Value):
    """The file with the rows, and its SHA-256."""

    file: str
    sha256: str
    at: datetime

    def __str__(self) -> str:
        return f"lies in {self.file!r} since {self.at:%Y-%m-%d}: `holdfast restore {self.file}` brings it back"


class ProviderBackoff(Value):
    """A provider has failed for the `attempt`th time; the next request is at `until`."""

    attempt: int
    kind: str
    message: str | None
    until: datetime


class OpenWait(Value):
    """A call that waits on purpose. `until`: its moment, or the latest one; None: without an end."""

    call: PartId
    subject: WaitSubject
    until: datetime | None


class Suspension(SuspendCause):
    id: SuspensionId


class Overview(Value):
    """A session for listings.

    `waiting`: its untaken prompts; `untaken`: all its untaken work. `background`: its tasks whose results will wake it;
    `held`: results that wait for its next turn.
    `depth`: levels below the listed session.
    `host_offline`: its host has no live worker. `default_title`: OpenCode's, as long as `title` is only the first
    prompt's first line. `schedule`: that has started it.
    """

    id: SessionId
    parent: SessionId | None
    depth: int
    host: str | None
    host_offline: bool
    directory: str
    title: str
    default_title: str | None
    agent: str
    model: str | None
    status: str
    seq: int
    stuck: str | None
    created_at: datetime
    updated_at: datetime
    turn: TurnId | None
    number: int | None
    step: int | None
    turn_state: str | None
    reason: str | None
    error: str | None
    asks: int
    waiting: int
    untaken: int
    pause: ProviderBackoff | None
    suspension: Suspension | None
    waits: tuple[OpenWait, ...] = ()
    archive: ArchiveLocation | None = None
    schedule: ScheduleId | None = None
    deleted_messages: int = 0
    background: int = 0
    held: int = 0

    @property
    def working(self) -> bool:
        """Whether it works, or will without a person: a task in the background wakes it."""
        return self.turn_state == "open" or self.untaken > 0 or self.background > 0


class Project(Value):
    """A work tree, or a directory outside of any. `id`: None where only its host can find it; work trees of one
    repository share it. `sessions` are those that people started."""

    id: str | None
    worktree: str
    vcs: str | None
    host: str | None
    sessions: int
    created_at: datetime
    updated_at: datetime


class SessionOrigin(Value):
    """What its turns are configured from. `agent`: its last turn's; `model` and `variant` were named for that which it
    `began_as`. `ancestors`: how many sessions are above it; `sources`: the topmost one's."""

    agent: str
    began_as: str
    model: str | None
    variant: str | None = None
    rules: Ruleset = ()
    ancestors: int = 0
    sources: ConfigSources | None = None


class Totals(Value):
    """Sums over answers: tokens as the provider counted them, and their cost. `changes`: of files, by calls."""

    steps: int
    tokens: Tokens
    cost: Cost
    changes: ChangedFiles = ChangedFiles()


class UnfinishedTurn(Value):
    """A turn that ended before its work was done at a `step`; `error` is for people, `failure` of the provider."""

    id: TurnId
    number: int
    agent: str
    model: str
    step: int
    reason: CloseReason
    error: str | None
    failure: FinalFailure | None
    opened_at: datetime
    ended_at: datetime


class ChangeSummary(Value):
    """What a model says that a session has changed. `number`: of its newest turn when a person asked for it; `prompt`:
    the newest one then.
    `text` is read apart."""

    generation: GenerationId
    number: int
    prompt: MessageId | None
    text: str = ""


class Verification(Value):
    """The verification of a session's hash chain; `problem` names the first bad event."""

    session: SessionId
    events: int
    head: str
    problem: str | None = None


class LeftProcess(Value):
    """`command`: the beginning, in one line."""

    session: SessionId
    call: PartId
    pid: int
    command: str
