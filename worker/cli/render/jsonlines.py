"""A session and its subagents as JSON, one object per line."""

from collections.abc import Iterable
from contextlib import aclosing
from typing import Final

import click

from worker.api.events import EventWithContents, PublishedDelta
from worker.api.inbox import InboxEntry
from worker.cli.render.subagent_view import SubagentView
from worker.opencode.event_lines import EventLines, JsonLine
from worker.session_client import SessionClient
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.ids import SessionId

_LOOKBACK: Final = 100  # earlier events that are read to know the step


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
