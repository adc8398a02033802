"""The loop of `run`: follow a turn, have its asks answered, take the next prompt."""

import asyncio
import signal
from contextlib import nullcontext
from typing import Final, NamedTuple, Self, TypeAlias

import click

from worker.cli import exit_codes
from worker.cli.command_support import alert_terminal, options, print_note
from worker.cli.exit_codes import ExitCode
from worker.cli.follow_loop import FollowLoop
from worker.cli.next_prompt import NextPrompt
from worker.cli.render.console import styled
from worker.cli.render.escaping import escape_prose
from worker.cli.render.event_renderer import Renderer
from worker.cli.render.formatting import format_duration, pluralize
from worker.cli.render.session_status import describe_stop
from worker.cli.render.subagent_view import create_json_view
from worker.cli.render.terminal import Terminal, prompt_for
from worker.cli.render.turn_summary import describe_usage
from worker.cli.session_follower import SessionFollower
from worker.cli.slash_commands import SLASH_HELP, RunCommand, may_be_command, parse_command, parse_run_command
from worker.cli.terminal_input import TabPressed, UiEvent
from worker.session_client import SessionClient
from workflows.domain.close_reason import CloseReason
from workflows.domain.errors import HoldfastError, Unavailable
from workflows.domain.events.compactions import CompactionTaken, CompactionWithdrawn
from workflows.domain.events.event import Event
from workflows.domain.events.prompts import PromptAccepted, PromptTaken, PromptWithdrawn
from workflows.domain.events.sessions import SessionEnded, SessionSuspended
from workflows.domain.events.stops import StopAccepted
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import RetryWithdrawn, TurnEnded, TurnOpened
from workflows.domain.ids import CompactionId, MessageId, PartId, RetryId, SessionId, TurnConfigId, TurnId
from workflows.domain.prompt import Prompt
from workflows.domain.value import Value
from workflows.domain.views.events import EventWithContents

AcceptedWork: TypeAlias = MessageId | RetryId | CompactionId
_MOMENT: Final = 1.0  # seconds that leaving waits for the stop: the second Ctrl-C may come milliseconds after it
_INVITATION: Final = "Type the next prompt; Ctrl-D leaves, /help says more."
_STOPPING = "It is stopped as soon as it is accepted. Ctrl-C again leaves without waiting for that."
_LEFT = "Left before it was known whether the task was accepted; if it was, `holdfast sessions` lists it."


class InterruptGuard:
    """Records Ctrl-C until the follower has a handler. A second one leaves."""

    def __init__(self) -> None:
        self.interrupted = False
        self._left = False
        self._task = asyncio.current_task()

    def __enter__(self) -> Self:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        if self._left:
            raise click.Abort from None

    def _on_interrupt(self) -> None:
        print_note(_LEFT if self.interrupted else _STOPPING)
        self._left = self.interrupted
        self.interrupted = True
        if self._left and self._task is not None:
            self._task.cancel()


class _StopEnd(NamedTuple):
    """The result of recording a stop. `leaves`: the next Ctrl-C leaves, as a turn is at work or ends by the stop."""

    recorded: bool
    leaves: bool


follow_options: Final = options(
    click.option("--detach", is_flag=True, help="Do not follow the task: it goes on in the background."),
    click.option("--no-wait", is_flag=True, help="End with code 4 when the task waits for an answer."),
    click.option(
        "--exit", "exit_", is_flag=True, help="On a terminal, too: end with the turn, ask for no other prompt."
    ),
)


class FollowOptions(Value):
    """How a session is followed after event `seq`.

    `turn`: its open turn. `no_wait`: end at a question. `stay_open`: on a terminal, ask for more prompts after a turn,
    for `agent`, `model` and `variant` until another agent takes over. `current_agent`: the one that a turn would begin
    with. `configuration`: the last one shown, with its
    `warnings`; without these, none are.
    """

    seq: int = 0
    turn: TurnId | None = None
    no_wait: bool = False
    stay_open: bool = True
    model: str | None = None
    variant: str | None = None
    agent: str | None = None
    current_agent: str | None = None
    configuration: TurnConfigId | None = None
    warnings: tuple[str, ...] | None = None
    thinking: bool = False
    as_json: bool = False


async def follow_session(
    client: SessionClient,
    session: SessionId,
    accepted: AcceptedWork | None,
    guard: InterruptGuard,
    options: FollowOptions,
) -> ExitCode:
    """Follow what was `accepted` to its end; stop it if `guard` was interrupted. Raises Unavailable."""
    terminal = None if options.as_json else Terminal(client.settings, session, thinking=options.thinking)
    with terminal or nullcontext():
        follower = SessionFollower(client, session, options.seq, terminal)
        renderer = terminal or await create_json_view(client, session)
        return await RunLoop(follower, renderer, accepted, options).follow(guard)


