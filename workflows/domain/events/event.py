"""The union of all events, and the record of one in the log."""

from typing import Annotated, TypeAlias

from pydantic import Field, TypeAdapter

from workflows.domain.actor import Actor
from workflows.domain.events.asks import (
    AnswerNotRun,
    AnswerRefused,
    AskAnswered,
    AskClosed,
    AskRaised,
    AskReopened,
    SignalWithoutAnswer,
)
from workflows.domain.events.budgets import BudgetNearlySpent, BudgetRaised, BudgetSet, BudgetSpent, UsageEstimated
from workflows.domain.events.calls import CallClaimed, CallDrifted, CallFinished, CallPrepared, WriteRefused
from workflows.domain.events.compactions import CompactionAccepted, CompactionTaken, CompactionWithdrawn
from workflows.domain.events.copies import MessageCopied, SessionForked, SessionImported
from workflows.domain.events.generations import (
    CompactionFailed,
    ContextCompacted,
    ContextPruned,
    MessageCompleted,
    ModelRetry,
    PauseEnded,
)
from workflows.domain.events.grants import GrantMade, GrantRevoked
from workflows.domain.events.prompts import PromptAccepted, PromptShortened, PromptTaken, PromptWithdrawn
from workflows.domain.events.sessions import (
    AsideFailed,
    AsideRequested,
    CallerRefused,
    MessageDeleted,
    SessionConfigured,
    SessionCreated,
    SessionDeleted,
    SessionEnded,
    SessionRefreshed,
    SessionRestarted,
    SessionSuspended,
    SessionTitled,
    SuspensionEnded,
)
from workflows.domain.events.stops import StopAccepted
from workflows.domain.events.tasks import TaskSettled, TaskStarted
from workflows.domain.events.turns import (
    ConfigurationChanged,
    RetryAccepted,
    RetryWithdrawn,
    TurnEnded,
    TurnModelChanged,
    TurnOpened,
)
from workflows.domain.events.waits import WaitBegun, WaitEnded
from workflows.domain.ids import SessionId
from workflows.domain.value import Value

Event: TypeAlias = Annotated[
    SessionCreated
    | SessionConfigured
    | SessionTitled
    | SessionForked
    | SessionImported
    | MessageCopied
    | AsideRequested
    | AsideFailed
    | SessionEnded
    | SessionDeleted
    | MessageDeleted
    | SessionRefreshed
    | SessionRestarted
    | SessionSuspended
    | SuspensionEnded
    | CallerRefused
    | PromptAccepted
    | PromptTaken
    | PromptShortened
    | PromptWithdrawn
    | TurnOpened
    | ConfigurationChanged
    | TurnModelChanged
    | TurnEnded
    | RetryAccepted
    | RetryWithdrawn
    | CompactionAccepted
    | CompactionTaken
    | CompactionWithdrawn
    | ModelRetry
    | PauseEnded
    | MessageCompleted
    | ContextCompacted
    | ContextPruned
    | CompactionFailed
    | CallPrepared
    | CallDrifted
    | CallClaimed
    | CallFinished
    | TaskStarted
    | TaskSettled
    | WaitBegun
    | WaitEnded
    | WriteRefused
    | AskRaised
    | AskAnswered
    | AskClosed
    | AskReopened
    | AnswerRefused
    | AnswerNotRun
    | SignalWithoutAnswer
    | GrantMade
    | GrantRevoked
    | BudgetSet
    | BudgetNearlySpent
    | BudgetSpent
    | BudgetRaised
    | UsageEstimated
    | StopAccepted,
    Field(discriminator="type"),
]


class EventRecord(Value):
    """As hashed: event, position in the session's chain, time and actor."""

    session: SessionId
    seq: int
    at: str
    actor: Actor
    event: Event


EVENT_RECORD_ADAPTER: TypeAdapter[EventRecord] = TypeAdapter(EventRecord)
