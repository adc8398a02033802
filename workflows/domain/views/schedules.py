"""Schedules as doors list them."""

from datetime import datetime

from workflows.domain.budgets import BudgetLimits
from workflows.domain.ids import MessageId, ScheduleId, SessionId
from workflows.domain.prompt import Prompt
from workflows.domain.schedules.decision import Missed, Overlap, ScheduleState
from workflows.domain.schedules.recurrence import Recurrence
from workflows.domain.value import Value


class ScheduleTiming(Value):
    """`words`: as the person has typed it. `zone`: an IANA name."""

    words: str
    recurrence: Recurrence
    zone: str


class ScheduleEvent(Value):
    """What was done with a schedule, or what came of a moment (`nominal`) of it, and by whom or as whom."""

    kind: str
    author: str
    nominal: datetime | None
    session: SessionId | None
    prompt: MessageId | None
    note: str | None
    at: datetime


class ScheduleEntry(Value):
    """`session`: the one that it prompts; None: it starts one each time. `prompt`: None if it is deleted. `last`: of
    its runs. `next_at`: None if it is over. `queued_for`: a moment whose run waits for the run before. `note`: why it
    is paused; `trouble`: why Temporal does not have it."""

    id: ScheduleId
    state: ScheduleState
    timing: str
    zone: str
    next_at: datetime | None
    queued_for: datetime | None
    overlap: Overlap
    missed: Missed
    host: str | None
    session: SessionId | None
    directory: str | None = None
    title: str | None = None
    prompt: Prompt | None = None
    limits: BudgetLimits | None = None
    author: str
    created_at: datetime
    note: str | None
    trouble: str | None
    last: ScheduleEvent | None = None


class ScheduleVerification(Value):
    """Whether a schedule's records are as they were written: `problem` names the first bad one."""

    schedule: ScheduleId
    records: int
    head: str
    problem: str | None = None


class TriggeredPrompt(Value):
    """`delivered`: Temporal has acknowledged the signal, else the sweeper sends it."""

    schedule: ScheduleId
    session: SessionId
    prompt: MessageId
    delivered: bool
