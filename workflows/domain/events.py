"""What may be seen to happen to a session, in order: the Event union.

Every event enters the hash chain; it holds ids, decisions and digests. Large or personal content is named by a
salted hash (`seal`), and stands in a table of its own.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from workflows.domain.actor import Actor as Actor
from workflows.domain.ids import (
    AskId,
    GrantId,
    MessageId,
    NoteId,
    ParkId,
    PartId,
    RetryId,
    SessionId,
    SnapshotId,
    StopId,
    TurnId,
)
from workflows.domain.parking import ParkReason
from workflows.domain.usage import Tokens
from workflows.domain.value import Value


class SessionCreated(Value):
    """A session was made, by a person, or by a call of its `parent`.

    `sources` is the digest of where its configuration is looked for.
    """

    type: Literal["session.created"] = "session.created"
    directory: str
    agent: str
    model: str | None = None
    parent: SessionId | None = None
    sources: str | None = None


class SessionConfigured(Value):
    """From its next turn on the session's configuration is looked for elsewhere; what these `variables` say is new."""

    type: Literal["session.configured"] = "session.configured"
    variables: tuple[str, ...]
    sources: str


class SessionEnded(Value):
    type: Literal["session.ended"] = "session.ended"
    reason: str


class SessionParked(Value):
    """The session goes on only when a person says so: what was, and what is now."""

    type: Literal["session.parked"] = "session.parked"
    park: ParkId
    reason: ParkReason
    was: str | None = None
    now: str | None = None


class SessionUnparked(Value):
    """A person has let the session go on (`resumed`), or has stopped or ended it."""

    type: Literal["session.unparked"] = "session.unparked"
    park: ParkId
    resumed: bool


class PromptAccepted(Value):
    """A prompt was accepted, from a person, or from a `call` of the session's parent."""

    type: Literal["prompt.accepted"] = "prompt.accepted"
    prompt: MessageId
    mode: str
    seal: str
    call: PartId | None = None


class PromptTaken(Value):
    type: Literal["prompt.taken"] = "prompt.taken"
    prompt: MessageId
    turn: TurnId
    step: int


class PromptWithdrawn(Value):
    type: Literal["prompt.withdrawn"] = "prompt.withdrawn"
    prompt: MessageId
    reason: str


class TurnOpened(Value):
    """A turn has begun: for a prompt that it takes, or for a `retry`, where the failed turn has left off."""

    type: Literal["turn.opened"] = "turn.opened"
    turn: TurnId
    number: int
    snapshot: SnapshotId
    agent: str
    model: str
    retry: RetryId | None = None


class TurnEnded(Value):
    """A turn has ended; `note` names the words of what went wrong."""

    type: Literal["turn.ended"] = "turn.ended"
    turn: TurnId
    reason: str
    note: NoteId | None = None
    seal: str | None = None


class RetryAccepted(Value):
    """A failed turn is to be taken up again, perhaps with another model."""

    type: Literal["retry.accepted"] = "retry.accepted"
    retry: RetryId
    turn: TurnId
    model: str | None = None


class RetryWithdrawn(Value):
    type: Literal["retry.withdrawn"] = "retry.withdrawn"
    retry: RetryId
    reason: str


class ModelRetry(Value):
    """A provider failed, in the words of `note`; the next request is due at `next_at` (RFC 3339)."""

    type: Literal["model.retry"] = "model.retry"
    turn: TurnId
    step: int
    attempt: int
    kind: str
    note: NoteId
    seal: str
    next_at: str


class PartSeal(Value):
    part: PartId
    kind: str
    seal: str


class MessageCompleted(Value):
    """A model's answer was stored; `cost` is a decimal string in US dollars, None where it is not known."""

    type: Literal["message.completed"] = "message.completed"
    message: MessageId
    turn: TurnId
    step: int
    finish: str
    tokens: Tokens
    cost: str | None
    parts: tuple[PartSeal, ...] = ()


class CallPrepared(Value):
    type: Literal["call.prepared"] = "call.prepared"
    call: PartId
    turn: TurnId
    step: int
    tool: str
    recovery: str
    seal: str
    digest: str | None = None


class CallDrifted(Value):
    """What the call would do has changed since it was decided; the decision does not hold for the new effect."""

    type: Literal["call.drifted"] = "call.drifted"
    call: PartId
    before: str | None = None
    digest: str | None = None


