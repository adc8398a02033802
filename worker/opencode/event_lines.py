"""A session as JSON lines: OpenCode's `run --format json`, plus our own."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

from pydantic import JsonValue, SerializeAsAny

from worker.opencode.exported_shapes import Paths
from worker.opencode.message_stream import StreamEvent
from worker.opencode.projector import Projector
from worker.opencode.shapes import ErrorShape, PartShape, Shape, ToolShape, milliseconds
from worker.stored_contents import begun_wait, note_of
from workflows.domain.events.calls import CallFinished
from workflows.domain.events.copies import SessionForked, SessionImported
from workflows.domain.events.event import Event
from workflows.domain.events.generations import (
    CompactionFailed,
    ContextCompacted,
    ContextPruned,
    MessageCompleted,
    ModelRetry,
)
from workflows.domain.events.prompts import PromptAccepted, PromptShortened
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import ConfigurationChanged, TurnEnded, TurnOpened
from workflows.domain.events.waits import WaitBegun, WaitEnded
from workflows.domain.ids import SessionId, TurnConfigId
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.inbox import InboxEntry

_PartKind = Literal["step_start", "text", "reasoning", "tool_use", "step_finish"]
_LINES: Final[Mapping[str, _PartKind]] = {
    "step-start": "step_start",
    "text": "text",
    "reasoning": "reasoning",
    "tool": "tool_use",
    "step-finish": "step_finish",
}
_OwnKind = Literal[
    "error",
    "ask",
    "retry",
    "turn_start",
    "turn_end",
    "configuration_changed",
    "compacted",
    "compaction_failed",
    "pruned",
    "prompt_shortened",
    "command",
    "wait_begun",
    "wait_ended",
    "task_started",
    "task_ended",
    "forked",
    "imported",
]
_OwnEvent = (
    ConfigurationChanged
    | ContextCompacted
    | ContextPruned
    | CompactionFailed
    | PromptShortened
    | SessionForked
    | SessionImported
    | WaitBegun
    | WaitEnded
    | TaskStarted
)


class RetryWait(Shape):
    """`next` in milliseconds."""

    attempt: int
    kind: str
    message: str
    next: int


class JsonLine(Shape):
    """Ours: `ask`, `retry`, `turn_start`, `turn_end`, `configuration_changed` (its `changes` in words), `compacted`
    (`tokens` of the context, and the summary's `cost` in US dollars), `compaction_failed`, `command` (a slash
    command's `name`, `arguments` and `messageID`), `prompt_shortened` (characters that are `shown`), `seq` (of the
    session's event), `configuration` (the turn's), `forked` and `imported` (of `origin`), `wait_begun` and
    `wait_ended`, `task_started` and, in the background, `task_ended` (of a `call`, by a subagent's session)."""

    type: _PartKind | _OwnKind
    timestamp: int
    session_id: SessionId
    seq: int | None = None
    part: SerializeAsAny[PartShape] | None = None
    error: ErrorShape | None = None
    ask: dict[str, JsonValue] | None = None
    retry: RetryWait | None = None
    waiting: dict[str, JsonValue] | None = None
    task: dict[str, JsonValue] | None = None
    tokens: dict[str, int] | None = None
    cost: float | None = None
    shown: int | None = None
    command: dict[str, JsonValue] | None = None
    configuration: TurnConfigId | None = None
    changes: list[str] | None = None
    origin: str | None = None
    reason: str | None = None

    @property
    def encoded(self) -> str:
        """ASCII, so no model output can break the line."""
        return json.dumps(self.dump(), separators=(",", ":"))


class EventLines:
    """A session's final events as lines, in order."""

    def __init__(self) -> None:
        self._seq: int | None = None
        self._lines: list[JsonLine] = []
        self._projector: Projector | None = None

    def of_ask(self, entry: InboxEntry) -> list[JsonLine]:
        at = milliseconds(entry.asked_at)
        self._add_line(type="ask", timestamp=at, session_id=entry.session, ask=entry.model_dump(mode="json"))
        return self._take()

    def of_event(self, seen: EventWithContents) -> list[JsonLine]:
        record = seen.record
        self._seq = record.seq
        at = milliseconds(datetime.fromisoformat(record.at))
        if self._projector is None:
            self._projector = Projector(record.session, Paths(cwd="", root=""))
        for each in self._projector.of_event(seen):
            self._add_event(record.event, each, at)
        match record.event:
            case TurnOpened(turn_config=turn_config):
                self._add_line(type="turn_start", timestamp=at, session_id=record.session, configuration=turn_config)
            case event if isinstance(event, _OwnEvent):
                self._add_line(timestamp=at, session_id=record.session, **_of_own_event(seen, event))
            case PromptAccepted(task=task) if task is not None:
                self._add_line(type="task_ended", timestamp=at, session_id=record.session, task={"call": task})
            case ModelRetry() as retry if retry.purpose.delays_turn:
                due = milliseconds(datetime.fromisoformat(retry.next_at))
                pause = RetryWait(attempt=retry.attempt, kind=retry.kind, message=note_of(seen, retry.note), next=due)
                self._add_line(type="retry", timestamp=at, session_id=record.session, retry=pause)
            case TurnEnded(reason=reason):
                self._add_line(type="turn_end", timestamp=at, session_id=record.session, reason=reason)
        return self._take()

    def _add_line(self, **fields: Any) -> None:
        self._lines.append(JsonLine(seq=self._seq, **fields))

    def _take(self) -> list[JsonLine]:
        taken, self._lines = self._lines, []
        return taken

    def _add_event(self, event: Event, streamed: StreamEvent, at: int) -> None:
        """An error, a slash command, or a part that is complete: of an answer, or a call that has ended."""
        properties = dict(streamed.properties)
        session, part, error = properties.pop("sessionID"), properties.get("part"), properties.get("error")
        named = {"timestamp": at, "session_id": session}
        if streamed.type == "command.executed":
            self._add_line(type="command", command=properties, **named)
        elif isinstance(event, TurnEnded) and isinstance(error, ErrorShape) and event.note is not None:
            self._add_line(type="error", error=error, **named)
        elif isinstance(event, MessageCompleted | CallFinished) and isinstance(part, PartShape) and _is_final(part):
            self._add_line(type=_LINES[part.type], part=part, **named)


def _is_final(part: PartShape) -> bool:
    return part.type in _LINES and (not isinstance(part, ToolShape) or part.state.status in ("completed", "error"))


def _of_own_event(seen: EventWithContents, event: _OwnEvent) -> dict[str, Any]:
    match event:
        case ConfigurationChanged(after=after, note=note):
            changes = note_of(seen, note).splitlines()
            return {"type": "configuration_changed", "configuration": after, "changes": changes}
        case ContextCompacted(before=before, after=after, cost=cost):
            tokens = {"before": before, "after": after}
            return {"type": "compacted", "tokens": tokens, "cost": None if cost is None else float(cost)}
        case ContextPruned(tokens=cleared):
            return {"type": "pruned", "tokens": {"cleared": cleared}}
        case SessionForked() | SessionImported():
            return {"type": "forked" if isinstance(event, SessionForked) else "imported", "origin": event.origin}
        case CompactionFailed(note=note):
            return {"type": "compaction_failed", "reason": note_of(seen, note)}
        case PromptShortened(shown=shown, without_files=without):
            reason = "The model does not read the files that it holds." if without else None
            return {"type": "prompt_shortened", "shown": shown, "reason": reason}
        case TaskStarted():
            named = event.model_dump(include={"call", "agent", "background"})
            return dict(type="task_started", task={**named, "sessionID": event.child})
        case WaitBegun(call=call):
            subject, until = begun_wait(seen, event)
            named = subject.model_dump(mode="json", include={"kind", "name", "event"})
            due = None if until is None else milliseconds(until)
            return {"type": "wait_begun", "waiting": {"call": call, **named, "until": due}}
        case WaitEnded(call=call, end=end):
            return {"type": "wait_ended", "waiting": {"call": call}, "reason": str(end)}
