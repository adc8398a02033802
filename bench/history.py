"""History per step: events and bytes, with small and large tool outputs, with and without an ask."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import median
from typing import Final

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import History, HistoryEvent
from temporalio.client import Client

from bench import systems
from bench.figure_table import Budget, Figure
from bench.systems import BareTemporal, HoldfastSystem, play
from bench.testbed import Testbed
from worker.session_client import SessionClient
from workflows.domain.events.asks import AskAnswered, AskRaised
from workflows.domain.events.calls import CallClaimed
from workflows.domain.events.event import EventRecord
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.views.events import EventWithContents

EVENTS: Final = Budget(must=12.5, aim=12)
BYTES: Final = Budget(must=2200, aim=1700)
EVENTS_ASKED: Final = Budget(must=22, aim=17)
BYTES_ASKED: Final = Budget(must=3400, aim=2800)
ANSWERED: Final = Budget(must=3, aim=2, ratio=True)
_STEPS: Final = 8
_GENERATE: Final = ("holdfast.model.generate", "bench.generate")


@dataclass(frozen=True)
class Size:
    """A step's part of a history: events and serialised bytes."""

    events: float
    bytes: float


async def measure_plain_steps(testbed: Testbed, ours: HoldfastSystem, floor: BareTemporal) -> list[Figure]:
    """A step with a small tool output, and one with a large one."""
    large = replace(ours, project=systems.project(testbed, "large", characters=systems.LARGE))
    bare, small, big = [
        await step_size(testbed.temporal, (await play(testbed, side, steps=_STEPS))[0].workflow)
        for side in (floor, ours, large)
    ]
    return [
        Figure("history events per step", small.events, bare.events, EVENTS),
        Figure("history bytes per step, tool output 0.3 KB", small.bytes, bare.bytes, BYTES, digits=0),
        Figure("history bytes per step, tool output 50 KB", big.bytes, bare.bytes, BYTES, digits=0),
    ]


async def measure_asked_steps(testbed: Testbed, ours: HoldfastSystem, floor: BareTemporal) -> list[Figure]:
    """A step whose ask is answered immediately; and the time from the answer to the claim."""
    asking = replace(ours, project=systems.project(testbed, "asking", permission={"read": "ask"}))
    workflow = await asking.start(systems.script(testbed, _STEPS))
    session = SessionId(workflow.partition("/")[2])
    records = [record async for record in _answered(asking.client, session)]
    size = await step_size(testbed.temporal, workflow)
    activity = await _activity(testbed.temporal, (await play(testbed, floor, steps=_STEPS))[0].workflow)
    return [
        Figure("history events per step with an ask", size.events, None, EVENTS_ASKED),
        Figure("history bytes per step with an ask", size.bytes, None, BYTES_ASKED, digits=0),
        Figure("answer to claim of the call, one activity (ms)", median(_waits(records)), activity, ANSWERED),
    ]


async def step_size(temporal: Client, workflow: str) -> Size:
    """The median step of a run, from one model request to the next."""
    events = list((await temporal.get_workflow_handle(workflow).fetch_history()).events)
    begins = [place for place, event in enumerate(events) if _scheduled(event) in _GENERATE]
    steps = [events[begin:end] for begin, end in zip(begins, begins[1:], strict=False)]
    return Size(
        events=median(len(step) for step in steps),
        bytes=median(History(events=step).ByteSize() for step in steps),
    )


async def _answered(client: SessionClient, session: SessionId) -> AsyncIterator[EventRecord]:
    """Answer every ask as it comes; the session's log at the end of the turn."""
    async for seen in client.records.watch(session):
        if not isinstance(seen, EventWithContents):
            continue
        event = seen.record.event
        yield seen.record
        if isinstance(event, AskRaised):
            await client.answer(event.ask, AskDecision(reply=Reply.ONCE))
        if isinstance(event, TurnEnded):
            return


def _waits(records: Sequence[EventRecord]) -> list[float]:
    waits, answered = [], None
    for record in records:
        at = datetime.fromisoformat(record.at)
        if isinstance(record.event, AskAnswered):
            answered = at
        elif isinstance(record.event, CallClaimed) and answered is not None:
            waits.append((at - answered).total_seconds() * 1000)
    return waits


async def _activity(temporal: Client, workflow: str) -> float:
    """Median milliseconds of one bare activity, from its scheduling to the next one's."""
    events = (await temporal.get_workflow_handle(workflow).fetch_history()).events
    scheduled = [event for event in events if _scheduled(event)]
    pairs = [
        (one, other) for one, other in zip(scheduled, scheduled[1:], strict=False) if _scheduled(one) == "bench.read"
    ]
    return median((other.event_time.ToNanoseconds() - one.event_time.ToNanoseconds()) / 1e6 for one, other in pairs)


def _scheduled(event: HistoryEvent) -> str:
    """The name of the activity that this event schedules, if any."""
    if event.event_type != EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
        return ""
    return event.activity_task_scheduled_event_attributes.activity_type.name
