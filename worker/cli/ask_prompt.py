"""Open asks at the terminal."""

import functools
import shlex
import shutil
from collections import deque
from collections.abc import Mapping

import click

from worker.api.inbox import InboxEntry
from worker.cli.ask_dialog import AskDialog, NotAnAnswer, answer_command, open_dialog
from worker.cli.question_dialog import BadChoice, NextQuestion, QuestionDialog
from worker.cli.render.console import with_styles
from worker.cli.render.escaping import escape_prose, one_line
from worker.cli.render.terminal import Terminal
from worker.cli.session_follower import SessionFollower
from workflows.domain.errors import Conflict, Unavailable
from workflows.domain.ids import AskId
from workflows.domain.permissions.replies import AskDecision
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
        """The prompt's text; empty while no ask is shown."""
        return f"{self._dialog.prompt}{self._follower.keyboard.typed}" if self._dialog is not None else ""

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
