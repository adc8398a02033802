"""The life of a turn, and its retry after a failure."""

from typing import Literal

from workflows.domain.ids import NoteId, RetryId, TurnConfigId, TurnId
from workflows.domain.value import Value


class TurnOpened(Value):
    """A turn began: for a prompt, or for a `retry` where the failed turn left off. `accepted_by`: the person by whom
    the files of the project count as the user's own, by the `trust_record` with this number."""

    type: Literal["turn.opened"] = "turn.opened"
    turn: TurnId
    number: int
    turn_config: TurnConfigId
    agent: str
    model: str
    variant: str | None = None
    retry: RetryId | None = None
    trust_record: int | None = None
    accepted_by: str | None = None
    accepted_at: str | None = None


class ConfigurationChanged(Value):
    """A turn works by another configuration than the turn before: `note` names the fields."""

    type: Literal["configuration.changed"] = "configuration.changed"
    turn: TurnId
    before: TurnConfigId
    after: TurnConfigId
    note: NoteId
    seal: str


class TurnModelChanged(Value):
    """From now on another model answers. `note`: why the one before cannot; None: a person has named it."""

    type: Literal["turn.model_changed"] = "turn.model_changed"
    turn: TurnId
    model: str
    note: NoteId | None = None
    seal: str | None = None


class TurnEnded(Value):
    """`note` is its error."""

    type: Literal["turn.ended"] = "turn.ended"
    turn: TurnId
    reason: str
    note: NoteId | None = None
    seal: str | None = None


class RetryAccepted(Value):
    """A person retries a failed turn under the agent that its work named, perhaps with another model."""

    type: Literal["retry.accepted"] = "retry.accepted"
    retry: RetryId
    turn: TurnId
    model: str | None = None
    variant: str | None = None
    agent: str | None = None


class RetryWithdrawn(Value):
    type: Literal["retry.withdrawn"] = "retry.withdrawn"
    retry: RetryId
    reason: str
