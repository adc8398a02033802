"""The life of a session."""

from typing import Literal

from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, MessageId, NoteId, PartId, ScheduleId, SessionId, SuspensionId
from workflows.domain.suspension import SuspendReason
from workflows.domain.value import Value


class SessionCreated(Value):
    """A person, a call of its `parent`, or a `schedule` made a session. `sources`: digest of its `ConfigSources`."""

    type: Literal["session.created"] = "session.created"
    directory: str
    agent: str
    model: str | None = None
    variant: str | None = None
    parent: SessionId | None = None
    sources: str | None = None
    schedule: ScheduleId | None = None


class SessionConfigured(Value):
    """From the next turn on, configuration comes from other `sources`; these `variables` changed."""

    type: Literal["session.configured"] = "session.configured"
    variables: tuple[str, ...]
    sources: str


class SessionTitled(Value):
    """A person has given the title (`note`), or the answer of `generation` has."""

    type: Literal["session.titled"] = "session.titled"
    note: NoteId
    seal: str
    generation: GenerationId | None = None


class AsideRequested(Value):
    """A person wants the model to name the session, or to sum up what was changed: the answer of `generation` does."""

    type: Literal["aside.requested"] = "aside.requested"
    purpose: Purpose
    generation: GenerationId


class AsideFailed(Value):
    """No model can be asked for a title or a summary (`generation`), and no other attempt is made; `note`: why."""

    type: Literal["aside.failed"] = "aside.failed"
    generation: GenerationId
    purpose: Purpose
    note: NoteId
    seal: str


class SessionEnded(Value):
    type: Literal["session.ended"] = "session.ended"
    reason: str


class SessionDeleted(Value):
    """A person had all contents of the session erased; `top`: the session that was deleted, if this is below it."""

    type: Literal["session.deleted"] = "session.deleted"
    top: SessionId | None = None


class MessageDeleted(Value):
    """A person had the contents of a message erased, and those of its `calls`. `role`: `imported` is kept from a file,
    and seen by no model."""

    type: Literal["message.deleted"] = "message.deleted"
    message: MessageId
    role: Literal["user", "assistant", "imported"]
    calls: tuple[PartId, ...] = ()


class SessionSuspended(Value):
    """`was`: what the session had before, such as its branch; `now`: what was found instead."""

    type: Literal["session.suspended"] = "session.suspended"
    suspension: SuspensionId
    reason: SuspendReason
    was: str | None = None
    now: str | None = None


class SessionRefreshed(Value):
    """A session with work did not move: its `run`, if any, got a signal to load its rows."""

    type: Literal["session.refreshed"] = "session.refreshed"
    run: str | None
    refreshes: int


class SessionRestarted(Value):
    """A refresh did not help: its `run` was ended for another one."""

    type: Literal["session.restarted"] = "session.restarted"
    run: str | None
    restarts: int


class SuspensionEnded(Value):
    type: Literal["suspension.ended"] = "suspension.ended"
    suspension: SuspensionId
    resumed: bool


class CallerRefused(Value):
    """Activities refused to a foreign workflow, or to a run with a forged epoch: one event for each caller, and one for
    all after the first few."""

    type: Literal["caller.refused"] = "caller.refused"
    caller: str
    reason: str
    activity: str
