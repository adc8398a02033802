"""The text of a turn's answer, which may have been given in pieces."""

from collections.abc import Iterable, Sequence

from workflows.domain.messages import FINAL_ANSWER, AssistantMessage, Message, TextPart


def answer_text(messages: Sequence[Message]) -> str:
    """The text of the newest answer, with the cut ones that it continues."""
    pieces: list[list[str]] = []
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) and (not pieces or message.is_cut):
            pieces.insert(0, texts_of(message.parts))
        elif pieces:
            break
    return join_pieces(pieces)


def texts_of(parts: Iterable[object]) -> list[str]:
    """An answer's texts; where its model says which are its final answer, that as one text."""
    texts = [part for part in parts if isinstance(part, TextPart)]
    final = [part.text for part in texts if part.phase == FINAL_ANSWER]
    return ["\n\n".join(final)] if final else [part.text for part in texts]


def join_pieces(pieces: Sequence[Sequence[str]]) -> str:
    """Join the last text of the first answer with all texts of the answers that continue it."""
    return "".join((*(pieces[0][-1:] if pieces else ()), *(text for texts in pieces[1:] for text in texts)))