class Decision(Value):
    """Why one permission request was allowed: the rule, grant or answer that decided it."""

    permission: str
    by: Literal["rule", "grant", "answer"]
    rule: int | None = None
    grant: GrantId | None = None
    ask: AskId | None = None
    author: str | None = None


class CallClaimed(Value):
    """The decision, recorded before the effect."""

    type: Literal["call.claimed"] = "call.claimed"
    call: PartId
    fence: tuple[int, int, int]
    digest: str | None = None
    snapshot: SnapshotId
    decisions: tuple[Decision, ...] = ()
    recovered: bool = False


class CallFinished(Value):
    type: Literal["call.finished"] = "call.finished"
    call: PartId
    state: str
    seal: str
    digest: str | None = None


class TaskStarted(Value):
    """A subagent was given a prompt; the call ends when it has answered."""

    type: Literal["task.started"] = "task.started"
    call: PartId
    child: SessionId
    prompt: MessageId
    agent: str


class TaskSettled(Value):
    """What a subagent's session had come to when its call was settled: the hash of its event `seq`."""

    type: Literal["task.settled"] = "task.settled"
    call: PartId
    child: SessionId
    seq: int
    head: str


class WriteRefused(Value):
    """A stale attempt (zombie) wanted to write, and was refused."""

    type: Literal["write.refused"] = "write.refused"
    what: str
    fence: tuple[int, int, int]


class AskRaised(Value):
    type: Literal["ask.raised"] = "ask.raised"
    ask: AskId
    call: PartId
    permission: str
    digest: str


class AskAnswered(Value):
    type: Literal["ask.answered"] = "ask.answered"
    ask: AskId
    call: PartId
    reply: str
    digest: str
    by_grant: GrantId | None = None
    feedback_seal: str | None = None


class AskClosed(Value):
    type: Literal["ask.closed"] = "ask.closed"
    ask: AskId
    call: PartId
    reason: str


class AskReopened(Value):
    """The ask's row said that it was answered, and the log has no such answer: it waits for one again."""

    type: Literal["ask.reopened"] = "ask.reopened"
    ask: AskId
    call: PartId


class AnswerRefused(Value):
    type: Literal["answer.refused"] = "answer.refused"
    ask: AskId
    reply: str
    reason: str


class AnswerNotRun(Value):
    """An answer was accepted, but its turn was stopped before the call could run."""

    type: Literal["answer.not_run"] = "answer.not_run"
    ask: AskId
    call: PartId


class BellWithoutAnswer(Value):
    """A bell said that an ask was answered, and its row says that it was not."""

    type: Literal["bell.without_answer"] = "bell.without_answer"
    call: PartId


class GrantMade(Value):
    type: Literal["grant.made"] = "grant.made"
    grant: GrantId
    ask: AskId
    scope: str
    permission: str
    patterns: tuple[str, ...]


class GrantRevoked(Value):
    type: Literal["grant.revoked"] = "grant.revoked"
    grant: GrantId


class StopAccepted(Value):
    type: Literal["stop.accepted"] = "stop.accepted"
    stop: StopId
    turn: TurnId | None = None


Event: TypeAlias = Annotated[
    SessionCreated
    | SessionConfigured
    | SessionEnded
    | SessionParked
    | SessionUnparked
    | PromptAccepted
    | PromptTaken
    | PromptWithdrawn
    | TurnOpened
    | TurnEnded
    | RetryAccepted
    | RetryWithdrawn
    | ModelRetry
    | MessageCompleted
    | CallPrepared
    | CallDrifted
    | CallClaimed
    | CallFinished
    | TaskStarted
    | TaskSettled
    | WriteRefused
    | AskRaised
    | AskAnswered
    | AskClosed
    | AskReopened
    | AnswerRefused
    | AnswerNotRun
    | BellWithoutAnswer
    | GrantMade
    | GrantRevoked
    | StopAccepted,
    Field(discriminator="type"),
]


class Record(Value):
    """One row of the log, as it was hashed: the event, its place in the session's chain, when and by whom."""

    session: SessionId
    seq: int
    at: str
    actor: Actor
    event: Event


RECORDS: TypeAdapter[Record] = TypeAdapter(Record)
