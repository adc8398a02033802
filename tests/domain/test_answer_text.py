"""The text that a turn's answer comes to."""

from datetime import UTC, datetime

import pytest

from workflows.domain.answer_text import answer_text
from workflows.domain.ids import MessageId, TurnId
from workflows.domain.messages import FINISH_LENGTH, AnswerMetadata, AssistantMessage, TextPart
from workflows.domain.usage import Tokens


def answer(*texts: tuple[str, str | None], cut: bool = False) -> AssistantMessage:
    finish = FINISH_LENGTH if cut else "stop"
    body = AnswerMetadata(finish=finish, agent="build", model="a/b", tokens=Tokens(), cost=None, bounded=True)
    parts = tuple(TextPart(text=text, phase=phase) for text, phase in texts)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return AssistantMessage(id=MessageId("msg_1"), turn=TurnId("trn_1"), step=1, body=body, at=at, parts=parts)


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ([answer(("Looking.", None), ("Done.", None))], "Done."),
        ([answer(("Looking.", "commentary"), ("Done.", "final_answer"))], "Done."),
        ([answer(("Done.", "final_answer"), ("Tidying up.", "commentary"))], "Done."),
        ([answer(("One.", "final_answer"), ("Two.", "final_answer"))], "One.\n\nTwo."),
        ([answer(("Looking.", "commentary"))], "Looking."),
        (
            [answer(("Looking.", "commentary"), ("Do", "final_answer"), cut=True), answer(("ne.", "final_answer"))],
            "Done.",
        ),
    ],
)
def test_it_is_the_final_answer_or_else_the_last_text(answers: list[AssistantMessage], text: str) -> None:
    assert answer_text(answers) == text


def test_a_text_without_a_phase_is_stored_as_it_always_was() -> None:
    assert TextPart(text="a").model_dump(mode="json") == {"type": "text", "text": "a"}
