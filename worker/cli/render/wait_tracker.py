"""Whether a session waits on purpose, by itself or by its subagents."""

from collections import defaultdict
from datetime import datetime
from typing import NamedTuple

from worker.api.events import EventWithContents
from worker.wait_contents import begun_wait
from workflows.domain.events.calls import CallClaimed, CallFinished
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.events.turns import TurnOpened
from workflows.domain.events.waits import WaitBegun, WaitEnded
from workflows.domain.ids import PartId, SessionId
from workflows.domain.waits import WaitSubject


class BegunWait(NamedTuple):
    """`until`: its moment, or the latest one."""

    session: SessionId
    subject: WaitSubject
    until: datetime | None


class WaitTracker:
    """Follows the events of a session and its subagents."""

    def __init__(self, session: SessionId) -> None:
        self._session = session
        self._running: dict[SessionId, set[PartId]] = defaultdict(set)
        self._children: dict[PartId, SessionId] = {}
        self._waits: dict[PartId, BegunWait] = {}

    def on_event(self, seen: EventWithContents) -> None:
        session = seen.record.session
        match event := seen.record.event:
            case TurnOpened():
                self._running[session].clear()
            case CallClaimed():
                self._running[session].add(event.call)
            case TaskStarted():
                self._children[event.call] = event.child
            case WaitBegun():
                self._waits[event.call] = BegunWait(session, *begun_wait(seen, event))
            case WaitEnded():
                self._waits.pop(event.call, None)
            case CallFinished():
                self._running[session].discard(event.call)
                self._waits.pop(event.call, None)

    @property
    def waits_itself(self) -> bool:
        return any(wait.session == self._session for wait in self._waits.values())

    @property
    def wait(self) -> BegunWait | None:
        """The wait that began first, if everything that runs waits."""
        return next(iter(self._waits.values()), None) if self._only_waits(self._session) else None

    def _only_waits(self, session: SessionId) -> bool:
        """Whether a session only waits: without a running call it asks its model."""
        running = self._running[session]
        return bool(running) and all(self._is_wait(call) for call in running)

    def _is_wait(self, call: PartId) -> bool:
        return call in self._waits or (call in self._children and self._only_waits(self._children[call]))
