"""The parts of a step's milliseconds: storing the answer, the engine, the tool, the request."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise
from statistics import median
from typing import Final

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

from bench.figure_table import Figure
from bench.systems import PlayedSession
from worker.scripted.request_ledger import RequestRecord

_PARTS: Final = (
    "  answer's last byte to the end of its activity (ms)",
    "  engine, to the start of the tool's activity (ms)",
    "  tool's activity (ms)",
    "  engine, to the start of the next request's activity (ms)",
    "  start of that activity to the request (ms)",
)
_SKIPPED: Final = 2  # steps in which caches warm up

Span = tuple[datetime, datetime]


async def breakdown(temporal: Client, ours: Sequence[PlayedSession], floor: Sequence[PlayedSession]) -> list[Figure]:
    """The parts of a step beside the floor's, from histories and the model's ledger."""
    mine, theirs = await _medians(temporal, ours), await _medians(temporal, floor)
    return [Figure(name, one, other) for name, one, other in zip(_PARTS, mine, theirs, strict=True)]


async def without_requests(temporal: Client, conversation: PlayedSession) -> list[float]:
    """Milliseconds of the steps of the last run, without reading and sending the conversation."""
    return [sum(parts[:-1]) for parts in await _steps(temporal, conversation)]


async def _medians(temporal: Client, conversations: Sequence[PlayedSession]) -> list[float]:
    steps = chain.from_iterable([await _steps(temporal, each) for each in conversations])
    return [median(part) for part in zip(*steps, strict=True)]


async def _steps(temporal: Client, conversation: PlayedSession) -> list[tuple[float, ...]]:
    history = await temporal.get_workflow_handle(conversation.workflow).fetch_history()
    spans = activities(history.events)
    pairs = [pair for pair in pairwise(conversation.entries) if pair[0].began >= spans[0][0]][_SKIPPED:]
    return [_parts(answer, request, spans[_activity_of(answer, spans) :]) for answer, request in pairs]


def _parts(answer: RequestRecord, request: RequestRecord, spans: Sequence[Span]) -> tuple[float, ...]:
    generate, tool, following = spans[:3]
    moments = (answer.ended, generate[1], *tool, following[0], request.began)
    return tuple((after - before).total_seconds() * 1000 for before, after in pairwise(moments))


def _activity_of(entry: RequestRecord, spans: Sequence[Span]) -> int:
    """The index of the activity that made a request."""
    return next(index for index, (begin, end) in enumerate(spans) if begin <= entry.began < end)


def activities(events: Iterable[HistoryEvent]) -> list[Span]:
    """Start and end of each completed activity, in order.

    A local one's are in its marker, which counts its run time from the start of the workflow task.
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
            marker = json.loads(event.marker_recorded_event_attributes.details["data"].payloads[0].data)
            begin = _moment(marker["original_schedule_time"])
            spans.append((begin, begin + (_moment(marker["complete_time"]) - task)))
        elif event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED:
            task = at
    return spans


def _moment(stamp: Mapping[str, int]) -> datetime:
    return datetime.fromtimestamp(stamp["seconds"], UTC) + timedelta(microseconds=stamp["nanos"] // 1000)
