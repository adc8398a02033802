"""The screen when text grows, is taken back, and is final."""

import os

import click
import pyte
import pytest

from worker.cli.render.console import styled
from worker.cli.render.terminal_writer import TerminalWriter

Capture = pytest.CaptureFixture[str]
SIZE = os.terminal_size((40, 12))


class Terminal:
    """A terminal of a fixed size, fed with the output."""

    def __init__(self, capsys: Capture) -> None:
        self._capsys = capsys
        self._screen = pyte.HistoryScreen(SIZE.columns, SIZE.lines)
        self._stream = pyte.Stream(self._screen)

    @property
    def shows(self) -> list[str]:
        """The lines on the screen, without blank ones at the end."""
        self._stream.feed(self._capsys.readouterr().out.replace("\n", "\r\n"))
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip().split("\n")


@pytest.fixture
def terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", str(SIZE.columns))
    monkeypatch.setenv("LINES", str(SIZE.lines))
    return Terminal(capsys)


@pytest.fixture
def writer() -> TerminalWriter:
    return TerminalWriter(live=True)


def stream(writer: TerminalWriter, text: str) -> None:
    writer.stream(text)
    writer.draw()


async def test_growing_text_is_completed_in_place(writer: TerminalWriter, terminal: Terminal) -> None:
    stream(writer, "Hello")
    begun = terminal.shows
    writer.finalize("Hello, you.")
    writer.write_line("next")

    assert (begun, terminal.shows) == (["Hello"], ["Hello, you.", "next"])


async def test_markdown_is_shown_while_it_grows_and_whole_blocks_stay(
    writer: TerminalWriter, terminal: Terminal
) -> None:
    stream(writer, "# Plan\n\nTwo **th")
    begun = terminal.shows
    stream(writer, "ings**:\n\n- one\n- t")
    writer.finalize("# Plan\n\nTwo **things**:\n\n- one\n- two\n")

    assert begun == ["Plan", "", "Two **th"]
    assert terminal.shows == ["Plan", "", "Two things:", "", " • one", " • two"]


async def test_an_unfinished_block_of_an_answer_that_begins_again_vanishes(
    writer: TerminalWriter, terminal: Terminal
) -> None:
    writer.write_line("before")
    stream(writer, "First attempt\nis cut")
    begun = terminal.shows
    writer.retract()
    stream(writer, "Second")
    writer.finalize("Second attempt.")

    assert begun == ["before", "First attempt", "is cut"]
    assert terminal.shows == ["before", "Second attempt."]


async def test_finished_blocks_of_an_answer_that_begins_again_are_declared_void(
    writer: TerminalWriter, terminal: Terminal
) -> None:
    stream(writer, "First\n\nattempt\n\nis cut")
    begun = terminal.shows
    writer.retract()
    stream(writer, "Second\n\nattem")
    writer.finalize("Second\n\nattempt.")

    assert begun == ["First", "", "attempt", "", "is cut"]
    assert terminal.shows == [
        "First",
        "",
        "attempt",
        "(That answer was interrupted and does",
        "not count; it begins again.)",
        "Second",
        "",
        "attempt.",
    ]


async def test_a_passing_line_stays_below_all_others_and_leaves_no_trace(
    writer: TerminalWriter, terminal: Terminal
) -> None:
    stream(writer, "Text")
    writer.set_footer("… thinking")
    writer.write_line("a line")
    below = terminal.shows
    writer.set_footer("… edit")
    writer.finalize("Text")
    writer.set_footer()

    assert below == ["a line", "Text", "… thinking"]
    assert terminal.shows == ["a line", "Text"]


async def test_a_line_that_does_not_fit_passes_in_one_row(writer: TerminalWriter, terminal: Terminal) -> None:
    writer.set_footer(styled("世界" * 30, "red"))
    shown = terminal.shows
    writer.set_footer()

    assert shown == ["世 界 世 界 世 界 世 界 世 界 世 界 世 界 世 界 世 界 世".replace(" ", "")]
    assert terminal.shows == [""]


async def test_what_was_not_streamed_is_added_to_the_blocks_that_were(
    writer: TerminalWriter, terminal: Terminal
) -> None:
    stream(writer, "one\n\ntwo is")
    writer.write_line("a question")
    writer.finalize("one\n\ntwo was\n\nthree")

    assert terminal.shows == ["one", "a question", "", "two was", "", "three"]


async def test_a_block_that_is_higher_than_the_screen_grows_at_its_end_and_stays_whole(
    writer: TerminalWriter, terminal: Terminal, capsys: Capture
) -> None:
    code = "\n".join(f"line {number}" for number in range(50))
    stream(writer, f"```\n{code}")
    shown = terminal.shows
    writer.finalize(f"```\n{code}\n```")
    written = click.unstyle(capsys.readouterr().out)

    assert len(shown) < SIZE.lines and shown[-1] == "  line 49"
    assert all(f"line {number}\n" in written for number in range(49))


def test_a_pipe_gets_final_text_only_and_as_it_was_written(capsys: Capture) -> None:
    writer = TerminalWriter(live=False)
    writer.stream("half")
    writer.set_footer("… thinking")
    writer.retract()
    writer.finalize("**whole**")
    writer.set_footer()

    assert capsys.readouterr().out == "**whole**\n"


async def test_what_a_running_command_writes_stands_above_the_status_and_vanishes_with_it(
    terminal: Terminal, writer: TerminalWriter
) -> None:
    writer.write_line("… bash  make")
    writer.set_footer("  │ one", "  │ two", "busy")
    first = terminal.shows
    writer.set_footer("  │ two", f"  │ {'long ' * 20}", "busy")
    second = terminal.shows
    writer.set_footer("busy")

    assert first == ["… bash  make", "  │ one", "  │ two", "busy"]
    assert second[1] == "  │ two" and second[2].startswith("  │ long long") and second[3:] == ["busy"]
    assert terminal.shows == ["… bash  make", "busy"]
