"""A session and its subagents in one view; a margin names the subagent."""

from collections.abc import Callable, Iterable
from contextlib import aclosing
from itertools import chain, count
from typing import Final

import click

from worker.cli.render.escaping import one_line
from worker.cli.render.event_renderer import EventRenderer, Renderer
from worker.cli.render.status_line import StatusLine
from worker.cli.render.terminal_writer import MarginWriter, TerminalWriter
from worker.opencode.event_lines import EventLines, JsonLine
from worker.session_client import SessionClient
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.ids import SessionId
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.inbox import InboxEntry

_LOOKBACK: Final = 100  # earlier events that are read to know the step


class SubagentView:
    """Gives each subagent a renderer, made by `subagent` from its names.

    A subagent that started before the first event is named by its session's id.
    """

    def __init__(self, session: SessionId, renderer: Renderer, subagent: Callable[[tuple[str, ...]], Renderer]) -> None:
        self._first = renderer
        self._make_subagent = subagent
        self._members: dict[SessionId, tuple[Renderer, tuple[str, ...]]] = {session: (renderer, ())}  # with names

    def on_event(self, seen: EventWithContents) -> None:
        renderer, names = self._member(seen.record.session)
        renderer.on_event(seen)
        if isinstance(event := seen.record.event, TaskStarted) and event.child not in self._members:
            names = (*names, self._unused((*names, event.agent)))
            self._members[event.child] = self._make_subagent(names), names

    def on_delta(self, delta: PublishedDelta) -> None:
        self._first.on_delta(delta)

    def on_ask(self, entry: InboxEntry) -> None:
        self._member(entry.session)[0].on_ask(entry)

    def _unused(self, names: tuple[str, ...]) -> str:
        known = {taken for _, taken in self._members.values()}
        numbered = chain([names[-1]], (f"{names[-1]} {number}" for number in count(2)))
        return next(name for name in numbered if (*names[:-1], name) not in known)

    def _member(self, session: SessionId) -> tuple[Renderer, tuple[str, ...]]:
        if session not in self._members:
            self._members[session] = self._make_subagent((session,)), (session,)
        return self._members[session]


def create_session_view(
    writer: TerminalWriter, session: SessionId, status_line: StatusLine | None = None, *, thinking: bool = False
) -> SubagentView:

    def subagent(names: tuple[str, ...]) -> EventRenderer:
        return EventRenderer(MarginWriter(writer, " › ".join(map(one_line, names))), subagent=True, thinking=thinking)

    return SubagentView(session, EventRenderer(writer, status_line=status_line, thinking=thinking), subagent)


class JsonRenderer:
    """Prints the lines of a session."""

    def __init__(self, lines: EventLines) -> None:
        self._lines = lines

    def on_delta(self, delta: PublishedDelta) -> None:
        """Unfinished pieces have no line."""

    def on_event(self, seen: EventWithContents) -> None:
        _print(self._lines.of_event(seen))

    def on_ask(self, entry: InboxEntry) -> None:
        _print(self._lines.of_ask(entry))


def _print(lines: Iterable[JsonLine]) -> None:
    """Print the lines of one event together: a reader of the first has them all."""
    if text := "\n".join(line.encoded for line in lines):
        click.echo(text)


async def create_json_view(client: SessionClient, session: SessionId, after: int = 0) -> SubagentView:
    """Lines after event `after` that name their session. Raises NotFound."""
    lines, lookback = EventLines(), _LOOKBACK
    while after > 0:
        before = await _read_events(client, session, max(after - lookback, 0), after)
        events = (each.record.event for each in before)
        if after <= lookback or any(isinstance(each, MessageCompleted) and each.turn is not None for each in events):
            for each in before:
                lines.of_event(each)  # they were shown before
            break
        lookback *= 4
    return SubagentView(session, JsonRenderer(lines), lambda _: JsonRenderer(EventLines()))


async def _read_events(client: SessionClient, session: SessionId, first: int, last: int) -> list[EventWithContents]:
    found = []
    async with aclosing(client.records.log(session, first)) as log:
        async for seen in log:
            if seen.record.seq > last:
                break
            found.append(seen)
    return found
