"""What a step depends on besides its conversation."""

from typing import Any, Final

from activities.store.prunings import PruningRow
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.budgets import BudgetLimits
from workflows.domain.ids import SessionId, TurnId
from workflows.domain.prompt import PromptContent
from workflows.domain.value import Value

_QUERIES: Final = Queries("step_rows")


class StepRow(Value):
    """`pruning`: the newest. `compacts`: a person wants the context to be shorter first. `limits`: of the budgets that
    count it. `system`: the turn's own instructions."""

    pruning: PruningRow | None
    compacts: bool
    limits: tuple[BudgetLimits, ...]
    system: str | None


async def read(reader: RowReader, session: SessionId, turn: TurnId) -> StepRow:
    """In one statement: each step asks."""
    (row,) = await reader.rows(_QUERIES.of_step, session=session, turn=turn)
    return StepRow(
        pruning=None if row["call"] is None else _pruning(row),
        compacts=row["compacts"],
        limits=tuple(map(BudgetLimits.model_validate_json, row["limits"])),
        # not in SQL: PostgreSQL cannot look into a body with NUL or a lone surrogate
        system=None if row["instructions"] is None else PromptContent.model_validate(row["instructions"]).system,
    )


def _pruning(row: dict[str, Any]) -> PruningRow:
    return PruningRow(turn=row["turn"], call=row["call"], tokens=row["cleared"])
