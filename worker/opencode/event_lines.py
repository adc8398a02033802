"""A session as JSON lines: OpenCode's `run --format json`, plus our own."""

import json
from datetime import datetime
from typing import Any, Literal

from pydantic import JsonValue, SerializeAsAny

from worker.opencode import shapes
from worker.opencode.shapes import ErrorShape, PartShape, Shape, SpanShape, milliseconds
from worker.stored_contents import begun_wait, note_of, part_of, stored_call
from workflows.domain.events.calls import CallClaimed, CallFinished, CallPrepared
from workflows.domain.events.copies import SessionForked, SessionImported
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
from workflows.domain.ids import MessageId, PartId, SessionId, TurnConfigId
from workflows.domain.messages import CallState
from workflows.domain.prompt import PromptContent
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.inbox import InboxEntry

_PartKind = Literal["step_start", "text", "reasoning", "tool_use", "step_finish"]
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
        self._messages: dict[PartId, MessageId] = {}
        self._starts: dict[PartId, int] = {}
        self._message = MessageId("")
        self._last = PartId("")
        self._unfinished: tuple[int, MessageCompleted] | None = None  # its calls may still come

    def of_ask(self, entry: InboxEntry) -> list[JsonLine]:
        at = milliseconds(entry.asked_at)
        self._add_line(type="ask", timestamp=at, session_id=entry.session, ask=entry.model_dump(mode="json"))
        return self._take()

    def of_event(self, seen: EventWithContents) -> list[JsonLine]:
        record = seen.record
        self._seq = record.seq
        at = milliseconds(datetime.fromisoformat(record.at))
        match record.event:
            case TurnOpened(turn_config=turn_config):
                self._add_line(type="turn_start", timestamp=at, session_id=record.session, configuration=turn_config)
            case MessageCompleted() if record.event.turn is not None:
                self._on_message_completed(seen, record.event, at)
            case event if isinstance(event, _OwnEvent):
                self._add_line(timestamp=at, session_id=record.session, **_of_own_event(seen, event))
            case PromptAccepted():
                self._on_prompt(seen, record.event, at)
            case CallPrepared() | CallClaimed():
                self._note_call(record.event, at)
            case CallFinished(call=call, state=state):
                self._on_call_finished(seen, call, CallState(state), at)
            case ModelRetry() as retry if retry.purpose.delays_turn:
                due = milliseconds(datetime.fromisoformat(retry.next_at))
                pause = RetryWait(attempt=retry.attempt, kind=retry.kind, message=note_of(seen, retry.note), next=due)
                self._add_line(type="retry", timestamp=at, session_id=record.session, retry=pause)
            case TurnEnded(reason=reason, note=note):
                self._end_step(record.session)
                if note is not None:
                    problem = ErrorShape(data={"message": note_of(seen, note)})
                    self._add_line(type="error", timestamp=at, session_id=record.session, error=problem)
                self._add_line(type="turn_end", timestamp=at, session_id=record.session, reason=reason)
        return self._take()

    def _on_prompt(self, seen: EventWithContents, event: PromptAccepted, at: int) -> None:
        """The end of a background task, or OpenCode's `command.executed`: without arguments once it is deleted."""
        if event.task is not None:
            self._add_line(type="task_ended", timestamp=at, session_id=seen.record.session, task={"call": event.task})
        if event.command is None:
            return
        content = PromptContent.model_validate(seen.contents.get(event.prompt) or {"parts": ()})
        executed: dict[str, JsonValue] = {"name": event.command, "messageID": event.prompt}
        executed["arguments"] = content.command.arguments if content.command else ""
        self._add_line(type="command", timestamp=at, session_id=seen.record.session, command=executed)

    def _on_message_completed(self, seen: EventWithContents, event: MessageCompleted, at: int) -> None:
        session, message = seen.record.session, event.message
        self._end_step(session)
        self._message, self._last = message, PartId("")
        self._add_part("step_start", at, shapes.step_start_shape(session, message))
        for sealed in event.parts:
            part = part_of(seen, sealed.part)
            if part is not None:
                self._add_part(part.type, at, shapes.text_shape(session, message, sealed.part, part, at))
        self._unfinished = at, event

    def _on_call_finished(self, seen: EventWithContents, call: PartId, state: CallState, at: int) -> None:
        content = stored_call(seen, call)
        if content is None:
            return
        span = SpanShape(start=self._starts.get(call, at), end=at)
        rendered = shapes.ToolShape(
            id=call,
            session_id=seen.record.session,
            message_id=self._messages.get(call, MessageId("")),
            call_id=call,
            tool=content.tool,
            state=shapes.call_state_shape(state, content.arguments, content.outcome, span),
        )
        self._add_part("tool_use", at, rendered)

    def _note_call(self, event: CallPrepared | CallClaimed, at: int) -> None:
        if isinstance(event, CallPrepared):
            self._messages[event.call] = self._message
        else:
            self._starts.setdefault(event.call, at)

    def _end_step(self, session: SessionId) -> None:
        if self._unfinished is not None:
            at, answer = self._unfinished
            shape = shapes.step_finish_shape(session, answer.message, answer, self._last)
            self._add_part("step_finish", at, shape)
            self._unfinished = None

    def _add_line(self, **fields: Any) -> None:
        self._lines.append(JsonLine(seq=self._seq, **fields))

    def _take(self) -> list[JsonLine]:
        taken, self._lines = self._lines, []
        return taken

    def _add_part(self, kind: _PartKind, at: int, part: PartShape) -> None:
        self._last = max(self._last, part.id)  # calls end in any order
        self._add_line(type=kind, timestamp=at, session_id=part.session_id, part=part)


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
