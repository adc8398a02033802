"""The text of a turn's answer, which may have been given in pieces."""

from collections.abc import Sequence

from workflows.domain.messages import AssistantMessage, Message, TextPart


def answer_text(messages: Sequence[Message]) -> str:
    """The text of the newest answer, with the cut ones that it continues."""
    pieces: list[list[str]] = []
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) and (not pieces or message.is_cut):
            pieces.insert(0, [part.text for part in message.parts if isinstance(part, TextPart)])
        elif pieces:
            break
    return join_pieces(pieces)


def join_pieces(pieces: Sequence[Sequence[str]]) -> str:
    """Join the last text of the first answer with all texts of the answers that continue it."""
    return "".join((*(pieces[0][-1:] if pieces else ()), *(text for texts in pieces[1:] for text in texts)))
