"""Where the milliseconds of a step go: the answer's way into the database, the engine's ways, the tool, the request."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise
from statistics import median
from typing import Final

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from bench.sides import Conversation
from bench.table import Figure
from worker.scripted.ledger import Entry

_PARTS: Final = (
    "  answer's last byte to the end of its activity (ms)",
    "  engine, to the start of the tool's activity (ms)",
    "  tool's activity (ms)",
    "  engine, to the start of the next request's activity (ms)",
    "  start of that activity to the request (ms)",
)
_SKIPPED: Final = 2  # steps in which caches warm up

Span = tuple[datetime, datetime]


async def breakdown(temporal: Client, ours: Sequence[Conversation], floor: Sequence[Conversation]) -> list[Figure]:
    """The parts of a step, ours beside the floor's; read from histories and from the model's ledger."""
    mine, theirs = await _medians(temporal, ours), await _medians(temporal, floor)
    return [Figure(name, one, other) for name, one, other in zip(_PARTS, mine, theirs, strict=True)]


async def without_requests(temporal: Client, conversation: Conversation) -> list[float]:
    """The steps of a conversation's last run in milliseconds, but for reading the conversation and sending it: what is
    left is the same for a context that does not grow."""
    return [sum(parts[:-1]) for parts in await _steps(temporal, conversation)]


async def _medians(temporal: Client, conversations: Sequence[Conversation]) -> list[float]:
    steps = chain.from_iterable([await _steps(temporal, each) for each in conversations])
    return [median(part) for part in zip(*steps, strict=True)]


async def _steps(temporal: Client, conversation: Conversation) -> list[tuple[float, ...]]:
    """The parts of each step of the conversation's last run in milliseconds."""
    history = await temporal.get_workflow_handle(conversation.workflow).fetch_history()
    spans = activities(history.events)
    pairs = [pair for pair in pairwise(conversation.entries) if pair[0].began >= spans[0][0]][_SKIPPED:]
    return [_parts(answer, request, spans[_around(answer, spans) :]) for answer, request in pairs]


def _parts(answer: Entry, request: Entry, spans: Sequence[Span]) -> tuple[float, ...]:
    generate, tool, following = spans[:3]
    moments = (answer.ended, generate[1], *tool, following[0], request.began)
    return tuple((after - before).total_seconds() * 1000 for before, after in pairwise(moments))


def _around(entry: Entry, spans: Sequence[Span]) -> int:
    """The place of the activity that made a request."""
    return next(place for place, (begin, end) in enumerate(spans) if begin <= entry.began < end)


def activities(events: Iterable[HistoryEvent]) -> list[Span]:
    """Start and end of each activity that has completed, in order.

    A local one's are in its marker, which counts its run time from the start of the workflow's task.
    """
    started: dict[int, datetime] = {}
    task = datetime.min.replace(tzinfo=UTC)
    spans = []
    for event in events:
        at = event.event_time.ToDatetime(tzinfo=UTC)
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED:
            started[event.event_id] = at
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            spans.append((started[event.activity_task_completed_event_attributes.started_event_id], at))
        elif event.event_type == EventType.EVENT_TYPE_MARKER_RECORDED:
            told = json.loads(event.marker_recorded_event_attributes.details["data"].payloads[0].data)
            begin = _moment(told["original_schedule_time"])
            spans.append((begin, begin + (_moment(told["complete_time"]) - task)))
        elif event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED:
            task = at
    return spans


def _moment(stamp: Mapping[str, int]) -> datetime:
    return datetime.fromtimestamp(stamp["seconds"], UTC) + timedelta(microseconds=stamp["nanos"] // 1000)
