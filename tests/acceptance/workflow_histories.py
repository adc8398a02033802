"""A session's histories: the scheduled activities with their ids and results."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory

from workflows.domain.events.asks import AskRaised
from workflows.domain.events.calls import CallFinished
from workflows.domain.events.event import Event
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.turns import TurnEnded, TurnOpened
from workflows.domain.wire import FINISH_FULL, FINISH_LIMIT, FINISH_PAUSED, FINISH_STOPPED, FINISH_SUSPENDED

_WITHOUT_ANSWER = (FINISH_FULL, FINISH_LIMIT, FINISH_PAUSED, FINISH_STOPPED, FINISH_SUSPENDED)

_SCHEDULED: Final = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
_COMPLETED: Final = EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
_MARKER: Final = EventType.EVENT_TYPE_MARKER_RECORDED
_LOCAL: Final = "core_local_activity"  # what else has markers is a patch


@dataclass(frozen=True)
class ScheduledActivity:
    """One activity; `result` is None if it has not completed."""

    name: str
    request: dict[str, Any]
    result: dict[str, Any] | None


async def runs(temporal: Client, workflow: str) -> list[WorkflowHistory]:
    """The histories of all runs of a workflow; the newest is known to be listed."""
    newest = (await temporal.get_workflow_handle(workflow).describe()).run_id
    listed: list[str | None] = []
    while newest not in listed:
        listed = [run.run_id async for run in temporal.list_workflows(f"WorkflowId = '{workflow}'")]
    return [await temporal.get_workflow_handle(workflow, run_id=run).fetch_history() for run in listed]


def activities(histories: Sequence[WorkflowHistory]) -> Iterator[ScheduledActivity]:
    """All activities of these runs; local ones have only the call's id and the result."""
    for history in histories:
        results = {
            event.activity_task_completed_event_attributes.scheduled_event_id: _first(
                event.activity_task_completed_event_attributes.result
            )
            for event in history.events
            if event.event_type == _COMPLETED
        }
        for event in history.events:
            if event.event_type == _SCHEDULED:
                asked = event.activity_task_scheduled_event_attributes
                yield ScheduledActivity(asked.activity_type.name, _first(asked.input), results.get(event.event_id))
            elif event.event_type == _MARKER and event.marker_recorded_event_attributes.marker_name == _LOCAL:
                details = event.marker_recorded_event_attributes.details
                data = _first(details["data"])
                result = _first(details["result"]) if "result" in details else None
                yield ScheduledActivity(data["activity_type"], {"call": data["activity_id"]}, result)


def caused_event(ran: ScheduledActivity) -> str | None:
    """The event that an activity may have left in the log, finished or not."""
    request = ran.request
    match ran.name:
        case "holdfast.project.load":
            return f"turn.opened {request['turn']}"
        case "holdfast.model.generate":
            return f"message {request['turn']} {request['step']}"
        case "holdfast.tools.run" | "holdfast.tools.refuse":
            return f"call.finished {request['call']}"
        case "holdfast.asks.open":
            return f"ask.raised {request['call']}"
        case "holdfast.turns.close" if request.get("turn"):
            return f"turn.ended {request['turn']}"
    return None


def promised_event(ran: ScheduledActivity) -> str | None:
    """The event that a finished activity must have left, if any."""
    match ran.name, ran.result:
        case _, None:
            return None
        case "holdfast.project.load", result:
            return f"turn.opened {result['turn']['id']}" if result.get("turn") else None
        case "holdfast.model.generate", {"finish": finish} if finish in _WITHOUT_ANSWER:
            return None
        case "holdfast.tools.run" | "holdfast.tools.refuse", {"state": state} if state not in ("settled", "rejected"):
            return None
        case "holdfast.asks.open", {"state": "closed"}:
            return None
    return caused_event(ran)


def event_key(event: Event) -> str | None:
    """The same key, from the event."""
    match event:
        case TurnOpened(turn=turn) | TurnEnded(turn=turn):
            return f"{event.type} {turn}"
        case MessageCompleted(turn=str(turn), step=step):
            return f"message {turn} {step}"
        case CallFinished(call=str(call)) | AskRaised(call=str(call)):  # a step asks at a limit
            return f"{event.type} {call}"
    return None


def _first(payloads: Payloads) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(payloads.payloads[0].data) if payloads.payloads else {}
    return found
