"""Budgets: reserved before a request, settled with its answer, under the lock of the row of a person's session.

That lock comes last: session, ask, call, budget.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from activities.store import sessions
from activities.store.database import dumps
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.budgets import BudgetLimits, Estimate, Unit, Usage
from workflows.domain.config.config import Budget
from workflows.domain.errors import Conflict
from workflows.domain.events.budgets import BudgetNearlySpent, BudgetRaised, BudgetSet, UsageEstimated
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, SessionId, TurnId
from workflows.domain.messages import AnswerMetadata
from workflows.domain.usage import decimal_text
from workflows.domain.value import Value
from workflows.domain.wire import Fence

_QUERIES: Final = Queries("budgets")


class BudgetRow(Value):
    """The limits of a person's session and its subagents, and what they have used; `estimated` dollars of it no
    provider has counted. `warned`: a person was told that most of it is used."""

    session: SessionId
    limits: BudgetLimits
    cost: Decimal
    tokens: int
    steps: int
    time: int
    estimated: Decimal
    warned: bool

    @property
    def used(self) -> Usage:
        return Usage(cost=self.cost, tokens=self.tokens, steps=self.steps, time=self.time)


class ReservationRow(Value):
    """What an attempt has reserved of a budget, and what it has used in any case if its request was sent."""

    generation: GenerationId
    budget: SessionId
    purpose: Purpose
    sent_cost: Decimal
    sent_tokens: int
    fence: Fence


async def of_session(reader: RowReader, session: SessionId) -> BudgetRow | None:
    """That of the session at the top of its tree."""
    return _budget(await reader.rows(_QUERIES.of_session, session=session))


async def lock(journal: Journal, budget: SessionId) -> BudgetRow | None:
    return _budget(await journal.rows(_QUERIES.lock, budget=budget))


async def reserved(journal: Journal, budget: SessionId, generation: GenerationId) -> Usage:
    """What other generations have reserved."""
    row = await journal.row(_QUERIES.reserved, budget=budget, generation=generation)
    return Usage(**row) if row else Usage()


def reserve(
    journal: Journal, budget: SessionId, generation: Generation, turn: TurnId, fence: Fence, needed: Estimate
) -> None:
    journal.write(
        _QUERIES.reserve,
        generation=generation.id,
        budget=budget,
        session=journal.session,
        turn=turn,
        purpose=generation.purpose,
        cost=needed.whole.cost,
        tokens=needed.whole.tokens,
        sent_cost=needed.sent.cost,
        sent_tokens=needed.sent.tokens,
        fence=list(fence),
    )


async def release(journal: Journal, generation: GenerationId, fence: Fence | None = None) -> ReservationRow | None:
    """End a reservation without an answer: that of this attempt, or of any."""
    held = list(fence) if fence else None
    return next(iter(_reservations(await journal.rows(_QUERIES.release, generation=generation, fence=held))), None)


async def charge_turn(journal: Journal, turn: TurnId) -> None:
    """Count what the turn's unanswered requests have used."""
    for each in _reservations(await journal.rows(_QUERIES.release_of_turn, turn=turn)):
        charge(journal, each)


def charge(journal: Journal, ended: ReservationRow, answer: Usage | None = None) -> None:
    """Count a request that got no answer, with what had come of one."""
    used = Usage(cost=ended.sent_cost, tokens=ended.sent_tokens) + (answer or Usage())
    journal.write(_QUERIES.charge, budget=ended.budget, cost=used.cost, tokens=used.tokens)
    _record_estimate(journal, ended.generation, ended.purpose, used)


