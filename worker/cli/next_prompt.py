"""Prompts that a person types at the terminal: the first of a session, and whom the next one is for."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import click

from worker.cli.command_support import current_directory
from worker.cli.render.console import styled
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.render.terminal import is_live_terminal, prompt_for
from worker.cli.render.terminal_writer import TerminalWriter
from worker.cli.render.wrap import wrap_words
from worker.cli.slash_commands import SLASH_HELP, RunCommand, parse_run_command
from worker.cli.terminal_input import Interrupted, LineEntered, RedrawTick, TabPressed, TerminalInput
from worker.project_config import load_project_config
from worker.session_client import SessionClient
from worker.settings import Settings
from workflows.domain.errors import HoldfastError
from workflows.domain.events.event import Event
from workflows.domain.events.turns import TurnOpened
from workflows.domain.ids import SessionId
from workflows.domain.prompt import Prompt

# Of the agents that work for people and are shown, and of the one that a prompt is for where none is chosen.
AgentNames = Callable[[], Awaitable[tuple[Sequence[str], str]]]
P = TypeVar("P")
_ANSWERS: Final = {
    RunCommand.HELP: "\n".join(SLASH_HELP),
    RunCommand.STOP: "Nothing is at work.",
    RunCommand.RETRY: "Nothing has failed yet.",
}


class AgentCycle:
    """`chosen`: the next prompt's agent, picked by Tab."""

    def __init__(self, read: AgentNames) -> None:
        self.chosen: str | None = None
        self._read = read

    async def advance(self) -> str:
        """Choose the next one. Raises what reading the names does."""
        names, current = await self._read()
        current = self.chosen or current
        known = [*names] or [current]
        self.chosen = known[(known.index(current) + 1) % len(known)] if current in known else known[0]
        return self.chosen


class NextPrompt:
    """What the next prompt names; None stands for the session's. A named model is for the agent that begins with it.
    `current`: the agent of the next turn, as the person knows."""

    def __init__(
        self,
        client: SessionClient,
        session: SessionId,
        agent: str | None,
        model: str | None,
        variant: str | None,
        current: str | None,
    ) -> None:
        self.agent, self.model, self.variant = agent, model, variant
        self._client = client
        self._session = session
        self._cycle = AgentCycle(self._agent_names)
        self._current = current
        self._switched: str | None = None  # the session's agent, if a command or a plan has switched to it
        self._began: str | None = None  # the agent that has begun with the named model

    @property
    def without_text(self) -> Prompt:
        return Prompt(parts=(), agent=self.agent, model=self.model, variant=self.variant)

    @property
    def shown_agent(self) -> str | None:
        """The agent that it is for: chosen by Tab, or switched to."""
        return self._cycle.chosen or self._switched

    async def choose_next_agent(self) -> None:
        """Raises HoldfastError."""
        self.agent, self.model, self.variant = await self._cycle.advance(), None, None

    def note(self, event: Event) -> None:
        """Note an agent that has begun a turn: it is the session's now."""
        if not isinstance(event, TurnOpened):
            return
        if event.agent == self._cycle.chosen:
            self._cycle.chosen = self.agent = self._switched = None
        elif self._current not in (None, event.agent):
            self._switched = event.agent
        self._current = event.agent
        if self._began is None and self.agent in (None, event.agent):
            self._began, self.agent = event.agent, None
        elif self._began not in (None, event.agent):
            self.model = self.variant = None

    async def _agent_names(self) -> tuple[Sequence[str], str]:
        overview = await self._client.sessions.get(self._session)
        client, directory = self._client, Path(overview.directory)
        turn_config = await load_project_config(client.settings, directory, database=client.database)
        return turn_config.delegation.visible_names, self.agent or overview.agent


async def read_first_prompt(
    settings: Settings, model: str, parse: Callable[[str, str | None], Awaitable[P]], agents: AgentCycle
) -> P | None:
    """Ask for a prompt, and for another while `parse` refuses it; None if the person leaves. `parse` gets the text, and
    the agent that was chosen by Tab.

    Raises Abort at Ctrl-C, OSError when the terminal is closed.
    """
    writer = TerminalWriter(live=is_live_terminal(settings))

    def print_note(text: str) -> None:
        for row in wrap_words(text, writer.columns).split("\n"):
            writer.write_line(styled(row, "dim"))

    print_note(f"{escape_exact(model)} in {escape_exact(str(current_directory()))}. Type a prompt; Ctrl-D leaves.")
    try:
        async with TerminalInput(writer, settings) as typed:
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
                writer.set_footer(prompt=prompt_for(agents.chosen, writer.columns))
            case TabPressed():
                await agents.advance()
            case Interrupted():
                if not typed.keyboard.typed:
                    raise click.Abort
                typed.keyboard.typed = ""
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
