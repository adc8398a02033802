"""What a call waits for on purpose, from its event and the call's arguments."""

from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from worker.stored_contents import stored_call
from workflows.domain.events.waits import WaitBegun
from workflows.domain.views.events import EventWithContents
from workflows.domain.waits import FileEvent, WaitKind, WaitSubject


def begun_wait(seen: EventWithContents, event: WaitBegun) -> tuple[WaitSubject, datetime | None]:
    """What a call waits for, and its moment or the latest one."""
    call = stored_call(seen, event.call)
    arguments: Mapping[str, JsonValue] = call.arguments if call is not None else {}
    name = arguments.get("file") or arguments.get("token") or ("" if event.kind is WaitKind.TIME else "(erased)")
    subject = WaitSubject(kind=event.kind, name=str(name), event=FileEvent(str(arguments.get("event", FileEvent.ANY))))
    return subject, datetime.fromisoformat(event.until) if event.until else None
