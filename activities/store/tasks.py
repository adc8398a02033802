"""Tasks: calls that a subagent carries out, by one prompt."""

from typing import Final

from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.ids import MessageId, PartId, SessionId, TurnId
from workflows.domain.value import Value
from workflows.domain.wire import CloseReason

_QUERIES: Final = Queries("tasks")


class SubagentTask(Value):
    """`turn`: the child's turn that took the prompt, if any; `reason`, `error` and `model` are that turn's.

    `seq` and `head`: the end of the child's log.
    """

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


def start(journal: Journal, call: PartId, child: SessionId, prompt: MessageId, agent: str) -> None:
    """Another session's prompt works for a call of this one."""
    journal.write(_QUERIES.insert, call=call, session=journal.session, child=child, prompt=prompt)
    journal.record(TaskStarted(call=call, child=child, prompt=prompt, agent=agent))


async def of_call(reader: RowReader, call: PartId) -> SubagentTask | None:
    found = await reader.rows(_QUERIES.of_call, call=call)
    return SubagentTask(**found[0]) if found else None


async def unsettled(reader: RowReader, session: SessionId) -> list[SubagentTask]:
    """Without the children's turns."""
    return [SubagentTask(**row) for row in await reader.rows(_QUERIES.unsettled, session=session)]


def settle_of_turn(journal: Journal, turn: TurnId) -> None:
    """Settle this turn's task, with a signal for its caller's session."""
    journal.write(_QUERIES.settle_turn, turn=turn)


def settle_of_prompt(journal: Journal, prompt: MessageId) -> None:
    """The same for a withdrawn prompt."""
    journal.write(_QUERIES.settle_prompt, prompt=prompt)
