"""What `run` and `watch` do with a session: show it, and put its asks to the person."""

import functools
import shlex
import shutil
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping

import click

from worker.cli.ask_dialog import (
    AskDialog,
    BadChoice,
    NextQuestion,
    NotAnAnswer,
    QuestionDialog,
    answer_command,
    open_dialog,
)
from worker.cli.command_support import alert_terminal
from worker.cli.exit_codes import ExitCode
from worker.cli.person_check import agents_call
from worker.cli.render.console import with_styles
from worker.cli.render.escaping import escape_prose, one_line
from worker.cli.render.event_renderer import Renderer
from worker.cli.render.terminal import Terminal
from worker.cli.session_follower import SessionFollower
from worker.cli.terminal_input import Interrupted, LineEntered, RedrawTick, UiEvent, is_interactive
from workflows.domain.errors import Conflict, Unavailable
from workflows.domain.events.asks import AskAnswered, AskClosed, AskRaised
from workflows.domain.ids import AskId
from workflows.domain.permissions.replies import AskDecision
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.inbox import InboxEntry
from workflows.domain.wire import AskState

_MANY = 5  # questions of a run before a rule is suggested (security.md 4)


class AskPrompt:
    """Puts asks to the person, one after the other; drops an ask that is settled elsewhere."""

    def __init__(self, follower: SessionFollower, terminal: Terminal) -> None:
        self._client = follower.client
        self._terminal = terminal
        self._writer = terminal.writer
        self._status_line = terminal.status_line
        self._follower = follower
        self._waiting: deque[AskId] = deque()
        self._dialog: AskDialog | QuestionDialog | None = None
        self._count = 0

    @property
    def prompt(self) -> str:
        """Empty while no ask is shown."""
        return self._dialog.prompt if self._dialog is not None else ""

    async def on_raised(self, entry: InboxEntry) -> None:
        self._waiting.append(entry.id)
        await self._next()

    async def on_settled(self, ask: AskId) -> None:
        if ask in self._waiting:
            self._waiting.remove(ask)
        if self._dialog is not None and self._dialog.entry.id == ask:
            if self._follower.keyboard.typed:
                self._writer.write_line("  It was answered elsewhere; what you were typing is dropped.")
            self._dialog = None
            await self._next()

    async def on_line(self, text: str | None, ask: AskId) -> None:
        """Take a typed line. None, the end of the input, leaves the asks open."""
        if self._dialog is None or self._dialog.entry.id != ask:  # settled elsewhere meanwhile
            return
        if text is None:
            self._writer.write_line(f"It waits: {answer_command(self._dialog.entry)}")
            if draft := self._follower.keyboard.draft:
                self._writer.write_line(f"Not sent: {one_line(draft)}")
            self._dialog = None
        elif text.strip():
            self._writer.write_line(f"{self._dialog.prompt}{escape_prose(text)}")
            await self._apply(self._dialog, self._dialog.parse(text))

    async def _next(self) -> None:
        while self._dialog is None and self._waiting:
            ask = self._waiting.popleft()
            found = await self._follower.wait_until_reachable(functools.partial(self._client.inbox.asks, ask=ask))
            if found and found[0].state is AskState.OPEN:
                self._open_dialog(open_dialog(found[0]))
        if self._dialog is None:
            self._follower.keyboard.begin_prompt()

    def _open_dialog(self, dialog: AskDialog | QuestionDialog) -> None:
        self._dialog = dialog
        self._show(dialog)
        if behind := self._status_line.queued_prompts():
            self._writer.write_line(f"  {behind}")
        self._count += isinstance(dialog, AskDialog)
        if self._count == _MANY and isinstance(dialog, AskDialog):
            self._writer.write_line(
                '  (Many questions? A rule in opencode.json, under "permission", answers for good.)'
            )
        self._follower.keyboard.begin_answer(dialog.entry.id)

    def _show(self, dialog: AskDialog | QuestionDialog) -> None:
        for each in dialog.lines(columns=self._writer.columns, height=self._writer.height):
            self._writer.write_line(each)

    async def _show_all(self, dialog: AskDialog | QuestionDialog) -> None:
        rows = list(dialog.lines(whole=True, columns=self._writer.columns))
        height = self._writer.height
        if height is None or len(rows) < height or not _has_pager(self._client.settings.environment):
            for each in rows:
                self._writer.write_line(each)
            return
        self._writer.set_footer()
        await self._follower.lend_terminal(functools.partial(click.echo_via_pager, with_styles(rows)))
        self._show(dialog)
        self._follower.keyboard.begin_answer(dialog.entry.id)

    async def _apply(
        self, dialog: AskDialog | QuestionDialog, decided: AskDecision | NotAnAnswer | BadChoice | NextQuestion
    ) -> None:
        match decided:
            case AskDecision():
                await self._send_answer(dialog, decided)
            case NotAnAnswer.VIEW:
                await self._show_all(dialog)
            case NextQuestion():
                self._show(dialog)
            case BadChoice(text=text):
                self._writer.write_line(f"  {escape_prose(text)}")
            case NotAnAnswer():
                self._writer.write_line(decided)

    async def _send_answer(self, dialog: AskDialog | QuestionDialog, decided: AskDecision) -> None:
        try:
            await self._client.answer(dialog.entry.id, decided)
        except Unavailable as error:
            self._terminal.print_note(f"Your answer was not recorded, type it again: {escape_prose(str(error))}")
            return
        except Conflict as error:
            self._terminal.print_note(escape_prose(str(error)))
        self._dialog = None
        await self._next()


def _has_pager(environment: Mapping[str, str]) -> bool:
    try:
        words = shlex.split(environment.get("PAGER", "")) or ["less"]
    except ValueError:
        return False
    return shutil.which(words[0]) is not None


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
