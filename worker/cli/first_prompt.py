"""The first prompt of a session, typed on the terminal."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.render.styles import styled
from worker.cli.render.terminal import prompt_row
from worker.cli.render.terminal_writer import TerminalWriter
from worker.cli.render.wrap import wrap_words
from worker.cli.slash_commands import SLASH_HELP, RunCommand, parse_slash_command
from worker.cli.terminal_input import Interrupted, LineEntered, RedrawTick, TerminalInput
from workflows.domain.errors import HoldfastError

_ANSWERS: Final = {
    RunCommand.HELP: "\n".join(SLASH_HELP),
    RunCommand.STOP: "Nothing is at work.",
    RunCommand.RETRY: "Nothing has failed yet.",
}


async def read_first_prompt(model: str, directory: Path, *, live: bool) -> str | None:
    """Ask for a prompt; None if the person leaves.

    Raises Abort at Ctrl-C, OSError when the terminal is closed.
    """
    writer = TerminalWriter(live=live)

    def print_note(text: str) -> None:
        for row in wrap_words(text, writer.columns).split("\n"):
            writer.write_line(styled(row, "dim"))

    print_note(f"{escape_exact(model)} in {escape_exact(str(directory))}. Type a prompt; Ctrl-D leaves.")
    try:
        async with TerminalInput(live=live) as typed:
            return await _first_prompt(typed, writer, print_note)
    finally:
        writer.set_footer()


async def _first_prompt(typed: TerminalInput, writer: TerminalWriter, print_note: Callable[[str], None]) -> str | None:
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
                try:
                    command = parse_slash_command(text)
                except HoldfastError as error:
                    print_note(escape_prose(str(error)))
                    continue
                if command is None:
                    return text
                if command is RunCommand.EXIT:
                    return None
                print_note(_ANSWERS[command])
    raise AssertionError("a keyboard does not end")
