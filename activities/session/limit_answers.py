"""How a turn goes on that has asked itself: at a limit of its budget, or as its conversation does not fit its model."""

from activities.new_ids import new_id
from activities.store import budgets, stops, turns
from activities.store.asks import AskRow
from activities.store.journal import Journal
from workflows.domain.ids import Prefix, StopId
from workflows.domain.permissions.replies import AskDecision
from workflows.domain.questions import QuestionRequest
from workflows.domain.turn_questions import AGAIN, END, FINISH, More, is_at_limit, read_choice, read_overflow_choice


async def apply(journal: Journal, row: AskRow, asked: QuestionRequest, decision: AskDecision) -> None:
    """What a person has chosen."""
    if is_at_limit(asked):
        await _apply_choice(journal, row, read_choice(asked, decision))
    else:
        await _apply_overflow_choice(journal, row, read_overflow_choice(decision))


async def _apply_choice(journal: Journal, row: AskRow, choice: More | str) -> None:
    """How a turn goes on at the limit of its budget, and all that wait at it: they look at their rows again."""
    if choice == FINISH:
        budgets.finish_turn(journal, row.turn)
    elif choice == END:
        await stops.accept(journal, StopId(new_id(Prefix.STOP)), keep_queued=True)
    for locked in await budgets.lock(journal):
        if locked.id == row.budget and not row.lapsed:  # else that day is over, and its limit with it
            if isinstance(choice, More):
                budgets.extend(journal, locked, choice.unit, choice.amount)
            else:
                budgets.wake_waiting(journal, locked)


async def _apply_overflow_choice(journal: Journal, row: AskRow, choice: str) -> None:
    """How a turn goes on whose conversation does not fit its model."""
    if choice == END:
        await stops.accept(journal, StopId(new_id(Prefix.STOP)), keep_queued=True)
    elif choice != AGAIN:
        turns.change_model(journal, row.turn, choice, row.id)
