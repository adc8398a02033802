"""The life of a tool call."""

from typing import Literal

from workflows.domain.ids import AskId, GrantId, MessageId, PartId, TurnConfigId, TurnId
from workflows.domain.value import Value


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
    """The call needs a new decision: its effect has changed. `by_answer`: calls before it in its answer may have done
    that."""

    type: Literal["call.drifted"] = "call.drifted"
    call: PartId
    before: str | None = None
    digest: str | None = None
    by_answer: bool = False

    @property
    def by_others(self) -> bool:
        return not self.by_answer and self.before is not None


class RecordedDecision(Value):
    """The rule, grant or answer that allowed one request; or the prompt that has asked for the call itself."""

    permission: str
    by: Literal["rule", "grant", "answer", "prompt"]
    rule: int | None = None
    grant: GrantId | None = None
    ask: AskId | None = None
    prompt: MessageId | None = None
    author: str | None = None


class CallClaimed(Value):
    """The decision, recorded before the effect."""

    type: Literal["call.claimed"] = "call.claimed"
    call: PartId
    fence: tuple[int, int, int, int]
    digest: str | None = None
    turn_config: TurnConfigId
    decisions: tuple[RecordedDecision, ...] = ()
    recovered: bool = False


class CallFinished(Value):
    type: Literal["call.finished"] = "call.finished"
    call: PartId
    state: str
    seal: str
    digest: str | None = None


class WriteRefused(Value):
    """A write of a stale attempt (zombie) was refused."""

    type: Literal["write.refused"] = "write.refused"
    target: str
    fence: tuple[int, int, int, int]
