"""The page: what is on the screen when text grows, is taken back, and is settled."""

import re

import pytest

from worker.cli.look.page import Page

Capture = pytest.CaptureFixture[str]


def screen(output: str) -> list[str]:
    """What a terminal shows after this output: lines, with the few controls that the page uses."""
    rows, row, column = [""], 0, 0
    for piece in re.findall(r"\x1b\[\d*[AKJ]|\x1b\[\d*m|\n|\r|[^\x1b\n\r]+", output):
        if piece == "\n":
            row, column = row + 1, 0
            rows += [""] * (row + 1 - len(rows))
        elif piece == "\r":
            column = 0
        elif piece.endswith("A"):
            row -= int(piece[2:-1])
        elif piece.endswith("K"):
            rows[row] = rows[row][:column]
        elif piece.endswith("J"):
            rows[row:] = [rows[row][:column]]
        elif not piece.startswith("\x1b"):
            rows[row] = rows[row][:column] + piece
            column += len(piece)
    return rows


def test_growing_text_is_completed_in_place(capsys: Capture) -> None:
    page = Page(live=True)
    page.grow("Hello")
    page.settle("Hello, you.")
    page.line("next")

    assert screen(capsys.readouterr().out) == ["Hello, you.", "next", ""]


def test_an_answer_that_begins_again_replaces_what_was_shown(capsys: Capture) -> None:
    page = Page(live=True)
    page.line("before")
    page.grow("First\nattempt\nis cut")
    page.retract()
    page.grow("Second")
    page.settle("Second attempt.")

    assert screen(capsys.readouterr().out) == ["before", "Second attempt.", ""]


def test_a_passing_line_leaves_no_trace(capsys: Capture) -> None:
    page = Page(live=True)
    page.grow("Text")
    page.passing("… thinking")
    page.passing("… edit")
    page.settle("Text")
    page.line("next")

    assert screen(capsys.readouterr().out) == ["Text", "next", ""]


def test_text_that_left_room_for_a_passing_line_can_still_be_taken_back(capsys: Capture) -> None:
    page = Page(live=True)
    page.line("before")
    page.grow("half an")
    page.passing("… edit")
    page.retract()
    page.line("after")

    assert screen(capsys.readouterr().out) == ["before", "after", ""]


def test_text_above_other_lines_is_declared_void_instead(capsys: Capture) -> None:
    page = Page(live=True)
    page.grow("half an")
    page.line("a question")
    page.retract()

    shown = screen(capsys.readouterr().out)
    assert shown[:2] == ["half an", "a question"] and "does not count" in shown[2]


def test_text_that_has_left_the_screen_is_declared_void(capsys: Capture) -> None:
    page = Page(live=True)
    page.grow("\n".join(str(number) for number in range(200)))
    page.retract()

    assert "does not count" in capsys.readouterr().out


def test_a_page_that_is_no_terminal_holds_final_text_only(capsys: Capture) -> None:
    page = Page(live=False)
    page.grow("half")
    page.passing("… thinking")
    page.retract()
    page.settle("whole")

    assert capsys.readouterr().out == "whole\n"
