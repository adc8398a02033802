"""The page: what is on the screen when text grows, is taken back, and is settled."""

import os

import pyte
import pytest

from worker.cli.look.page import Page

Capture = pytest.CaptureFixture[str]
SIZE = os.terminal_size((40, 12))


class Terminal:
    """A terminal of an own size, which shows what was printed since it was looked at last."""

    def __init__(self, capsys: Capture) -> None:
        self._capsys = capsys
        self._screen = pyte.HistoryScreen(SIZE.columns, SIZE.lines)
        self._stream = pyte.Stream(self._screen)

    @property
    def shows(self) -> list[str]:
        """The lines on the screen, without the blank ones below them."""
        self._stream.feed(self._capsys.readouterr().out.replace("\n", "\r\n"))
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip().split("\n")


@pytest.fixture
def terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", str(SIZE.columns))
    monkeypatch.setenv("LINES", str(SIZE.lines))
    return Terminal(capsys)


@pytest.fixture
def page() -> Page:
    return Page(live=True)


def grow(page: Page, text: str) -> None:
    page.grow(text)
    page.draw()


def test_growing_text_is_completed_in_place(page: Page, terminal: Terminal) -> None:
    grow(page, "Hello")
    begun = terminal.shows
    page.settle("Hello, you.")
    page.line("next")

    assert (begun, terminal.shows) == (["Hello"], ["Hello, you.", "next"])


def test_markdown_is_shown_while_it_grows_and_whole_blocks_stay(page: Page, terminal: Terminal) -> None:
    grow(page, "# Plan\n\nTwo **th")
    begun = terminal.shows
    grow(page, "ings**:\n\n- one\n- t")
    page.settle("# Plan\n\nTwo **things**:\n\n- one\n- two\n")

    assert begun == ["Plan", "", "Two **th"]
    assert terminal.shows == ["Plan", "", "Two things:", "", " • one", " • two"]


def test_an_answer_that_begins_again_replaces_what_was_shown(page: Page, terminal: Terminal) -> None:
    page.line("before")
    grow(page, "First\n\nattempt\n\nis cut")
    begun = terminal.shows
    page.retract()
    grow(page, "Second")
    page.settle("Second attempt.")

    assert begun == ["before", "First", "", "attempt", "", "is cut"]
    assert terminal.shows == ["before", "Second attempt."]


def test_a_passing_line_stays_below_all_others_and_leaves_no_trace(page: Page, terminal: Terminal) -> None:
    grow(page, "Text")
    page.passing("… thinking")
    page.line("a line")
    below = terminal.shows
    page.passing("… edit")
    page.settle("Text")
    page.close()

    assert below == ["a line", "Text", "… thinking"]
    assert terminal.shows == ["a line", "Text"]


def test_a_line_that_does_not_fit_passes_in_one_row(page: Page, terminal: Terminal) -> None:
    page.passing("\x1b[31m" + "世界" * 30)
    shown = terminal.shows
    page.close()

    assert shown == ["世 界 世 界 世 界 世 界 世 界 世 界 世 界 世 界 世 界 世".replace(" ", "")]
    assert terminal.shows == [""]


def test_blocks_above_other_lines_are_declared_void_instead(page: Page, terminal: Terminal) -> None:
    grow(page, "done\n\nhalf an")
    page.line("a question")
    page.retract()

    shown = terminal.shows
    assert shown[:2] == ["done", "a question"] and "interrupted" in shown[2]


def test_text_that_has_left_the_screen_is_declared_void(page: Page, terminal: Terminal) -> None:
    grow(page, "\n\n".join(str(number) for number in range(50)))
    page.retract()

    assert "interrupted" in terminal.shows[-2]


def test_a_block_that_is_higher_than_the_screen_grows_at_its_end_and_stays_whole(
    page: Page, terminal: Terminal, capsys: Capture
) -> None:
    code = "\n".join(f"line {number}" for number in range(50))
    grow(page, f"```\n{code}")
    shown = terminal.shows
    page.settle(f"```\n{code}\n```")
    written = capsys.readouterr().out

    assert len(shown) < SIZE.lines and shown[-1] == "  line 49"
    assert all(f"line {number}\n" in written for number in range(49))


def test_a_page_that_is_no_terminal_holds_final_text_only_and_as_it_was_written(capsys: Capture) -> None:
    page = Page(live=False)
    page.grow("half")
    page.passing("… thinking")
    page.retract()
    page.settle("**whole**")
    page.close()

    assert capsys.readouterr().out == "**whole**\n"


def test_what_a_running_command_writes_stands_above_the_status_and_vanishes_with_it(
    terminal: Terminal, page: Page
) -> None:
    page.line("… bash  make")
    page.passing("  │ one", "  │ two", "busy")
    first = terminal.shows
    page.passing("  │ two", f"  │ {'long ' * 20}", "busy")
    second = terminal.shows
    page.passing("busy")

    assert first == ["… bash  make", "  │ one", "  │ two", "busy"]
    assert second[1] == "  │ two" and second[2].startswith("  │ long long") and second[3:] == ["busy"]
    assert terminal.shows == ["… bash  make", "busy"]
