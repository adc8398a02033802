"""The life of an ask and of its answers. Without a `call`, a turn asks at the limit of its budget."""

from typing import Literal

from workflows.domain.ids import AskId, GrantId, PartId
from workflows.domain.value import Value


class AskRaised(Value):
    type: Literal["ask.raised"] = "ask.raised"
    ask: AskId
    call: PartId | None
    permissions: tuple[str, ...]
    digest: str


class AskAnswered(Value):
    """`by_grant`: the first of the grants that cover it together; its claim names the one of each request."""

    type: Literal["ask.answered"] = "ask.answered"
    ask: AskId
    call: PartId | None
    reply: str
    digest: str
    by_grant: GrantId | None = None
    feedback_seal: str | None = None
    answers_seal: str | None = None


class AskClosed(Value):
    type: Literal["ask.closed"] = "ask.closed"
    ask: AskId
    call: PartId | None
    reason: str


class AskReopened(Value):
    """The ask's row had an answer that the log lacks: the ask waits again."""

    type: Literal["ask.reopened"] = "ask.reopened"
    ask: AskId
    call: PartId | None


class AnswerRefused(Value):
    type: Literal["answer.refused"] = "answer.refused"
    ask: AskId
    reply: str
    reason: str


class AnswerNotRun(Value):
    """Its turn stopped before the answered call could run."""

    type: Literal["answer.not_run"] = "answer.not_run"
    ask: AskId
    call: PartId | None


class SignalWithoutAnswer(Value):
    """A signal reported an answer that the ask's row lacks."""

    type: Literal["signal.without_answer"] = "signal.without_answer"
    call: PartId
