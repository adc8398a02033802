"""Tasks: calls that a subagent works for, each by one prompt of a session of its own."""

from typing import Final

from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import Reads
from workflows.domain.events import TaskStarted
from workflows.domain.ids import MessageId, PartId, SessionId, TurnId
from workflows.domain.value import Value
from workflows.domain.wire import CloseReason

_QUERIES: Final = Queries("tasks")


class Task(Value):
    """A task as it stands. `turn` is the child's that took its prompt (none: nobody has, and once it is settled,
    nobody will); `reason`, `error` and `model` are that turn's. `seq` and `head` say where the child's log ends."""

    call: PartId
    child: SessionId
    prompt: MessageId
    agent: str
    settled: bool = False
    seq: int = 0
    head: str = ""
    turn: TurnId | None = None
    reason: CloseReason | None = None
    error: str | None = None
    model: str | None = None


def start(opened: Journal, call: PartId, child: SessionId, prompt: MessageId, agent: str) -> None:
    """Note that a call of this session is worked for by a prompt of another one."""
    opened.write(_QUERIES.keep, call=call, session=opened.session, child=child, prompt=prompt)
    opened.record(TaskStarted(call=call, child=child, prompt=prompt, agent=agent))


async def of_call(reads: Reads, call: PartId) -> Task | None:
    """The task of a call, if it has begun one."""
    found = await reads.rows(_QUERIES.of_call, call=call)
    return Task(**found[0]) if found else None


async def unsettled(reads: Reads, session: SessionId) -> list[Task]:
    """The tasks of a session that subagents work for now, as far as their sessions."""
    return [Task(**row) for row in await reads.rows(_QUERIES.unsettled, session=session)]


def turn_ended(opened: Journal, turn: TurnId) -> None:
    """Mark the tasks that this turn of the child has worked for as settled."""
    opened.write(_QUERIES.settle_turn, turn=turn)


def withdrawn(opened: Journal, prompt: MessageId) -> None:
    """Mark the task of a prompt that nobody will take as settled."""
    opened.write(_QUERIES.settle_prompt, prompt=prompt)


def heard(opened: Journal, turn: TurnId) -> None:
    """Note that nobody has to be told any more of what subagents did for this turn: it is over."""
    opened.write(_QUERIES.heard, turn=turn)
