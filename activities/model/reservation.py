"""Reserves what a request may use before it is sent, and counts what one without an answer has used."""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from activities.failpoints import failpoint
from activities.model.attempt import Attempt, model_failed
from activities.model.context_split import estimate_tokens
from activities.model.endpoints import ResolvedModel
from activities.model.output_limit import DEFAULT_OUTPUT_LIMIT
from activities.model.retry_budget import ProviderPause
from activities.model.step_view import StepView
from activities.new_ids import new_id
from activities.store import asks, attempts, budgets, generations, reservations, stops
from activities.store.asks import AskRow
from activities.store.budgets import BudgetRow
from activities.store.generations import GenerationStatus
from activities.store.journal import Journal, session_journal
from workflows.domain.actor import Actor
from workflows.domain.budgets import (
    BudgetLimits,
    Estimate,
    Full,
    OnLimit,
    Open,
    Room,
    Spent,
    Unit,
    Usage,
    estimate,
    produced,
    room,
    unpriced_text,
)
from workflows.domain.events.budgets import BudgetSpent
from workflows.domain.generation import Purpose
from workflows.domain.ids import AskId, Prefix, StopId, TurnId
from workflows.domain.messages import AssistantMessage, Transcript
from workflows.domain.permissions.replies import AskDecision, AskState
from workflows.domain.questions import QuestionRequest, limit_name
from workflows.domain.state import TurnLimits
from workflows.domain.turn_questions import END, More, limit_question, question_digest, read_choice
from workflows.domain.wire import FINISH_LIMIT, FINISH_STOPPED, GenerateRequest, StepResult

_LONGEST_WAIT: Final = 90.0  # seconds, for what others have reserved; their answers end it
_INSTRUCTIONS: Final = 10_000  # tokens of instructions and tools, until a provider has counted them
_LONGEST_ATTEMPT: Final = TurnLimits().model_timeout + 60.0  # seconds: an attempt is over by then (workflows.policies)
_SHORTEST_WAIT: Final = 1.0  # seconds, of a day that is about to end


async def reserve(
    attempt: Attempt, known: Sequence[BudgetLimits], model: ResolvedModel, transcript: Transcript, turn: TurnId
) -> None:
    """For a request that no limit holds up: it is counted all the same. Raises ApplicationError for a model without a
    price under a limit of cost."""
    if known:
        _require_price(known, model)
        async with attempt.finishing_journal() as journal:
            await _registered(attempt, journal)
            await _charge_lost(attempt, journal, model, turn)
            needed = _estimate(transcript, model)
            rows = await budgets.lock(journal)
            reservations.reserve(journal, _ids(rows), attempt.generation, turn, attempt.fence, needed)
        attempt.version, attempt.reserved = journal.version_after, needed.sent
        await failpoint("budget.reserved")


async def reserve_aside(attempt: Attempt, known: Sequence[BudgetLimits], model: ResolvedModel, context: int) -> None:
    """For `context` tokens of side work. Raises ApplicationError as `reserve`, and where a limit leaves no room: it is
    worth no question."""
    if known:
        _require_price(known, model)
        async with attempt.finishing_journal() as journal:
            await _registered(attempt, journal)
            await _charge_lost(attempt, journal, model)
            needed = estimate(context, model.max_output or DEFAULT_OUTPUT_LIMIT, model.price, model.terms)
            found = await _lock(journal, attempt)
            fits = all(isinstance(limit.room, Open) for limit in found)
            if fits:
                ids = _ids([limit.budget for limit in found])
                reservations.reserve(journal, ids, attempt.generation, None, attempt.fence, needed)
        if not fits:
            raise model_failed(f"There is no budget left for a {attempt.generation.purpose}.")
        attempt.version, attempt.reserved = journal.version_after, needed.sent
        await failpoint("budget.reserved")


