"""The first prompt of a session, typed on the terminal."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

import click

from worker.cli.keyboard import LineEntered, TabPressed
from worker.cli.next_prompt import AgentCycle
from worker.cli.render.console import styled
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.render.terminal import prompt_row
from worker.cli.render.terminal_writer import TerminalWriter
from worker.cli.render.wrap import wrap_words
from worker.cli.slash_commands import SLASH_HELP, RunCommand, parse_run_command
from worker.cli.terminal_input import Interrupted, RedrawTick, TerminalInput
from workflows.domain.errors import HoldfastError

P = TypeVar("P")
_ANSWERS: Final = {
    RunCommand.HELP: "\n".join(SLASH_HELP),
    RunCommand.STOP: "Nothing is at work.",
    RunCommand.RETRY: "Nothing has failed yet.",
}


async def read_first_prompt(
    model: str, directory: Path, parse: Callable[[str, str | None], Awaitable[P]], agents: AgentCycle, *, live: bool
) -> P | None:
    """Ask for a prompt, and for another while `parse` refuses it; None if the person leaves. `parse` gets the text, and
    the agent that was chosen by Tab.

    Raises Abort at Ctrl-C, OSError when the terminal is closed.
    """
    writer = TerminalWriter(live=live)

    def print_note(text: str) -> None:
        for row in wrap_words(text, writer.columns).split("\n"):
            writer.write_line(styled(row, "dim"))

    print_note(f"{escape_exact(model)} in {escape_exact(str(directory))}. Type a prompt; Ctrl-D leaves.")
    try:
        async with TerminalInput(live=live) as typed:
            return await _first_prompt(typed, writer, print_note, parse, agents)
    finally:
        writer.set_footer()


async def _first_prompt(
    typed: TerminalInput,
    writer: TerminalWriter,
    print_note: Callable[[str], None],
    parse: Callable[[str, str | None], Awaitable[P]],
    agents: AgentCycle,
) -> P | None:
    typed.keyboard.listen()
    async for ui_event in typed.ui_events():
        match ui_event:
            case RedrawTick():
                writer.set_footer(prompt_row(typed.keyboard.typed, writer.columns or 0, agents.chosen))
            case TabPressed():
                await agents.advance()
            case Interrupted():
                if not typed.keyboard.typed:
                    raise click.Abort
                typed.keyboard.clear()
            case LineEntered(text=text) if text is None or parse_run_command(text) is RunCommand.EXIT:
                return None
            case LineEntered(text=str(text)) if text.strip():
                if (prompt := await _parsed(text, typed, print_note, parse, agents)) is not None:
                    return prompt
    raise AssertionError("a keyboard does not end")


async def _parsed(
    text: str,
    typed: TerminalInput,
    print_note: Callable[[str], None],
    parse: Callable[[str, str | None], Awaitable[P]],
    agents: AgentCycle,
) -> P | None:
    """The parsed prompt; None if it was a command of the loop's, or was refused and stays in the line."""
    if (command := parse_run_command(text)) is not None:
        print_note(_ANSWERS[command])
        return None
    try:
        return await parse(text, agents.chosen)
    except HoldfastError as error:
        print_note(escape_prose(str(error)))
        typed.keyboard.typed = text + typed.keyboard.typed
        return None
