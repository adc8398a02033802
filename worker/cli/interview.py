"""Interview: open asks are put to the person at the terminal, one after the other."""

import functools
from collections import deque

from worker.cli import door
from worker.cli.follow import Follower
from worker.cli.look.page import Page
from worker.cli.look.text import prose
from worker.cli.question import EXPLAINED, Question, Unclear
from worker.client import Decided, InboxEntry, SessionClient
from workflows.domain.errors import Conflict, Unavailable
from workflows.domain.ids import AskId
from workflows.domain.wire import AskState

_MANY = 5  # questions of one run, after which a rule is worth its while (security.md 4)


class Interview:
    """Asks, and hands the answers to the client; an ask that is settled elsewhere is asked no more."""

    def __init__(self, client: SessionClient, page: Page, follower: Follower) -> None:
        self._client = client
        self._page = page
        self._follower = follower
        self._waiting: deque[AskId] = deque()
        self._question: Question | None = None
        self._count = 0

    @property
    def asking(self) -> bool:
        return self._question is not None

    async def raised(self, entry: InboxEntry) -> None:
        self._waiting.append(entry.id)
        await self._next()

    async def settled(self, ask: AskId) -> None:
        if ask in self._waiting:
            self._waiting.remove(ask)
        if self._question is not None and self._question.entry.id == ask:
            self._question = None
            await self._next()

    async def typed(self, text: str | None) -> None:
        """Take a typed line for an answer; the end of the input leaves the asks to be answered elsewhere."""
        self._page.entered()
        if self._question is None:
            return
        if text is None:
            self._page.line()
            self._page.line(f"It waits: holdfast answer {self._question.entry.id} once | always | reject -m 'why'")
            self._question = None
        elif text.strip():
            await self._decided(self._question, self._question.decide(text))

    def redraw(self) -> None:
        """Show the prompt again, below whatever was written meanwhile."""
        if self._question is not None:
            self._page.passing(self._question.prompt)

    async def _next(self) -> None:
        while self._question is None and self._waiting:
            ask = self._waiting.popleft()
            found = await self._follower.reached(functools.partial(self._client.asks, ask=ask))
            if found and found[0].state is AskState.OPEN:
                self._put(Question(found[0]))
        if self._question is None:
            self._follower.rest()

    def _put(self, question: Question) -> None:
        self._question = question
        self._show(question)
        self._count += 1
        if self._count == _MANY:
            self._page.line('  (Many questions? A rule in opencode.json, under "permission", answers for good.)')
        self._follower.listen()

    def _show(self, question: Question, *, whole: bool = False) -> None:
        for each in question.lines(whole=whole):
            self._page.line(each)

    async def _decided(self, question: Question, decided: Decided | Unclear) -> None:
        if decided is Unclear.VIEW:
            self._show(question, whole=True)
        elif isinstance(decided, Unclear):
            self._page.line(EXPLAINED[decided])
        else:
            await self._answer(question, decided)

    async def _answer(self, question: Question, decided: Decided) -> None:
        try:
            await self._client.answer(question.entry.id, decided)
        except Unavailable as error:
            door.say(f"Your answer was not recorded, type it again: {prose(str(error))}")
            return
        except Conflict as error:
            door.say(prose(str(error)))
        self._question = None
        await self._next()
