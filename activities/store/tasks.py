"""Tasks: calls that a subagent carries out, by one prompt."""

from enum import StrEnum
from typing import Final

from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.close_reason import CloseReason
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.ids import MessageId, PartId, SessionId, TurnId
from workflows.domain.value import Value

MAX_AT_WORK: Final = 100  # subagents of a session at once: a worker carries out 200 activities
MAX_WOKEN_TURNS: Final = MAX_AT_WORK  # in a row: each task of a person's turn may wake the session once
_QUERIES: Final = Queries("tasks")


class Delivery(StrEnum):
    """The state of a background task's result: DUE as soon as it has ended; HELD for the session's next turn, which
    nothing but other work opens, and due while that is open; DONE by a prompt."""

    DUE = "due"
    HELD = "held"
    DONE = "done"


class EndedTask(Value):
    """A call whose background task has ended; `agent`: of the `child`."""

    call: PartId
    session: SessionId
    child: SessionId
    agent: str


class UndeliveredResult(Value):
    """`withdrawn`: the prompt that had it before a stop."""

    withdrawn: MessageId | None


class BackgroundChild(Value):
    """A subagent at work in the background; `title`: of its session."""

    call: PartId
    child: SessionId
    title: str


class SubagentTask(Value):
    """`turn`: the child's turn that took the prompt, if any; `reason`, `error` and `model` are that turn's.

    `seq` and `head`: the end of the child's log.
    """

    call: PartId
    child: SessionId
    prompt: MessageId
    agent: str
    background: bool = False
    settled: bool = False
    seq: int = 0
    head: str = ""
    turn: TurnId | None = None
    reason: CloseReason | None = None
    error: str | None = None
    model: str | None = None


def start(
    journal: Journal, call: PartId, child: SessionId, prompt: MessageId, agent: str, *, background: bool = False
) -> None:
    """Start a task: another session's prompt works for a call of this one. In the `background`, the call does not wait
    for it."""
    delivery = Delivery.DUE if background else None
    journal.write(_QUERIES.insert, call=call, session=journal.session, child=child, prompt=prompt, delivery=delivery)
    journal.record(TaskStarted(call=call, child=child, prompt=prompt, agent=agent, background=background))


async def count_at_work(journal: Journal) -> int:
    """How many subagents of the session are at work, also in the background."""
    (row,) = await journal.rows(_QUERIES.count_at_work, session=journal.session)
    return int(row["tasks"])


async def may_wake(journal: Journal) -> bool:
    """Whether a result may open a turn: False after MAX_WOKEN_TURNS, until other work has opened one, or joined one."""
    (row,) = await journal.rows(_QUERIES.woken_turns, session=journal.session, limit=MAX_WOKEN_TURNS)
    return int(row["turns"]) < MAX_WOKEN_TURNS


async def of_call(reader: RowReader, call: PartId) -> SubagentTask | None:
    found = await reader.rows(_QUERIES.of_call, call=call)
    return SubagentTask(**found[0]) if found else None


async def unsettled(reader: RowReader, session: SessionId) -> list[SubagentTask]:
    """The session's unsettled tasks, without their turns."""
    return [SubagentTask(**row) for row in await reader.rows(_QUERIES.unsettled, session=session)]


async def ended(
    reader: RowReader, *, child: SessionId | None = None, session: SessionId | None = None
) -> list[EndedTask]:
    """Ended tasks with undelivered results: of this subagent, of this session, or all that are late."""
    return [EndedTask(**row) for row in await reader.rows(_QUERIES.ended, child=child, session=session)]


async def undelivered(journal: Journal, call: PartId) -> UndeliveredResult | None:
    """A task's undelivered result; None if it was delivered meanwhile, or is held."""
    row = await journal.row(_QUERIES.undelivered, call=call)
    return UndeliveredResult(withdrawn=row["result"]) if row is not None else None


def deliver(journal: Journal, call: PartId, prompt: MessageId | None) -> None:
    journal.write(_QUERIES.deliver, call=call, prompt=prompt)


async def in_background(journal: Journal) -> list[BackgroundChild]:
    """The session's tasks at work whose results will wake it."""
    return [BackgroundChild(**row) for row in await journal.rows(_QUERIES.in_background, session=journal.session)]


def hold(journal: Journal) -> None:
    """Let no background task of the session wake it any more."""
    journal.write(_QUERIES.hold, session=journal.session)


def settle_of_turn(journal: Journal, turn: TurnId) -> None:
    """Settle this turn's task, with a signal for its caller's session if the call waits."""
    journal.write(_QUERIES.settle_turn, turn=turn)


def settle_of_prompt(journal: Journal, prompt: MessageId) -> None:
    """The same for a withdrawn prompt; the result that it had is held."""
    journal.write(_QUERIES.settle_prompt, prompt=prompt)
    journal.write(_QUERIES.hold_result, prompt=prompt)
