"""A compaction as OpenCode's messages: that it was asked for, and what told the model to go on (opencode.md 5.3)."""

from typing import Any, NamedTuple

from worker.opencode import shapes
from worker.opencode.exported_shapes import ExportedMessage, UserInfo
from worker.opencode.shapes import PromptPartShape, TimesShape
from workflows.domain.ids import MessageId, PartId, SessionId, shifted_message_id
from workflows.domain.messages import AssistantMessage
from workflows.domain.views.messages import MessageDetails, SummaryDetails


class Position(NamedTuple):
    """Among a session's messages: in a step, prompts and compactions for which it waits come by their ids, then its
    answer (`part` 1)."""

    number: int
    step: int = 0
    part: int = 0
    id: str = ""


def position(summary: SummaryDetails) -> Position:
    return Position(summary.number, summary.step, 0, summary.id)


def position_of_message(details: MessageDetails) -> Position:
    message = details.message
    return Position(details.number, message.step, int(isinstance(message, AssistantMessage)), message.id)


def request(session: SessionId, summary: SummaryDetails, tail: MessageId | None) -> ExportedMessage:
    """`tail`: the first message that is sent besides the summary."""
    part: dict[str, Any] = {"type": "compaction", "auto": not summary.asked}
    if not summary.media:
        part["overflow"] = True
    if tail is not None:
        part["tail_start_id"] = tail
    return _message(session, summary, shifted_message_id(summary.id, -1), shapes.milliseconds(summary.begun_at), part)


def continuation(session: SessionId, summary: SummaryDetails, text: str) -> ExportedMessage:
    part = {"type": "text", "synthetic": True, "text": text, "metadata": {"compaction_continue": True}}
    return _message(session, summary, shifted_message_id(summary.id, 1), shapes.milliseconds(summary.at), part)


def _message(
    session: SessionId, summary: SummaryDetails, id: MessageId, created: int, part: dict[str, Any]
) -> ExportedMessage:
    info = UserInfo(
        id=id,
        session_id=session,
        time=TimesShape(created=created),
        agent=summary.agent,
        model=shapes.model_shape(summary.model),
    )
    shape = PromptPartShape(id=PartId(f"prt_{id[4:]}"), session_id=session, message_id=id, **part)
    return ExportedMessage(info=info, parts=(shape,))
