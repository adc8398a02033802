"""Reservations: what requests may use of budgets, until their answers are settled; nothing is counted twice."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from activities.store import budgets
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, session_journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.budgets import Estimate, Usage
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events.budgets import UsageEstimated
from workflows.domain.events.generations import BEHIND_BUDGET
from workflows.domain.fence import Fence
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, SessionId, TurnId
from workflows.domain.usage import decimal_text
from workflows.domain.value import Value

if TYPE_CHECKING:  # start-up time of commands
    from workflows.domain.messages import AnswerMetadata

_QUERIES: Final = Queries("reservations")


class ReservationRow(Value):
    """What an attempt has reserved of budgets on a `day`, and what it has used in any case if its request was sent."""

    generation: GenerationId
    budgets: tuple[str, ...]
    day: date
    purpose: Purpose
    sent_cost: Decimal
    sent_tokens: int
    fence: Fence


class AsideReservation(Value):
    """What a request apart from a session's turns has reserved."""

    generation: GenerationId
    session: SessionId


async def of_asides(reader: RowReader, quiet: float) -> list[AsideReservation]:
    """Reservations of side work that began at least `quiet` seconds ago."""
    return [AsideReservation(**row) for row in await reader.rows(_QUERIES.of_asides, quiet=quiet)]


async def of_others(
    reader: RowReader, budgets: Sequence[str], generation: GenerationId | None = None, *, titles: bool = True
) -> Mapping[str, Usage]:
    """What other generations have reserved, by budget; with `titles`, or without."""
    rows = await reader.rows(_QUERIES.of_others, budgets=list(budgets), generation=generation, titles=titles)
    return {row.pop("budget"): Usage(**row) for row in rows}


def reserve(
    journal: Journal,
    budgets: Sequence[str],
    generation: Generation,
    turn: TurnId | None,
    fence: Fence,
    needed: Estimate,
) -> None:
    """`budgets`: in the order of their locks. `turn`: that waits for the answer."""
    journal.write(
        _QUERIES.reserve,
        generation=generation.id,
        budgets=list(budgets),
        session=journal.session,
        turn=turn,
        purpose=generation.purpose,
        cost=needed.whole.cost,
        tokens=needed.whole.tokens,
        sent_cost=needed.sent.cost,
        sent_tokens=needed.sent.tokens,
        fence=list(fence),
    )


def wait(journal: Journal, generation: GenerationId, budget: str, longest: float) -> None:
    """Pause a generation until others need no more what they have reserved of a budget, `longest` seconds at most."""
    journal.write(_QUERIES.wait, generation=generation, budget=budget, kind=BEHIND_BUDGET, longest=longest)


async def release(journal: Journal, generation: GenerationId, fence: Fence | None = None) -> ReservationRow | None:
    """End a reservation without an answer: that of this attempt, or of any."""
    held = list(fence) if fence else None
    return next(iter(_reservations(await journal.rows(_QUERIES.release, generation=generation, fence=held))), None)


async def release_lost(journal: Journal, generation: GenerationId, turn: TurnId | None) -> list[ReservationRow]:
    """What this generation's earlier attempts have left, and other generations of its turn, which asks for one at a
    time."""
    return _reservations(await journal.rows(_QUERIES.release_lost, generation=generation, turn=turn))


async def charge_lost(database: Database, age: float) -> None:
    """Count what turns' requests have used whose sessions are suspended, or that were reserved for `age` seconds ago:
    they are over, without a word. Asides are settled by reconcile."""
    for row in await database.rows(_QUERIES.lost, age=age):
        with suppress(Conflict, NotFound):  # archived or deleted since, with its reservations
            async with session_journal(database, row["session"], WORKER) as journal:
                lost = await release(journal, row["generation"])
                if lost is not None:
                    charge(journal, lost)


async def charge_turn(journal: Journal, turn: TurnId) -> None:
    """Count what the turn's unanswered requests have used."""
    charge(journal, *_reservations(await journal.rows(_QUERIES.release_of_turn, turn=turn)))


def charge(
    journal: Journal,
    *ended: ReservationRow,
    answers: Mapping[GenerationId, Usage] | None = None,
    at_once: bool = False,
) -> None:
    """Count requests that got no answer, with what had come of one; `at_once`, for a decision of this transaction."""
    write = journal.write if at_once else journal.write_last
    if ended:  # all locks first, in one order: each may have been counted by others
        counting_any = [budget for each in ended for budget in each.budgets]
        write(_QUERIES.lock, session=journal.session, budgets=counting_any)
    for each in ended:
        used = Usage(cost=each.sent_cost, tokens=each.sent_tokens) + (answers or {}).get(each.generation, Usage())
        counting = {"budgets": list(each.budgets), "day": each.day}
        write(_QUERIES.charge, cost=used.cost, tokens=used.tokens, **counting)
        _record_estimate(journal, each.generation, each.purpose, used)


def settle(journal: Journal, generation: Generation, answer: "AnswerMetadata", estimated: Usage | None) -> None:
    """Count an answer, in the transaction that stores it; as `estimated` if that is not known."""
    tokens = answer.tokens
    used = estimated or Usage(tokens=tokens.prompt + tokens.output + tokens.reasoning)
    if answer.cost is not None:
        used = used.model_copy(update={"cost": Decimal(answer.cost)})
    budgets.begin_counting(journal)
    journal.write_last(
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


def _reservations(rows: Iterable[dict[str, Any]]) -> list[ReservationRow]:
    return [ReservationRow(**(row | {"fence": Fence(*row["fence"])})) for row in rows]