async def reserve_step(
    attempt: Attempt, model: ResolvedModel, view: StepView, request: GenerateRequest
) -> StepResult | None:
    """Why the step may not be asked for; None: it may.

    Raises ApplicationError for a model without a price under a limit of cost, for a correction beyond another limit
    than that of steps, and ProviderPause while others have reserved what is left.
    """
    if not view.limits:
        return None
    _require_price(view.limits, model)
    async with attempt.finishing_journal() as journal:
        found, asked = await asyncio.gather(_registered(attempt, journal), asks.newest_of_turn(journal, request.turn))
        await _charge_lost(attempt, journal, model, request.turn)
        needed = _estimate(view.transcript, model)
        status = found.turn_status or attempt.turn_status
        if status.over or journal.ended:
            return StepResult(finish=FINISH_STOPPED)
        limits = await _lock(journal, attempt)
        spent = [budget.spent for budget, found in limits if isinstance(found, Spent) and found.unit is not Unit.STEPS]
        if request.again and view.turn_config.format is not None and spent:
            raise model_failed(f"{spent[0]}, and the last answer gave no result that fits the schema.")
        result: StepResult | Full | _Chosen | None = None
        match _held_up(limits) if status.last_step is None else None:
            case _Limit(budget, Spent(unit=unit)):
                result = await _at_limit(journal, limits, budget, unit, asked, request)
            case _Limit(budget, Full() as full):
                reservations.wait(journal, attempt.generation.id, budget.id, _LONGEST_WAIT)
                result = full
            case _:
                _begin(attempt, journal, limits, asked, needed, request.turn)
        if result is not None:
            attempts.remove(journal, attempt.generation.id, attempt.fence)
    attempt.version, attempt.reserved = journal.version_after, needed.sent if result is None else None
    await failpoint("budget.reserved")
    if isinstance(result, _Chosen):
        # In a transaction of its own: budgets are locked behind the sessions that a stop locks.
        async with session_journal(attempt.database, request.session, result.actor, epoch=request.epoch) as journal:
            await stops.accept(journal, StopId(new_id(Prefix.STOP)), keep_queued=True)
        return StepResult(finish=FINISH_STOPPED)
    if isinstance(result, Full):
        await reservations.charge_lost(attempt.database, _LONGEST_ATTEMPT)
        raise ProviderPause("what is left of the budget is reserved by other requests", _LONGEST_WAIT)
    return result


class _Limit(NamedTuple):
    """A locked budget, and whether it has room for a request."""

    budget: BudgetRow
    room: Room


async def _lock(journal: Journal, attempt: Attempt) -> list[_Limit]:
    rows = await budgets.lock(journal)
    await failpoint("budget.locked")
    is_title = attempt.generation.purpose is Purpose.TITLE  # for which no step waits
    others = await reservations.of_others(journal, _ids(rows), attempt.generation.id, titles=is_title)
    # a day that has just turned has no reservations yet
    reserved = [Usage() if row.turned else others.get(row.id, Usage()) for row in rows]
    return [_Limit(row, room(row.limits, row.used, held)) for row, held in zip(rows, reserved, strict=True)]


def _held_up(limits: Sequence[_Limit]) -> _Limit | None:
    """The first budget that is spent, else one that others have reserved."""
    spent = next((limit for limit in limits if isinstance(limit.room, Spent)), None)
    return spent or next((limit for limit in limits if isinstance(limit.room, Full)), None)


def _begin(
    attempt: Attempt, journal: Journal, limits: Sequence[_Limit], asked: AskRow | None, needed: Estimate, turn: TurnId
) -> None:
    if asked is not None and asked.state is AskState.OPEN and asked.budget is not None:
        asks.close(journal, asked, _why_closed(asked))
    for budget, found in limits:
        if isinstance(found, Open) and found.nearly is not None and not budget.is_warned:
            budgets.warn(journal, budget, found.nearly)
    ids = _ids([limit.budget for limit in limits])
    reservations.reserve(journal, ids, attempt.generation, turn, attempt.fence, needed)


