"""The four records of a trial, kept apart, from which it is judged (reliability.md 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from temporalio.client import WorkflowHistory

from activities.store.events import Verified
from tests.acceptance.door import ClientLedger
from tests.acceptance.effects import Line
from tests.house import calls
from worker.scripted.ledger import Entry
from workflows.domain.events import Event, Record
from workflows.domain.ids import SessionId
from workflows.domain.messages import ToolPart, Transcript


@dataclass(frozen=True)
class SessionRecords:
    """What is known of one session when a trial is over. `resting`: none of its turns is open, its run has ended."""

    session: SessionId
    log: Sequence[Record]
    verified: Verified
    transcript: Transcript
    runs: Sequence[WorkflowHistory]
    resting: bool

    @property
    def events(self) -> list[Event]:
        return [record.event for record in self.log]

    @property
    def calls(self) -> list[ToolPart]:
        return calls(self.transcript)


@dataclass(frozen=True)
class TrialRecords:
    """The four records. `healed` are the moments at which a worker served again, `wasted` is how many model
    requests the faults and stops of the trial may have cost, `left` is what is still there and should not be;
    `patience` is how long what is due may take to go on after a worker is back.
    `neighbours` are sessions that ran beside the faults, each with one of its kind that ran alone; `served`: workers
    served until the end."""

    sent: ClientLedger
    requests: Sequence[Entry]
    effects: Sequence[Line]
    sessions: Sequence[SessionRecords]
    left: Sequence[str]
    healed: Sequence[datetime]
    patience: timedelta
    wasted: int
    neighbours: Sequence[tuple[SessionRecords, SessionRecords]] = ()
    served: bool = True
