"""The loop of `run`: follows turns, puts questions, sends typed prompts, handles Ctrl-C."""

import asyncio
from contextlib import nullcontext
from typing import Final

import click

from worker.api.accepted import AcceptedStop
from worker.api.events import EventWithContents, PublishedDelta
from worker.cli import command_support, exit_codes
from worker.cli.ask_prompt import AskPrompt
from worker.cli.exit_codes import ExitCode
from worker.cli.interrupt_guard import InterruptGuard
from worker.cli.prompt_sender import PromptSender, SentPrompt
from worker.cli.render.event_renderer import Renderer
from worker.cli.render.formatting import escape_prose, format_duration
from worker.cli.render.jsonlines import create_json_view
from worker.cli.render.terminal import Terminal
from worker.cli.render.turn_summary import describe_usage
from worker.cli.session_follower import Interrupted, LineEntered, RedrawTick, SessionFollower, UiEvent, is_interactive
from worker.cli.slash_commands import SLASH_HELP, SlashCommand
from worker.client import SessionClient
from workflows.domain.close_reason import CloseReason
from workflows.domain.errors import HoldfastError, Unavailable
from workflows.domain.events.asks import AskAnswered, AskClosed, AskRaised
from workflows.domain.events.event import Event
from workflows.domain.events.prompts import PromptTaken, PromptWithdrawn
from workflows.domain.events.sessions import SessionEnded, SessionSuspended
from workflows.domain.events.turns import RetryWithdrawn, TurnEnded, TurnOpened
from workflows.domain.ids import AskId, MessageId, RetryId, SessionId, TurnConfigId, TurnId
from workflows.domain.value import Value
from workflows.domain.wire import AskState

_MOMENT: Final = 1.0  # seconds that leaving waits for the stop: the second Ctrl-C may come milliseconds after it
_INVITATION: Final = "Type the next prompt; Ctrl-D leaves, /help says more."


class FollowOptions(Value):
    """How a session is followed.

    `turn`: its open turn. `no_wait`: end at a question. `stay_open`: on a terminal, ask for more prompts after a turn,
    for `model` and `agent`. `configuration`: the last one shown; a turn with another one is reported.
    """

    turn: TurnId | None = None
    no_wait: bool = False
    stay_open: bool = True
    model: str | None = None
    agent: str | None = None
    configuration: TurnConfigId | None = None
    thinking: bool = False


async def follow_session(
    client: SessionClient,
    session: SessionId,
    accepted: MessageId | RetryId | None,
    guard: InterruptGuard,
    *,
    seq: int,
    as_json: bool,
    options: FollowOptions,
) -> ExitCode:
    """Follow what was `accepted` to its end, for a person or as JSON; stop it if `guard` was interrupted.

    Raises Unavailable.
    """
    terminal = None if as_json else Terminal(client.settings, session, thinking=options.thinking)
    renderer = terminal.view if terminal is not None else create_json_view(session)
    with terminal or nullcontext():
        follower = SessionFollower(client, session, seq, terminal)
        return await RunLoop(client, session, accepted, renderer, follower, terminal, options).follow(guard)


async def describe_totals(client: SessionClient, session: SessionId) -> str:
    """What a session has used so far. Never raises: the exit code does not depend on it."""
    try:
        sums = await client.sessions.totals(session)
    except Unavailable:
        return "what it has used cannot be read just now"
    return describe_usage(sums.steps, sums.tokens, sums.cost)


