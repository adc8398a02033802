"""An answer and its reasoning while they grow."""

import pytest

from worker.cli.render.event_renderer import AnswerKind, StreamedAnswer, render_answer

PARTS: list[tuple[AnswerKind, str]] = [
    ("reasoning", "One\ntwo\n\nthree"),
    ("text", "Hello."),
    ("text", "You."),
    ("reasoning", "four"),
    ("text", "End \x1b 👩\u200d💻❤\ufe0f\u200d🔥 a\u200db \u200d"),
]
END = "End \\x1b 👩\u200d💻❤\ufe0f\u200d🔥 a\\u200db "  # what a joiner at the end joins never comes


def test_without_thinking_there_is_what_the_model_says() -> None:
    assert render_answer(PARTS, StreamedAnswer(thinking=False, quote="> ")) == f"Hello.\n\nYou.\n\n{END}"


def test_thoughts_are_quoted_line_by_line_and_stand_apart() -> None:
    assert render_answer(PARTS, StreamedAnswer(thinking=True, quote="> ")) == (
        f"> Thinking: One\n> two\n\n> three\n\nHello.\n\nYou.\n\n> Thinking: four\n\n{END}"
    )


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("thinking", [False, True])
def test_pieces_of_any_size_come_to_the_same(size: int, thinking: bool) -> None:
    answer = StreamedAnswer(thinking=thinking, quote="> ")
    grown = "".join(
        answer.append(kind, number, text[at : at + size])
        for number, (kind, text) in enumerate(PARTS)
        for at in range(0, len(text), size)
    )

    assert grown == render_answer(PARTS, StreamedAnswer(thinking=thinking, quote="> "))
