"""Reserves what a request may use before it is sent, and counts what one without an answer has used."""

import asyncio
from datetime import timedelta
from typing import Final

from temporalio.exceptions import ApplicationError

from activities.failpoints import failpoint
from activities.mint import new_id
from activities.model.attempt import Attempt, model_failed
from activities.model.context_split import estimate_tokens
from activities.model.endpoints import ResolvedModel
from activities.model.output_limit import DEFAULT_OUTPUT_LIMIT
from activities.store import asks, budgets, generations
from activities.store.budgets import BudgetRow
from activities.store.generations import GenerationStatus
from activities.store.journal import Journal
from activities.store.turns import TurnStatus
from workflows.domain.budgets import (
    Estimate,
    Full,
    OnLimit,
    Open,
    Spent,
    Unit,
    estimate,
    is_at_limit,
    limit_question,
    produced,
    question_digest,
    room,
    unknown_price_text,
)
from workflows.domain.events.budgets import BudgetSpent
from workflows.domain.ids import AskId, Prefix, TurnId
from workflows.domain.messages import AssistantMessage, Transcript
from workflows.domain.permissions.replies import AskState
from workflows.domain.wire import FINISH_LIMIT, FINISH_STOPPED, StepResult

_POLL: Final = timedelta(seconds=2)  # until what others have reserved is looked at again
_INSTRUCTIONS: Final = 10_000  # tokens of instructions and tools, until a provider has counted them


async def reserve(
    attempt: Attempt, known: BudgetRow | None, model: ResolvedModel, transcript: Transcript, turn: TurnId
) -> None:
    """For a request that no limit holds up: it is counted all the same."""
    if known is not None:
        async with attempt.finishing_journal() as journal:
            await _registered(attempt, journal)
            await _charge_lost(attempt, journal, model)
            needed = _estimate(transcript, model)
            budgets.reserve(journal, known.session, attempt.generation, turn, attempt.fence, needed)
        attempt.version, attempt.reserved = journal.version_after, needed.sent
        await failpoint("budget.reserved")


async def reserve_step(
    attempt: Attempt, known: BudgetRow | None, model: ResolvedModel, transcript: Transcript, turn: TurnId, step: int
) -> StepResult | None:
    """Why the step may not be asked for; None: it may.

    Raises ApplicationError for a model without a price under a limit of cost, and to look again while others have
    reserved what is left.
    """
    if known is None:
        return None
    if known.limits.cost is not None and model.price is None:
        raise model_failed(unknown_price_text(model.name))
    async with attempt.finishing_journal() as journal:
        found, asked = await asyncio.gather(_registered(attempt, journal), asks.newest_of_turn(journal, turn))
        await _charge_lost(attempt, journal, model)
        status = found.turn_status or attempt.turn_status
        needed = _estimate(transcript, model)
        result = await _decide(attempt, journal, known, status, asked, needed, turn, step)
    attempt.version, attempt.reserved = journal.version_after, needed.sent if result is None else None
    await failpoint("budget.reserved")
    if isinstance(result, Full):
        why = "what is left of the budget is reserved by other subagents"
        raise ApplicationError(why, type="BudgetReserved", next_retry_delay=_POLL)
    return result


async def _decide(
    attempt: Attempt,
    journal: Journal,
    known: BudgetRow,
    status: TurnStatus,
    asked: asks.AskRow | None,
    needed: Estimate,
    turn: TurnId,
    step: int,
) -> StepResult | Full | None:
    if status.over or journal.ended:
        return StepResult(finish=FINISH_STOPPED)
    row, others = await asyncio.gather(
        budgets.lock(journal, known.session), budgets.reserved(journal, known.session, attempt.generation.id)
    )
    row = row or known
    found = room(row.limits, row.used, others)
    if status.last_step is None and isinstance(found, Full):
        return found
    if status.last_step is None and isinstance(found, Spent):
        return _at_limit(journal, row, asked, found.unit, turn, step)
    if asked is not None and asked.state is AskState.OPEN and is_at_limit(asked.body):
        asks.close(journal, asked, "the limit was raised")
    if isinstance(found, Open) and found.nearly is not None and not row.warned:
        budgets.warn(journal, row, found.nearly)
    budgets.reserve(journal, row.session, attempt.generation, turn, attempt.fence, needed)
    return None


def _at_limit(
    journal: Journal, row: BudgetRow, asked: asks.AskRow | None, unit: Unit, turn: TurnId, step: int
) -> StepResult:
    """Ask a person, once, unless a rule has decided in advance."""
    rule = row.limits.on_limit or OnLimit.ASK
    if asked is not None and asked.state is AskState.OPEN:
        if is_at_limit(asked.body):
            return StepResult(finish=FINISH_LIMIT, ask=asked.id)
        asks.close(journal, asked, "the budget is spent")
    spent = BudgetSpent(budget=row.session, turn=turn, unit=unit, on_limit=rule, **budgets.amounts(row, unit))
    journal.record(spent)
    if rule is OnLimit.FINISH:
        budgets.finish_turn(journal, turn)
        return StepResult(finish=FINISH_LIMIT, last_step=step)
    ask, question = AskId(new_id(Prefix.ASK)), limit_question(unit, row.limits, row.used)
    asks.create_of_turn(journal, turn, ask, question, question_digest(question))
    return StepResult(finish=FINISH_LIMIT, ask=ask)


async def _registered(attempt: Attempt, journal: Journal) -> GenerationStatus:
    """Raises StaleFence if another attempt has registered."""
    found = await generations.status(journal, attempt.generation)
    found.refuse_other(attempt.fence)
    return found


async def _charge_lost(attempt: Attempt, journal: Journal, model: ResolvedModel) -> None:
    """An earlier attempt has ended without a word: its request may have been sent."""
    lost = await budgets.release(journal, attempt.generation.id)
    if lost is not None:
        budgets.charge(journal, lost, produced(attempt.produced_before, model.price))


def _estimate(transcript: Transcript, model: ResolvedModel) -> Estimate:
    answers = [entry for entry in transcript if isinstance(entry, AssistantMessage)]
    counted = answers[-1].body.tokens.context if answers else 0
    context = max(counted, estimate_tokens(transcript) + _INSTRUCTIONS)
    output = model.max_output or model.facts.max_output or DEFAULT_OUTPUT_LIMIT
    return estimate(context, output, model.price)