async def _at_limit(
    journal: Journal,
    limits: Sequence[_Limit],
    row: BudgetRow,
    unit: Unit,
    asked: AskRow | None,
    request: GenerateRequest,
) -> "StepResult | _Chosen":
    """Ask a person, once for all that wait at the limit, unless a rule has decided in advance."""
    wait = 0.0 if row.rest is None else max(row.rest, _SHORTEST_WAIT)
    amounts = budgets.amounts(row, unit)
    at_limit = limit_name(unit, amounts["limit"])
    still_open = asked if asked is not None and asked.state is AskState.OPEN else None
    waiting = still_open if still_open and (still_open.budget, still_open.at_limit) == (row.id, at_limit) else None
    chosen = await _chosen_elsewhere(journal, row, at_limit, request.turn, waiting)
    if waiting is not None and chosen is None:
        return StepResult(finish=FINISH_LIMIT, ask=waiting.id, pause=wait)
    if still_open is not None:
        asks.close(journal, still_open, chosen.why if chosen else _why_closed(still_open))
    if chosen is not None and chosen.choice == END:
        return chosen
    by_person = next((limit.budget.on_limit for limit in limits if limit.budget.on_limit is not None), None)
    rule = OnLimit.FINISH if chosen is not None else by_person or row.limits.on_limit or OnLimit.ASK
    journal.record(BudgetSpent(budget=row.id, scope=row.scope, turn=request.turn, unit=unit, on_limit=rule, **amounts))
    if rule is OnLimit.FINISH:
        budgets.finish_turn(journal, request.turn)
        return StepResult(finish=FINISH_LIMIT, last_step=request.step)
    users = await budgets.count_users(journal, row)
    ask, question = AskId(new_id(Prefix.ASK)), limit_question(row.id, row.scope, unit, row.limits, row.used, users)
    asks.create_of_turn(journal, request.turn, ask, question, question_digest(question), row.rest)
    return StepResult(finish=FINISH_LIMIT, ask=ask, pause=wait)


class _Chosen(NamedTuple):
    """What a person has chosen for all that wait at a limit."""

    choice: str
    ask: AskRow

    @property
    def why(self) -> str:
        return f"{self.ask.author} has answered {self.ask.name} at the same limit: {self.choice}"

    @property
    def actor(self) -> Actor:
        return Actor(subject=self.ask.author or "", method="limit")


async def _chosen_elsewhere(
    journal: Journal, row: BudgetRow, at_limit: str, turn: TurnId, waiting: AskRow | None
) -> _Chosen | None:
    """What a person has answered another session at this very limit since the turn began; at that of a day, since it
    waits: other sessions are asked about by themselves. None: nothing, or more of it."""
    found = await asks.answered_at_limit(journal, row.id, at_limit, turn)
    if found is None or found.reply is None or not isinstance(found.body, QuestionRequest):
        return None
    if row.scope.daily and not (waiting and found.settled_at and found.settled_at >= waiting.asked_at):
        return None
    choice = read_choice(found.body, AskDecision(reply=found.reply, answers=found.answers))
    return None if isinstance(choice, More) else _Chosen(choice, found)


def _why_closed(asked: AskRow) -> str:
    if asked.budget is None:
        return "the budget is spent"
    return "a new day has begun" if asked.lapsed else "the limit was raised or removed"


def _ids(rows: Sequence[BudgetRow]) -> list[str]:
    return [row.id for row in rows]


def _require_price(known: Sequence[BudgetLimits], model: ResolvedModel) -> None:
    why = unpriced_text(model.name, model.price, model.terms)
    if why is not None and any(limits.cost is not None for limits in known):
        raise model_failed(why)


async def _registered(attempt: Attempt, journal: Journal) -> GenerationStatus:
    """Raises StaleFence if another attempt has registered."""
    found = await generations.status(journal, attempt.generation)
    found.refuse_other(attempt.fence)
    return found


async def _charge_lost(attempt: Attempt, journal: Journal, model: ResolvedModel, turn: TurnId | None = None) -> None:
    """Count requests that ended without a result and may have been sent: an earlier attempt, or another of the turn."""
    lost = await reservations.release_lost(journal, attempt.generation.id, turn)
    answers = {attempt.generation.id: produced(attempt.produced_before, model.price, model.terms)}
    reservations.charge(journal, *lost, answers=answers, at_once=True)


def _estimate(transcript: Transcript, model: ResolvedModel) -> Estimate:
    answers = [entry for entry in transcript if isinstance(entry, AssistantMessage)]
    counted = answers[-1].body.tokens.context if answers else 0
    context = max(counted, estimate_tokens(transcript) + _INSTRUCTIONS)
    output = model.max_output or model.facts.max_output or DEFAULT_OUTPUT_LIMIT
    return estimate(context, output, model.price, model.terms)
