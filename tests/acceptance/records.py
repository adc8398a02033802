"""The four separate records of a trial, from which it is judged (reliability.md 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from temporalio.client import WorkflowHistory

from tests.acceptance.effect_ledger import EffectLine
from tests.acceptance.recording_client import ClientLedger
from tests.harness import calls
from worker.scripted.request_ledger import RequestRecord
from workflows.domain.events.event import Event, EventRecord
from workflows.domain.ids import SessionId
from workflows.domain.messages import Message, ToolPart
from workflows.domain.views.sessions import Verification


@dataclass(frozen=True)
class SessionRecords:
    """One session at the end of a trial. `resting`: it has no open turn, and its run has ended."""

    session: SessionId
    log: Sequence[EventRecord]
    verified: Verification
    transcript: tuple[Message, ...]
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
    """The four records. `healed`: when a worker served again. `wasted`: how many model requests faults and stops may
    have cost. `left`: what should be gone. `patience`: how long due work may take to go on after a worker is back.
    `bystanders`: sessions beside the faults, each with one of its kind that ran alone. `served`: workers served until
    the end."""

    sent: ClientLedger
    requests: Sequence[RequestRecord]
    effects: Sequence[EffectLine]
    sessions: Sequence[SessionRecords]
    left: Sequence[str]
    healed: Sequence[datetime]
    patience: timedelta
    wasted: int
    bystanders: Sequence[tuple[SessionRecords, SessionRecords]] = ()
    served: bool = True
