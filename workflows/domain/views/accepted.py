"""What a door gets back for what it has sent, once it is committed."""

from datetime import datetime

from pydantic import Field

from workflows.domain.ids import (
    AskId,
    CompactionId,
    GenerationId,
    GrantId,
    MessageId,
    PartId,
    RetryId,
    SessionId,
    StopId,
    SuspensionId,
    TurnId,
)
from workflows.domain.permissions.grants import Grant
from workflows.domain.permissions.replies import AskState, Reply
from workflows.domain.questions import Answers, AskBody
from workflows.domain.value import Value


class AcceptedPrompt(Value):
    """`delivered`: Temporal has acknowledged the signal, else the sweeper sends it."""

    session: SessionId
    prompt: MessageId
    delivered: bool


class AcceptedRetry(Value):
    """`agent`, `model` and `variant`: named by the turn's work and the retry; `delivered` as above."""

    session: SessionId
    retry: RetryId
    failed_turn: TurnId
    agent: str | None
    model: str | None
    variant: str | None = None
    delivered: bool


class AcceptedFork(Value):
    """`messages`: how many the new session has copied."""

    session: SessionId
    title: str
    messages: int


class ImportedFile(Value):
    """`same_ids`: the session and its messages have the ids of the file."""

    session: SessionId
    title: str
    messages: int
    same_ids: bool


class DeletedSessions(Value):
    """The sessions whose contents are erased, and what has failed. `host`: another one, which has the files of their
    calls, and removes them."""

    deleted: tuple[SessionId, ...]
    failures: tuple[str, ...] = ()
    host: str | None = None


class DeletedMessage(Value):
    """A message whose contents are erased; the rest as in `DeletedSessions`."""

    session: SessionId
    message: MessageId
    failures: tuple[str, ...]
    host: str | None


class AcceptedCompaction(Value):
    session: SessionId
    compaction: CompactionId
    delivered: bool


class AcceptedAside(Value):
    """`generation`: whose answer is to name the session, or to sum up what it has changed; `delivered` as above."""

    session: SessionId
    generation: GenerationId
    delivered: bool


class AcceptedStop(Value):
    """The stopped turn (None: none was open), the withdrawn prompts, and the subagents that stop with it."""

    stop: StopId
    turn: TurnId | None
    withdrawn: tuple[MessageId, ...] = ()
    background: tuple[SessionId, ...] = ()


class AcceptedResume(Value):
    session: SessionId
    suspension: SuspensionId


class AcceptedPoke(Value):
    """`calls`: whose waits it has ended; `delivered` as above."""

    session: SessionId
    token: str
    calls: tuple[PartId, ...]
    delivered: bool


class AcceptedWake(Value):
    """`woken`: those of the session and its subagents that waited for a provider, or on purpose."""

    session: SessionId
    woken: tuple[SessionId, ...]


class SettledAsk(Value):
    """An ask and the decision that settled it."""

    id: AskId
    session: SessionId
    turn: TurnId
    call: PartId | None
    request: AskBody = Field(validation_alias="body")
    digest: str
    state: AskState
    reply: Reply | None
    feedback: str | None
    answers: Answers | None = None
    by_grant: GrantId | None
    author: str | None
    asked_at: datetime
    settled_at: datetime | None


class AcceptedAnswer(Value):
    """`asks`: all that the answer settled; `grants`: what "always" saved; `repeated`: the same decision was recorded
    before."""

    ask: SettledAsk
    asks: tuple[AskId, ...] = ()
    grants: tuple[Grant, ...] = ()
    repeated: bool = False
