"""What `run` and `watch` do with a session: show it, and put its asks to the person."""

import sys
from abc import ABC, abstractmethod

from worker.api.events import EventWithContents, PublishedDelta
from worker.cli.ask_prompt import AskPrompt
from worker.cli.command_support import alert_terminal
from worker.cli.exit_codes import ExitCode
from worker.cli.person_check import agents_call
from worker.cli.render.event_renderer import Renderer
from worker.cli.render.terminal import Terminal
from worker.cli.session_follower import SessionFollower
from worker.cli.terminal_input import Interrupted, LineEntered, RedrawTick, UiEvent, is_interactive
from workflows.domain.events.asks import AskAnswered, AskClosed, AskRaised
from workflows.domain.ids import AskId
from workflows.domain.wire import AskState


class FollowLoop(ABC):
    """Shows a session's events. Without an interactive terminal, an ask is shown with the command that answers it.

    `no_wait`: end at an ask.
    """

    def __init__(self, follower: SessionFollower, renderer: Renderer, *, no_wait: bool = False) -> None:
        self._client = follower.client
        self._session = follower.session
        self._follower = follower
        self._print_note = follower.print_note
        self._renderer = renderer
        self._no_wait = no_wait
        self._interactive_terminal = terminal = follower.terminal if is_interactive() else None
        answers = terminal is not None and not no_wait and agents_call(self._client.settings) is None
        self._ask_prompt = AskPrompt(follower, terminal) if terminal is not None and answers else None
        self._shown_asks: set[AskId] = set()

    @abstractmethod
    def _refresh(self, terminal: Terminal, question: str) -> None:
        """Redraw the footer."""

    @abstractmethod
    async def _on_own_event(self, seen: EventWithContents) -> ExitCode | None:
        """Handle an event of the session, not of a subagent."""

    @abstractmethod
    async def _on_line(self, text: str | None) -> ExitCode | None:
        """Handle a line typed while no question was open; None is the end of the input."""

    @abstractmethod
    async def _on_interrupt(self) -> ExitCode | None:
        """Handle Ctrl-C."""

    async def _until_end(self) -> ExitCode:
        """Raises Unavailable when the stack is taken down."""
        async for ui_event in self._follower.ui_events():
            if (end := await self._on_ui_event(ui_event)) is not None:
                return end
        raise AssertionError("the events of a session do not end")

    async def _on_ui_event(self, ui_event: UiEvent) -> ExitCode | None:
        match ui_event:
            case RedrawTick():
                if self._follower.terminal is not None:
                    self._refresh(self._follower.terminal, self._ask_prompt.prompt if self._ask_prompt else "")
            case PublishedDelta():
                self._renderer.on_delta(ui_event)
            case EventWithContents():
                self._renderer.on_event(ui_event)
                return await self._on_session_event(ui_event)
            case LineEntered(text=text, ask=ask) if ask is not None:
                if self._ask_prompt is not None:
                    await self._ask_prompt.on_line(text, ask)
            case LineEntered(text=text):
                return await self._on_line(text)
            case Interrupted(terminated=True):
                goes_on = "Ended by SIGTERM; a turn at work goes on"
                self._print_note(f"{goes_on}: `holdfast stop {self._session}` stops it.")
                return ExitCode.TERMINATED
            case Interrupted():
                return await self._on_interrupt()
        return None

    async def _on_session_event(self, seen: EventWithContents) -> ExitCode | None:
        match seen.record.event:
            case AskRaised(ask=ask) if (end := await self._on_ask(ask)) is not None:
                return end
            case AskAnswered(ask=ask) | AskClosed(ask=ask) if self._ask_prompt is not None:
                await self._ask_prompt.on_settled(ask)
        return await self._on_own_event(seen) if seen.record.session == self._session else None

    async def _on_ask(self, ask: AskId) -> ExitCode | None:
        entries = await self._follower.wait_until_reachable(lambda: self._client.inbox.asks(ask=ask))
        if not entries or entries[0].state is not AskState.OPEN or ask in self._shown_asks:
            return None
        self._shown_asks.add(ask)
        alert_terminal(self._client.settings)
        if self._ask_prompt is not None:
            await self._ask_prompt.on_raised(entries[0])
            return None
        self._renderer.on_ask(entries[0])
        if self._no_wait:
            return ExitCode.WAITING
        if not sys.stdout.isatty():  # who reads the terminal has not seen it
            shows = f"holdfast asks {entries[0].name} shows the question, and how to answer it."
            self._print_note(f"It waits for an answer: {shows}")
        return None
