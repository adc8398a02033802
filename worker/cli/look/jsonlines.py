"""A story as JSON, one object on each line: OpenCode's `run --format json`, and lines of ours for what it lacks."""

import json
from contextlib import aclosing
from datetime import datetime
from typing import Any, Final, Literal

import click
from pydantic import JsonValue, SerializeAsAny

from worker.cli.look.contents import call_of, note_of, part_of
from worker.cli.look.effect import listed
from worker.cli.look.export import milliseconds
from worker.cli.look.family import Family
from worker.cli.look.shapes import (
    Error,
    Part,
    Problem,
    Reasoning,
    Shape,
    Span,
    StepFinish,
    Text,
    Tool,
    step_finish,
    step_start,
    tool_state,
)
from worker.client import Delta, InboxEntry, Seen, SessionClient
from workflows.domain.events import (
    CallClaimed,
    CallFinished,
    CallPrepared,
    MessageCompleted,
    ModelRetry,
    TurnEnded,
    TurnOpened,
)
from workflows.domain.ids import MessageId, PartId, SessionId, SnapshotId
from workflows.domain.messages import CallState, TextPart

_REACH: Final = 100  # events before a point of the log that are read to know its step
_PartKind = Literal["step_start", "text", "reasoning", "tool_use", "step_finish"]


class Pause(Shape):
    """A provider's failure that is waited out; `next` is in milliseconds."""

    attempt: int
    kind: str
    message: str
    next: int


class Line(Shape):
    """One line; `ask`, `retry`, `turn_start` and `turn_end` are ours, and so is `seq`: the event of the session that it
    tells. `configuration` is what a turn has frozen."""

    type: _PartKind | Literal["error", "ask", "retry", "turn_start", "turn_end"]
    timestamp: int
    session_id: SessionId
    seq: int | None = None
    part: SerializeAsAny[Part] | None = None
    error: Error | None = None
    ask: dict[str, JsonValue] | None = None
    retry: Pause | None = None
    configuration: SnapshotId | None = None
    reason: str | None = None

    @property
    def written(self) -> str:
        """The line in ASCII, so that no text of a model can break it."""
        return json.dumps(self.dump(), separators=(",", ":"))


class JsonStory:
    """Tells what happens as lines of JSON; what is not final is left out."""

    def __init__(self) -> None:
        self._seq: int | None = None
        self._lines: list[Line] = []
        self._messages: dict[PartId, MessageId] = {}
        self._starts: dict[PartId, int] = {}
        self._message = MessageId("")
        self._finish: tuple[int, StepFinish] | None = None

    def show(self, delta: Delta) -> None:
        """Unfinished pieces are not told."""

    def tell(self, seen: Seen) -> None:
        """The lines of an event are written at once: who has read the first of them has them all."""
        self.remember(seen)
        self._write()

    def ask(self, entry: InboxEntry) -> None:
        """An ask that waits now."""
        self._line(type="ask", timestamp=milliseconds(entry.asked_at), session_id=entry.session, ask=listed(entry))
        self._write()

    def remember(self, seen: Seen) -> None:
        """Take an event in: its lines are told with those of the next one, unless they are forgotten."""
        record = seen.record
        self._seq = record.seq
        at = milliseconds(datetime.fromisoformat(record.at))
        match record.event:
            case TurnOpened(snapshot=snapshot):
                self._line(type="turn_start", timestamp=at, session_id=record.session, configuration=snapshot)
            case MessageCompleted():
                self._completed(seen, record.event, at)
            case CallPrepared(call=call):
                self._messages[call] = self._message
            case CallClaimed(call=call):
                self._starts.setdefault(call, at)
            case CallFinished(call=call, state=state):
                self._finished(seen, call, CallState(state), at)
            case ModelRetry() as retry:
                due = milliseconds(datetime.fromisoformat(retry.next_at))
                pause = Pause(attempt=retry.attempt, kind=retry.kind, message=note_of(seen, retry.note), next=due)
                self._line(type="retry", timestamp=at, session_id=record.session, retry=pause)
            case TurnEnded(reason=reason, note=note):
                self._step_finished()
                if note is not None:
                    problem = Error(data=Problem(message=note_of(seen, note)))
                    self._line(type="error", timestamp=at, session_id=record.session, error=problem)
                self._line(type="turn_end", timestamp=at, session_id=record.session, reason=reason)

    def forget(self) -> None:
        """Drop the lines that were not told: somebody has them."""
        self._lines.clear()

    def _completed(self, seen: Seen, event: MessageCompleted, at: int) -> None:
        self._step_finished()
        self._message = event.message
        session, message = seen.record.session, event.message
        self._part("step_start", at, step_start(session, message))
        for sealed in event.parts:
            part = part_of(seen, sealed.part)
            if part is not None:
                shape = Text if isinstance(part, TextPart) else Reasoning
                span = Span(start=at, end=at)
                told = shape(id=sealed.part, session_id=session, message_id=message, text=part.text, time=span)
                self._part(part.type, at, told)
        self._finish = (at, step_finish(session, message, event))

    def _finished(self, seen: Seen, call: PartId, state: CallState, at: int) -> None:
        content = call_of(seen, call)
        if content is None:
            return
        span = Span(start=self._starts.get(call, at), end=at)
        told = Tool(
            id=call,
            session_id=seen.record.session,
            message_id=self._messages.get(call, MessageId("")),
            call_id=call,
            tool=content.tool,
            state=tool_state(state, content.arguments, content.outcome, span),
        )
        self._part("tool_use", at, told)

    def _step_finished(self) -> None:
        """A step is finished when its calls are: told when the next one, or the end, comes."""
        if self._finish is not None:
            self._part("step_finish", *self._finish)
            self._finish = None

    def _line(self, **fields: Any) -> None:
        self._lines.append(Line(seq=self._seq, **fields))

    def _write(self) -> None:
        if self._lines:
            click.echo("\n".join(line.written for line in self._lines))
            self._lines.clear()

    def _part(self, kind: _PartKind, at: int, part: Part) -> None:
        self._line(type=kind, timestamp=at, session_id=part.session_id, part=part)


def lines(session: SessionId) -> Family:
    """A session and its subagents as lines, which name the session that they are of."""
    return Family(session, JsonStory(), lambda _: JsonStory())


async def lines_after(client: SessionClient, session: SessionId, after: int) -> Family:
    """The lines behind event `after`, which know what was told of its step before it. Raises NotFound."""
    story, reach = JsonStory(), _REACH
    while after > 0:
        before = await _between(client, session, max(after - reach, 0), after)
        if after <= reach or any(isinstance(each.record.event, MessageCompleted) for each in before):
            for each in before:
                story.remember(each)
            break
        reach *= 4
    story.forget()
    return Family(session, story, lambda _: JsonStory())


async def _between(client: SessionClient, session: SessionId, first: int, last: int) -> list[Seen]:
    found = []
    async with aclosing(client.log(session, first)) as log:
        async for seen in log:
            if seen.record.seq > last:
                break
            found.append(seen)
    return found