class RunLoop:
    """Follows one person's prompts and retries.

    On an interactive `terminal`, it puts questions to the person, and takes other lines as prompts.
    """

    def __init__(
        self,
        client: SessionClient,
        session: SessionId,
        accepted: MessageId | RetryId | None,
        renderer: Renderer,
        follower: SessionFollower,
        terminal: Terminal | None,
        options: FollowOptions,
    ) -> None:
        self._client = client
        self._session = session
        self._renderer = renderer
        self._terminal = terminal
        self._follower = follower
        self._options = options
        interactive_terminal = terminal if is_interactive() else None
        self._sender = (
            PromptSender(client, session, interactive_terminal, follower, options.model, options.agent)
            if interactive_terminal
            else None
        )
        self._ask_prompt = (
            AskPrompt(client, interactive_terminal, follower) if interactive_terminal and not options.no_wait else None
        )
        self._stays_open = interactive_terminal is not None and options.stay_open and not options.no_wait
        self._shown_asks: set[AskId] = set()
        self._untaken = {accepted} if accepted is not None else set()  # prompts and retries without a turn
        self._turn = options.turn
        self._configuration = options.configuration
        self._stop: asyncio.Task[AcceptedStop] | None = None
        self._exit_code = ExitCode.DONE
        self._hint_printed = False

    async def follow(self, guard: InterruptGuard) -> ExitCode:
        """Raises Unavailable when the stack is taken down."""
        async with self._follower:  # it handles Ctrl-C from here on
            if guard.interrupted:
                await self._on_interrupt()
            inbox = self._client.inbox
            for entry in await self._follower.wait_until_reachable(lambda: inbox.asks(session=self._session)):
                if (end := await self._on_ask(entry.id)) is not None:
                    return end
            if self._is_idle:
                self._print_prompt_hint()
            async for ui_event in self._follower.ui_events():
                if (end := await self._on_ui_event(ui_event)) is not None:
                    return end
        raise AssertionError("happenings do not end")

    @property
    def _is_idle(self) -> bool:
        """Whether none of this person's prompts runs or waits."""
        return self._turn is None and not self._untaken

    async def _on_ui_event(self, ui_event: UiEvent) -> ExitCode | None:
        match ui_event:
            case RedrawTick() if self._terminal is not None:
                self._refresh(self._terminal)
            case EventWithContents():
                if self._terminal is not None:
                    self._terminal.on_event(ui_event)
                self._renderer.on_event(ui_event)
                return await self._on_session_event(ui_event)
            case PublishedDelta():
                self._renderer.on_delta(ui_event)
            case LineEntered(text=text, ask=ask) if ask is not None:
                if self._ask_prompt is not None:
                    await self._ask_prompt.on_line(text, ask)
            case LineEntered(text=text) if self._sender is not None:
                return await self._on_line(self._sender, text)
            case Interrupted():
                return await self._on_interrupt()
        return None

    def _refresh(self, terminal: Terminal) -> None:
        open_ = self._sender is not None and self._follower.keyboard.open
        terminal.refresh(
            self._ask_prompt.prompt if self._ask_prompt is not None else "",
            self._follower.keyboard.typed if open_ else None,
        )

    async def _on_session_event(self, seen: EventWithContents) -> ExitCode | None:
        match event := seen.record.event:
            case SessionSuspended() if self._options.no_wait:
                return ExitCode.WAITING
            case AskRaised():
                return await self._on_ask(event.ask)
            case AskAnswered() | AskClosed() if self._ask_prompt is not None:
                await self._ask_prompt.on_settled(event.ask)
            case _ if seen.record.session == self._session:
                self._report_new_configuration(event)
                return await self._on_own_event(event)
        return None

    def _report_new_configuration(self, event: Event) -> None:
        """Report a turn with another configuration than the last: its files have changed."""
        if isinstance(event, TurnOpened) and self._configuration is not None:
            if event.turn_config != self._configuration:
                self._follower.print_note(f"Turn {event.number} works with another configuration: {event.turn_config}")
            self._configuration = event.turn_config

    async def _on_own_event(self, event: Event) -> ExitCode | None:
        """Handle an event of the session, not of a subagent."""
        match event:
            case PromptTaken(prompt=taken, turn=turn) | TurnOpened(retry=taken, turn=turn) if taken in self._untaken:
                self._untaken.discard(taken)
                self._turn = turn
            case TurnOpened(turn=turn) if self._stays_open:
                self._turn = turn
            case PromptWithdrawn(prompt=gone) | RetryWithdrawn(retry=gone) if gone in self._untaken:
                self._untaken.discard(gone)
                return await self._on_turn_over(ExitCode.STOPPED) if self._turn is None else None
            case TurnEnded() if event.turn == self._turn:
                command_support.ring_bell(self._client.settings)
                self._turn = None
                if event.reason == CloseReason.DONE:
                    await self._print_done()
                return await self._on_turn_over(exit_codes.exit_code_of_turn(event.reason))
            case SessionEnded():
                self._stays_open = False
                return ExitCode.STOPPED if self._is_idle else None
        return None

    async def _print_done(self) -> None:
        if (terminal := self._terminal) is not None:
            duration = (
                f" in {format_duration(terminal.status_line.duration)}"
                if terminal.status_line.duration is not None
                else ""
            )
            used = await describe_totals(self._client, self._session)
            terminal.writer.write_line(click.style(f"Done{duration} · {used}", dim=True))

    async def _on_turn_over(self, end: ExitCode) -> ExitCode | None:
        """The exit code, unless more was sent or may be typed."""
        self._exit_code, self._stop = end, None
        if self._untaken:
            return None
        if not (self._stays_open and self._follower.keyboard.open):
            return end
        self._print_prompt_hint()
        return None

    def _print_prompt_hint(self) -> None:
        if not self._hint_printed and self._stays_open and self._terminal is not None:
            self._terminal.print_note(_INVITATION)
        self._hint_printed = True

    async def _on_ask(self, ask: AskId) -> ExitCode | None:
        """Put the ask to the person, or show how to answer it."""
        entry = next(iter(await self._follower.wait_until_reachable(lambda: self._client.inbox.asks(ask=ask))), None)
        if entry is None or entry.state is not AskState.OPEN or ask in self._shown_asks:
            return None
        self._shown_asks.add(ask)
        command_support.ring_bell(self._client.settings)
        if self._ask_prompt is not None:
            await self._ask_prompt.on_raised(entry)
            return None
        self._renderer.on_ask(entry)
        return ExitCode.WAITING if self._options.no_wait else None

    async def _on_line(self, sender: PromptSender, text: str | None) -> ExitCode | None:
        """Handle a line typed while no question was open; None is the end of the input."""
        if text is None:
            if not self._is_idle:
                self._follower.print_note("No more prompts are taken: this ends with the turn.")
            return self._exit_code if self._is_idle else None
        match await sender.submit(text):
            case SlashCommand.EXIT:
                return self._exit_code if self._is_idle else self._leave()
            case SlashCommand.STOP:
                self._begin_stop()
            case SlashCommand.HELP:
                for each in SLASH_HELP:
                    self._follower.print_note(each)
            case SentPrompt(id=sent):
                self._untaken.add(sent)
        return None

    async def _on_interrupt(self) -> ExitCode | None:
        """The first Ctrl-C stops the turn; the second leaves, after a moment to record the stop.

        With nothing to stop, it drops the typed line, or leaves.
        """
        if self._is_idle:
            if not self._follower.keyboard.typed:
                return self._exit_code
            self._follower.keyboard.clear()
            return None
        if self._stop is None:
            self._begin_stop()
            self._follower.print_note("Stopping the turn. Ctrl-C again leaves without waiting for its end.")
            return None
        await asyncio.wait([self._stop], timeout=_MOMENT)
        if self._stop.done() and self._stop.exception() is None:
            self._follower.print_note("Left. The stop is recorded, and the turn ends by itself.")
        else:
            self._follower.print_note(
                f"Left before the stop was recorded: the task may go on. `holdfast stop {self._session}`"
            )
        return self._leave()

    def _leave(self) -> ExitCode:
        self._follower.print_note(f"  holdfast watch {self._session}")
        return ExitCode.INTERRUPTED

    def _begin_stop(self) -> None:
        if self._is_idle:
            self._follower.print_note("Nothing is at work.")
            return
        self._stop = asyncio.create_task(self._client.stop(self._session))
        self._stop.add_done_callback(self._report_stop)

    def _report_stop(self, stop: asyncio.Task[AcceptedStop]) -> None:
        if stop.cancelled():  # the person has left; that was reported
            return
        if isinstance(error := stop.exception(), HoldfastError):
            self._follower.print_note(f"The stop was not recorded, so the task goes on: {escape_prose(str(error))}")
