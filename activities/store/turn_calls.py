"""The calls of a turn's steps."""

from collections.abc import Sequence
from typing import Final

from activities.store.calls import CallRow, call_row
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.ids import TurnId
from workflows.domain.output_format import STRUCTURED_OUTPUT
from workflows.domain.permissions.loop_guard import Recent

_QUERIES: Final = Queries("turn_calls")


async def of_step(journal: Journal, turn: TurnId | None, step: int | None) -> list[CallRow]:
    """The calls of a step in the order of its answer."""
    return [call_row(row) for row in await journal.rows(_QUERIES.of_step, turn=turn, step=step)]


async def open_before(reader: RowReader, call: CallRow) -> list[CallRow]:
    """The unsettled calls before it in its answer."""
    rows = await reader.rows(_QUERIES.of_step, turn=call.turn, step=call.step)
    return [each for each in map(call_row, rows) if each.position < call.position and not each.settled]


async def unsettled(journal: Journal, turn: TurnId) -> list[CallRow]:
    """The turn's calls without an outcome, locked."""
    return [call_row(row) for row in await journal.rows(_QUERIES.unsettled, turn=turn)]


async def recent_loops(journal: Journal, turn: TurnId, step: int) -> tuple[str, ...]:
    """Loop digests of the last two calls before this step, the older first."""
    rows = await journal.rows(_QUERIES.recent_loops, turn=turn, step=step)
    return tuple(row["loop_digest"] for row in reversed(rows))


async def recent_results(journal: Journal, turn: TurnId) -> Recent:
    """As `loop_digest` takes them."""
    return [(row["input"], row["result"]) for row in await journal.rows(_QUERIES.recent_results, turn=turn)]


async def count_without_result(journal: Journal, turn: TurnId, step: int) -> int:
    """How many answers before this step should have given the turn's result, and did not."""
    (row,) = await journal.rows(_QUERIES.without_result, turn=turn, step=step, tool=STRUCTURED_OUTPUT)
    return int(row["answers"])


async def count_ordered_steps(reader: RowReader, turn: TurnId, step: int) -> int:
    """How many of a turn's steps before this one a prompt has asked for: they are none of a model's."""
    (row,) = await reader.rows(_QUERIES.ordered_steps, turn=turn, step=step)
    return int(row["ordered"])


def is_ordered(calls: Sequence[CallRow]) -> bool:
    """Whether a prompt has asked for them, no model: no last step refuses them."""
    return any(call.ordered_by is not None for call in calls)