class RunLoop(FollowLoop):
    """Follows one person's prompts and retries; on an interactive terminal, typed lines are prompts, too."""

    def __init__(
        self,
        follower: SessionFollower,
        renderer: Renderer,
        accepted: AcceptedWork | None,
        options: FollowOptions,
    ) -> None:
        super().__init__(follower, renderer, no_wait=options.no_wait)
        self._takes_prompts = self._interactive_terminal is not None
        self._options = options
        self._unsent: tuple[str, MessageId | None] | None = None  # the refused line keeps its id: it may be recorded
        self._stays_open = self._takes_prompts and options.stay_open and not options.no_wait
        self._untaken: set[AcceptedWork] = {accepted} if accepted is not None else set()  # without a turn
        self._background = FollowedTasks()
        self._turn = options.turn
        self._configuration = options.configuration
        self._warnings = options.warnings
        named = (options.agent, options.model, options.variant, options.current_agent)
        self._next = NextPrompt(self._client, self._session, *named)
        self._stop: asyncio.Task[_StopEnd] | None = None
        self._exit_code = ExitCode.DONE
        self._hint_printed = False
        self._waits_for_background = False  # no turn runs, and no prompt is asked for

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
            return await self._until_end()

    @property
    def _is_idle(self) -> bool:
        return self._turn is None and not self._untaken

    def _refresh(self, terminal: Terminal, question: str) -> None:
        open_ = self._takes_prompts and self._follower.keyboard.open
        terminal.refresh(question, prompt_for(self._next.shown_agent, terminal.writer.columns) if open_ else "")

    async def _on_ui_event(self, ui_event: UiEvent) -> ExitCode | None:
        if isinstance(ui_event, TabPressed):
            await self._on_tab()
            return None
        return await super()._on_ui_event(ui_event)

    async def _on_tab(self) -> None:
        """Have another agent work on the next prompt."""
        if not self._takes_prompts:
            return
        try:
            await self._next.choose_next_agent()
        except HoldfastError as error:
            self._print_note(escape_prose(str(error)))

    async def _on_session_event(self, seen: EventWithContents) -> ExitCode | None:
        if self._no_wait and isinstance(seen.record.event, SessionSuspended):
            return ExitCode.WAITING
        return await super()._on_session_event(seen)

    async def _report_new_configuration(self, event: Event) -> None:
        """A worker may have found what this command could not see: an address that does not answer."""
        if not isinstance(event, TurnOpened) or event.turn_config == self._configuration:
            return
        if self._configuration is not None:
            self._print_note(f"Turn {event.number} works with another configuration: {event.turn_config}")
            self._configuration = event.turn_config
        if self._warnings is not None:
            records = self._client.records
            found = await self._follower.wait_until_reachable(lambda: records.warnings(event.turn_config))
            for new in (each for each in found if each not in self._warnings):
                self._print_note(f"Warning: {escape_prose(new)}")
            self._warnings = found

    async def _on_own_event(self, seen: EventWithContents) -> ExitCode | None:
        await self._report_new_configuration(seen.record.event)
        self._next.note(seen.record.event)
        if (result := self._background.note(seen.record.event)) is not None:
            self._untaken.add(result)
        match event := seen.record.event:
            case (
                PromptTaken(prompt=taken, turn=turn)
                | TurnOpened(retry=taken, turn=turn)
                | CompactionTaken(compaction=taken, turn=turn)
            ) if taken in self._untaken:
                self._untaken.discard(taken)
                self._turn = turn
            case TurnOpened(turn=turn) if self._stays_open:
                self._turn = turn
            case PromptWithdrawn(prompt=gone) | RetryWithdrawn(retry=gone) | CompactionWithdrawn(compaction=gone) if (
                gone in self._untaken
            ):
                self._untaken.discard(gone)
                end = self._exit_code if gone in self._background.results else ExitCode.STOPPED
                return await self._on_turn_over(end) if self._turn is None else None
            case TurnEnded() if event.turn == self._turn:
                alert_terminal(self._client.settings)
                self._turn = None
                if event.reason == CloseReason.DONE:
                    await self._print_done()
                return await self._on_turn_over(exit_codes.exit_code_of_turn(event.reason))
            case SessionEnded():
                self._stays_open = False
                return ExitCode.STOPPED if self._is_idle else None
            case StopAccepted(turn=None) if self._waits_for_background:
                return ExitCode.STOPPED
        return None

    async def _print_done(self) -> None:
        if (terminal := self._follower.terminal) is not None:
            duration = terminal.status_line.duration
            took = "" if duration is None else f" in {format_duration(duration)}"
            try:
                sums = await self._client.sessions.totals(self._session)
                used = describe_usage(sums.steps, sums.tokens, sums.cost)
            except Unavailable:  # the exit code does not depend on it
                used = "what it has used cannot be read at the moment"
            terminal.writer.write_line(styled(f"Done{took} · {used}", "dim"))

    async def _on_turn_over(self, end: ExitCode) -> ExitCode | None:
        self._exit_code, self._stop = end, None
        if self._untaken:
            return None
        stays_open = self._stays_open and self._follower.keyboard.open
        if self._background:
            self._print_note(self._background.describe(stays_open=stays_open))
            self._waits_for_background = not stays_open
            if stays_open:
                self._print_prompt_hint()
            return None
        if not stays_open:
            return end
        self._print_prompt_hint()
        return None

    def _print_prompt_hint(self) -> None:
        if not self._hint_printed and self._stays_open:
            self._print_note(_INVITATION)
        self._hint_printed = True

    async def _on_line(self, text: str | None) -> ExitCode | None:
        if not self._takes_prompts:
            return None
        if text is None:
            if not self._is_idle:
                self._print_note("No more prompts are taken: this ends with the turn.")
            return self._exit_code if self._is_idle else None
        try:
            return await self._on_command_or_prompt(text)
        except HoldfastError as error:
            self._print_note(f"Not sent: {escape_prose(str(error))}")
            self._follower.keyboard.typed = text + self._follower.keyboard.typed
            return None

    async def _on_command_or_prompt(self, text: str) -> ExitCode | None:
        match parse_run_command(text):
            case RunCommand.EXIT:
                return self._exit_code if self._is_idle else self._leave()
            case RunCommand.STOP:
                self._begin_stop()
            case RunCommand.HELP:
                for each in SLASH_HELP:
                    self._print_note(each)
            case RunCommand.RETRY:
                model, variant = self._next.model, self._next.variant
                self._untaken.add((await self._client.retry(self._session, model=model, variant=variant)).retry)
            case None if text.strip():
                self._untaken.add(await self._send(text))
        return None

    async def _send(self, text: str) -> MessageId:
        if self._unsent is None or self._unsent[0] != text:
            self._unsent = text, await self._client.new_prompt_id(self._session)
        prompt = await self._prompt_of(text)
        accepted = await self._client.prompt(self._session, prompt, prompt=self._unsent[1])
        self._unsent = None
        if not accepted.delivered:
            self._print_note("The engine cannot be reached at the moment; the prompt is recorded, and is taken later.")
        return accepted.prompt

    async def _prompt_of(self, text: str) -> Prompt:
        """The prompt that a line is, or that its slash command becomes."""
        given = self._next.without_text
        if may_be_command(text):
            found = await self._client.commands.list(self._session)
            if (typed := parse_command(text, found.names)) is not None:
                return await self._client.commands.of_session(self._session, typed.name, typed.arguments, given)
        return given.with_text(text)

    async def _on_interrupt(self) -> ExitCode | None:
        """The first Ctrl-C stops the turn; the second leaves, after a moment to record the stop.

        With nothing to stop, it drops the typed line, or leaves.
        """
        if self._is_idle:
            if not self._follower.keyboard.typed:
                return self._leave() if self._background else self._exit_code
            self._follower.keyboard.typed = ""
            return None
        if (stop := self._stop) is None or (stop.done() and not stop.result().leaves):
            self._begin_stop()
            self._print_note("Stopping the turn. Ctrl-C again leaves without waiting for its end.")
            return None
        await asyncio.wait([stop], timeout=_MOMENT)
        if stop.done() and stop.result().recorded:
            self._print_note("Left. The stop is recorded, and the turn ends by itself.")
        else:
            self._print_note(f"Left before the stop was recorded: the task may go on. `holdfast stop {self._session}`")
        return self._leave()

    def _leave(self) -> ExitCode:
        self._print_note(f"  holdfast watch {self._session}")
        return ExitCode.INTERRUPTED

    def _begin_stop(self) -> None:
        self._stop = asyncio.create_task(self._record_stop())

    async def _record_stop(self) -> _StopEnd:
        try:
            stopped = await self._client.stop(self._session)
        except HoldfastError as error:
            self._print_note(f"The stop was not recorded, so the task goes on: {escape_prose(str(error))}")
            return _StopEnd(recorded=False, leaves=not self._is_idle)
        if stopped.turn is None:  # no turn that ends is still to come
            self._print_note(describe_stop(stopped))
        return _StopEnd(recorded=True, leaves=stopped.turn is not None)


class FollowedTasks:
    """Background tasks that began while we followed the session, and whose results will come. `results`: the prompts
    that brought results, until a stop."""

    def __init__(self) -> None:
        self.results: set[MessageId] = set()
        self._calls: set[PartId] = set()

    def __bool__(self) -> bool:
        return bool(self._calls)

    def note(self, event: Event) -> MessageId | None:
        """Returns the prompt that has the result of one. A stop ends them all."""
        match event:
            case TaskStarted(background=True):
                self._calls.add(event.call)
            case PromptAccepted(task=call) if call in self._calls:
                self._calls.discard(call)
                self.results.add(event.prompt)
                return event.prompt
            case PromptWithdrawn(prompt=held) if held in self.results:
                self._calls.clear()  # the next results are held, too
            case StopAccepted() | SessionEnded():
                self._calls.clear()
                self.results.clear()
        return None

    def describe(self, *, stays_open: bool) -> str:
        tasks = pluralize(len(self._calls), "background task")
        end = "when it ends" if len(self._calls) == 1 else "as each of them ends"
        leave = "" if stays_open else " Ctrl-C leaves, and nothing is lost."
        return f"{tasks} at work: the session goes on {end}.{leave}"
