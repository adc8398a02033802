"""A generation: one request for an answer of a model, with all its attempts."""

from enum import StrEnum

from workflows.domain.ids import GenerationId, MessageId, TurnId, answer_id
from workflows.domain.value import Value


class Purpose(StrEnum):
    """What an answer is for. Only a step's is a message of a turn."""

    STEP = "step"
    COMPACTION = "compaction"
    TITLE = "title"
    SUMMARY = "summary"
    AGENT = "agent"

    @property
    def delays_turn(self) -> bool:
        """Whether a turn waits for it."""
        return self in (Purpose.STEP, Purpose.COMPACTION)


class Generation(Value):
    """`turn` and `step` find a step's generation again: a later run of the workflow has minted another id."""

    id: GenerationId
    purpose: Purpose
    turn: TurnId | None = None
    step: int | None = None

    @property
    def message(self) -> MessageId:
        return answer_id(self.id)

    @property
    def subject(self) -> str:
        """Names it for counts that all runs of the workflow share."""
        return self.id if self.turn is None else f"{self.turn}/{self.step}"
