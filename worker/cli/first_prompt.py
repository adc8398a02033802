"""The first prompt of a session, typed on the terminal."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

import click

from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.render.styles import styled
from worker.cli.render.terminal import prompt_row
from worker.cli.render.terminal_writer import TerminalWriter
from worker.cli.render.wrap import wrap_words
from worker.cli.slash_commands import SLASH_HELP, RunCommand, parse_run_command
from worker.cli.terminal_input import Interrupted, LineEntered, RedrawTick, TerminalInput
from workflows.domain.errors import HoldfastError

P = TypeVar("P")
_ANSWERS: Final = {
    RunCommand.HELP: "\n".join(SLASH_HELP),
    RunCommand.STOP: "Nothing is at work.",
    RunCommand.RETRY: "Nothing has failed yet.",
}


async def read_first_prompt(
    model: str, directory: Path, parse: Callable[[str], Awaitable[P]], *, live: bool
) -> P | None:
    """Ask for a prompt, and for another while `parse` refuses it; None if the person leaves.

    Raises Abort at Ctrl-C, OSError when the terminal is closed.
    """
    writer = TerminalWriter(live=live)

    def print_note(text: str) -> None:
        for row in wrap_words(text, writer.columns).split("\n"):
            writer.write_line(styled(row, "dim"))

    print_note(f"{escape_exact(model)} in {escape_exact(str(directory))}. Type a prompt; Ctrl-D leaves.")
    try:
        async with TerminalInput(live=live) as typed:
            return await _first_prompt(typed, writer, print_note, parse)
    finally:
        writer.set_footer()


async def _first_prompt(
    typed: TerminalInput,
    writer: TerminalWriter,
    print_note: Callable[[str], None],
    parse: Callable[[str], Awaitable[P]],
) -> P | None:
    typed.keyboard.listen()
    async for ui_event in typed.ui_events():
        match ui_event:
            case RedrawTick():
                writer.set_footer(prompt_row(typed.keyboard.typed, writer.columns or 0))
            case Interrupted() if typed.keyboard.typed:
                typed.keyboard.clear()
            case Interrupted():
                raise click.Abort
            case LineEntered(text=None):
                return None
            case LineEntered(text=str(text)) if text.strip():
                command = parse_run_command(text)
                if command is RunCommand.EXIT:
                    return None
                if command is not None:
                    print_note(_ANSWERS[command])
                    continue
                try:
                    return await parse(text)
                except HoldfastError as error:
                    print_note(escape_prose(str(error)))
                    typed.keyboard.typed = text + typed.keyboard.typed
    raise AssertionError("a keyboard does not end")
