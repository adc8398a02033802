"""Interview: open asks are put to the person at the terminal, one after the other."""

import functools
import shutil
from collections import deque
from collections.abc import Iterable

from worker.cli import answer_words
from worker.cli.follow import Follower
from worker.cli.look import pager
from worker.cli.look.screen import Screen
from worker.cli.look.text import line, prose
from worker.cli.question import EXPLAINED, Question, Unclear
from worker.client import Decided, InboxEntry, SessionClient
from workflows.domain.errors import Conflict, Unavailable
from workflows.domain.ids import AskId
from workflows.domain.wire import AskState

_MANY = 5  # questions of one run, after which a rule is worth its while (security.md 4)


class Interview:
    """Asks, and hands the answers to the client; an ask that is settled elsewhere is asked no more."""

    def __init__(self, client: SessionClient, screen: Screen, follower: Follower) -> None:
        self._client = client
        self._screen = screen
        self._page = screen.page
        self._gauge = screen.gauge
        self._follower = follower
        self._waiting: deque[AskId] = deque()
        self._question: Question | None = None
        self._count = 0

    @property
    def prompt(self) -> str:
        """What the person is asked, and what they have typed so far; nothing while nothing is asked."""
        return f"{self._question.prompt}{self._follower.keyboard.typed}" if self._question is not None else ""

    async def raised(self, entry: InboxEntry) -> None:
        self._waiting.append(entry.id)
        await self._next()

    async def settled(self, ask: AskId) -> None:
        if ask in self._waiting:
            self._waiting.remove(ask)
        if self._question is not None and self._question.entry.id == ask:
            if self._follower.keyboard.typed:
                self._page.line("  It was answered elsewhere; what you were typing is dropped.")
            self._question = None
            await self._next()

    async def typed(self, text: str | None, ask: AskId) -> None:
        """Take a typed line for an answer; the end of the input leaves the asks to be answered elsewhere."""
        if self._question is None or self._question.entry.id != ask:  # it was settled elsewhere meanwhile
            return
        if text is None:
            self._page.line(f"It waits: {answer_words.command(self._question.entry.id)}")
            if draft := self._follower.keyboard.draft:
                self._page.line(f"Not sent: {line(draft)}")
            self._question = None
        elif text.strip():
            self._page.line(f"{self._question.prompt}{prose(text)}")
            await self._decided(self._question, self._question.decide(text))

    async def _next(self) -> None:
        while self._question is None and self._waiting:
            ask = self._waiting.popleft()
            found = await self._follower.reached(functools.partial(self._client.asks, ask=ask))
            if found and found[0].state is AskState.OPEN:
                self._put(Question(found[0]))
        if self._question is None:
            self._follower.keyboard.prompts()

    def _put(self, question: Question) -> None:
        self._question = question
        self._show(question)
        if behind := self._gauge.behind():
            self._page.line(f"  {behind}")
        self._count += 1
        if self._count == _MANY:
            self._page.line('  (Many questions? A rule in opencode.json, under "permission", answers for good.)')
        self._follower.keyboard.answers(question.entry.id)

    def _show(self, question: Question) -> None:
        height = shutil.get_terminal_size().lines if self._page.live else None
        self._write(question.lines(columns=self._page.columns, height=height))

    def _write(self, rows: Iterable[str]) -> None:
        for each in rows:
            self._page.line(each)

    async def _view(self, question: Question) -> None:
        """Show all of it: what is longer than the terminal in a pager, and then the question again."""
        rows = list(question.lines(whole=True, columns=self._page.columns))
        fits = len(rows) < shutil.get_terminal_size().lines
        if not self._page.live or fits or not pager.is_there(self._client.settings.environment):
            self._write(rows)
            return
        self._page.passing()
        await self._follower.lend_terminal(functools.partial(pager.show, rows))
        self._show(question)
        self._follower.keyboard.answers(question.entry.id)

    async def _decided(self, question: Question, decided: Decided | Unclear) -> None:
        if decided is Unclear.VIEW:
            await self._view(question)
        elif isinstance(decided, Unclear):
            self._page.line(EXPLAINED[decided])
        else:
            await self._answer(question, decided)

    async def _answer(self, question: Question, decided: Decided) -> None:
        try:
            await self._client.answer(question.entry.id, decided)
        except Unavailable as error:
            self._screen.say(f"Your answer was not recorded, type it again: {prose(str(error))}")
            return
        except Conflict as error:
            self._screen.say(prose(str(error)))
        self._question = None
        await self._next()
