"""A session and its subagents as one story: what a subagent does stands in a margin that names it."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, count

import click

from worker.cli.look.gauge import Gauge
from worker.cli.look.page import Page
from worker.cli.look.story import Story, Teller
from worker.cli.look.text import line, width
from worker.cli.look.wrap import folded
from worker.client import Delta, InboxEntry, Seen
from workflows.domain.events import TaskStarted
from workflows.domain.ids import SessionId


class Margin(Page):
    """The part of a page where a subagent's story stands: whole lines, each behind its name."""

    def __init__(self, page: Page, name: str) -> None:
        super().__init__(live=False)
        self._page = page
        self._name = name

    @property
    def columns(self) -> int | None:
        room = self._page.columns
        return None if room is None else room - width(self._name) - 3

    def line(self, text: str = "") -> None:
        self._page.line(self._marked(text))

    def settle(self, whole: str) -> None:
        for row in folded(whole.rstrip("\n"), self.columns) if whole else []:
            self.line(row)

    def _marked(self, text: str) -> str:
        return f"{click.style(f'{self._name} │', dim=True)} {text}"


@dataclass
class Member:
    """Who tells of a session, and the names of its subagents down to it."""

    teller: Teller
    names: tuple[str, ...] = ()


class Family:
    """Tells of a session, and of each subagent by a teller of its own; `below` makes one for a subagent's names.

    One whose start was not told, for it was before what is told of, has its session's id for a name.
    """

    def __init__(self, session: SessionId, teller: Teller, below: Callable[[tuple[str, ...]], Teller]) -> None:
        self._first = Member(teller)
        self._below = below
        self._members: dict[SessionId, Member] = {session: self._first}

    def tell(self, seen: Seen) -> None:
        member = self._member(seen.record.session)
        member.teller.tell(seen)
        if isinstance(event := seen.record.event, TaskStarted) and event.child not in self._members:
            names = (*member.names, self._unused((*member.names, event.agent)))
            self._members[event.child] = Member(self._below(names), names)

    def show(self, delta: Delta) -> None:
        self._first.teller.show(delta)

    def ask(self, entry: InboxEntry) -> None:
        self._member(entry.session).teller.ask(entry)

    def _unused(self, names: tuple[str, ...]) -> str:
        """The last of the names, with a number when a subagent before it has them all."""
        known = {member.names for member in self._members.values()}
        numbered = chain([names[-1]], (f"{names[-1]} {number}" for number in count(2)))
        return next(name for name in numbered if (*names[:-1], name) not in known)

    def _member(self, session: SessionId) -> Member:
        if session not in self._members:
            self._members[session] = Member(self._below((session,)), (session,))
        return self._members[session]


def story(page: Page, session: SessionId, gauge: Gauge | None = None, *, thinking: bool = False) -> Family:
    """A session's story for people, with its subagents' in the margin."""

    def below(names: tuple[str, ...]) -> Story:
        return Story(Margin(page, " › ".join(map(line, names))), below=True, thinking=thinking)

    return Family(session, Story(page, gauge=gauge, thinking=thinking), below)