def settle(journal: Journal, generation: Generation, answer: AnswerMetadata, estimated: Usage | None) -> None:
    """Count an answer, in the transaction that stores it; as `estimated` if its provider did not."""
    tokens = answer.tokens
    used = estimated or Usage(tokens=tokens.prompt + tokens.output + tokens.reasoning)
    if answer.cost is not None:
        used = used.model_copy(update={"cost": Decimal(answer.cost)})
    journal.write(
        _QUERIES.settle,
        session=journal.session,
        generation=generation.id,
        cost=used.cost,
        tokens=used.tokens,
        steps=int(generation.purpose is Purpose.STEP),
        estimated=used.cost if answer.cost is None else 0,
    )
    if estimated is not None:
        _record_estimate(journal, generation.id, generation.purpose, used)


def _record_estimate(journal: Journal, generation: GenerationId, purpose: Purpose, used: Usage) -> None:
    cost = decimal_text(used.cost)
    journal.record(UsageEstimated(generation=generation, purpose=purpose, cost=cost, tokens=used.tokens))


async def set_limits(journal: Journal, limits: BudgetLimits) -> None:
    """A person's limits, for all that the session and its subagents use. Raises Conflict for a subagent's session."""
    if (await sessions.origin(journal, journal.session)).ancestors:
        raise Conflict(f"Session {journal.session!r} is a subagent's: its limits are those of the one above it.")
    journal.write(_QUERIES.set, **await _first_row(journal, limits))
    _record(journal, limits)


async def configure(journal: Journal, configured: Budget) -> None:
    """The configuration's limits, unless a person has set others."""
    limits = BudgetLimits(
        cost=None if configured.cost is None else Decimal(str(configured.cost)),
        tokens=configured.tokens,
        steps=configured.steps,
        time=None if configured.minutes is None else max(1, int(configured.minutes * 60)),
        on_limit=configured.on_limit,
    )
    known = await of_session(journal, journal.session)
    if known is None and not limits.any:
        return
    journal.write(_QUERIES.configure, **await _first_row(journal, limits))
    if known is None:
        _record(journal, limits)


def extend(journal: Journal, known: BudgetRow, unit: Unit, amount: Decimal) -> None:
    """Raise a limit, and have the tree's other sessions that wait at it look again."""
    limits = known.limits.extended(unit, amount)
    journal.write(_QUERIES.extend, budget=known.session, limits=_json(limits))
    journal.write(_QUERIES.wake_waiting, budget=known.session, session=journal.session)
    journal.record(BudgetRaised(budget=known.session, unit=unit, by=decimal_text(amount)))


def warn(journal: Journal, known: BudgetRow, unit: Unit) -> None:
    """Most of a limit is used."""
    journal.write(_QUERIES.warn, budget=known.session)
    journal.record(BudgetNearlySpent(budget=known.session, unit=unit, **amounts(known, unit)))


def finish_turn(journal: Journal, turn: TurnId) -> None:
    journal.write(_QUERIES.finish, turn=turn)


def amounts(known: BudgetRow, unit: Unit) -> dict[str, str]:
    limit = known.limits.of(unit) or Decimal(0)
    return {"used": decimal_text(known.used.of(unit)), "limit": decimal_text(limit)}


async def _first_row(journal: Journal, limits: BudgetLimits) -> dict[str, Any]:
    """With what was used before there was a budget."""
    before = await sessions.totals(journal, journal.session)
    tokens = before.tokens.prompt + before.tokens.output + before.tokens.reasoning
    used = {"cost": before.cost.dollars, "tokens": tokens, "steps": before.steps}
    return {"session": journal.session, "limits": _json(limits), **used}


def _record(journal: Journal, limits: BudgetLimits) -> None:
    cost = None if limits.cost is None else decimal_text(limits.cost)
    journal.record(BudgetSet(cost=cost, **limits.model_dump(exclude={"cost"})))


def _json(limits: BudgetLimits) -> str:
    return dumps(limits.model_dump(mode="json", exclude_none=True))


def _budget(rows: Iterable[dict[str, Any]]) -> BudgetRow | None:
    return next((BudgetRow(**row) for row in rows), None)


def _reservations(rows: Iterable[dict[str, Any]]) -> list[ReservationRow]:
    return [ReservationRow(**(row | {"fence": Fence(*row["fence"])})) for row in rows]
