"""Budgets: what turns, sessions and days may use, and have.

Their locks come last, in one order: session, ask, call; then the budgets of the turn, of the session, of the project's
day and of the host's. Budgets begin in the exchange of the commit, which counts what was used before: until it ends, no
answer that they count is stored, and none is left out or counted twice.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from activities.store import sessions
from activities.store.database import dumps
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.budgets import BudgetLimits, OnLimit, Raise, Scope, Spent, Unit, Usage, describe, room
from workflows.domain.errors import Conflict
from workflows.domain.events.budgets import BudgetNearlySpent, BudgetRaised, BudgetSet
from workflows.domain.ids import SessionId, TurnId
from workflows.domain.turn_questions import scope_name
from workflows.domain.usage import decimal_text
from workflows.domain.value import Value

if TYPE_CHECKING:  # start-up time of commands
    from workflows.domain.config.config import Budget, Budgets, DayBudget

_QUERIES: Final = Queries("budgets")
_PLACES: Final = {scope: place for place, scope in enumerate(Scope, start=1)}  # in `counting_budgets`
_COUNTING: Final = 0x636F756E  # advisory lock: "coun"


class BudgetRow(Value):
    """Limits, and what has been used of them; `estimated` dollars of it no provider has counted.

    `session`: of a person, limited together with its subagents; None: a day's, in a project's `worktree` or anywhere,
    which counts what all turns use, while each turn has its own limits. `as_set`: its limits without what was `raised`.
    `on_limit`: a person's rule for all limits that the session reaches. `warned`: a person was told that most of
    them is used. `turned`: the row is of an earlier day, and begins anew. `rest`: seconds of a day that are left.
    """

    id: str
    scope: Scope
    session: SessionId | None
    worktree: str | None
    as_set: BudgetLimits
    raised: tuple[Raise, ...]
    by_person: bool
    configured: BudgetLimits | None
    on_limit: OnLimit | None
    cost: Decimal
    tokens: int
    steps: int
    time: int
    estimated: Decimal
    warned: tuple[BudgetLimits, ...]
    turned: bool
    rest: float | None

    @property
    def limits(self) -> BudgetLimits:
        return self.as_set.raised(self.raised)

    @property
    def is_warned(self) -> bool:
        return self.limits in self.warned

    @property
    def spent(self) -> str | None:
        """That a limit is reached, as the beginning of a sentence; None: it is not."""
        if not isinstance(found := room(self.limits, self.used, Usage()), Spent):
            return None
        used, limit = (describe(found.unit, each.of(found.unit) or Decimal(0)) for each in (self.used, self.limits))
        return f"The budget of {scope_name(self.scope)} is spent ({used} of {limit})"

    @property
    def used(self) -> Usage:
        return Usage(cost=self.cost, tokens=self.tokens, steps=self.steps, time=self.time)


async def of_session(reader: RowReader, session: SessionId) -> tuple[BudgetRow, ...]:
    """The budgets that count what the session uses, in the order of their locks."""
    return _budgets(await reader.rows(_QUERIES.of_session, session=session))


async def limits_of_session(reader: RowReader, session: SessionId) -> tuple[BudgetLimits, ...]:
    """The limits of the budgets that count what the session uses."""
    return tuple(
        BudgetLimits(**row["limits"]) for row in await reader.rows(_QUERIES.limits_of_session, session=session)
    )


async def of_day(reader: RowReader, host: str | None) -> tuple[BudgetRow, ...]:
    """The budgets of a host's present day."""
    return _budgets(await reader.rows(_QUERIES.of_day, host=host))


async def lock(journal: Journal) -> tuple[BudgetRow, ...]:
    """As `of_session`, of the journal's; those of an earlier day begin anew."""
    rows = _budgets(await journal.rows(_QUERIES.lock, session=journal.session))
    for row in rows:
        if row.turned:
            journal.write(_QUERIES.renew, budget=row.id)
    return rows


async def set_limits(journal: Journal, limits: BudgetLimits) -> None:
    """A person's limits, for all that the session and its subagents use, in place of earlier ones; without any, only
    what happens at a limit. Raises Conflict for a subagent's session."""
    await require_top(journal)
    values = {"session": journal.session, "on_limit": limits.on_limit}
    _hold_counting(journal, Scope.SESSION)
    if limits.any:
        journal.write_last(_QUERIES.set, limits=_json(limits.model_copy(update={"on_limit": None})), **values)
    else:
        journal.write_last(_QUERIES.set_rule, **values)
    _record(journal, Scope.SESSION, limits)
    journal.write_last(_QUERIES.wake_waiting, budget=journal.session)


async def require_top(journal: Journal) -> None:
    """Raises Conflict for a subagent's session."""
    if (await sessions.origin(journal, journal.session)).ancestors:
        raise Conflict(f"Session {journal.session!r} is a subagent's: its limits are those of the one above it.")


async def configure(journal: Journal, turn: TurnId, configured: "Budgets", limits: BudgetLimits | None) -> None:
    """For a turn that opens: a person's `limits` of it, and the configuration's of whatever a person has set no others
    for."""
    known = {row.scope: row for row in await of_session(journal, journal.session)}
    of_tree, of_days = _limits(configured.session), _limits_of_days(configured)
    new = [scope for scope, wanted in ((Scope.SESSION, of_tree), *of_days.items()) if wanted.any and scope not in known]
    _hold_counting(journal, *new)
    _limit_turn(journal, turn, limits or _limits(configured.turn), by_person=limits is not None)
    row = known.get(Scope.SESSION)
    if not (row and row.by_person) and of_tree != ((row and row.configured) or BudgetLimits()):
        journal.write_last(_QUERIES.configure, session=journal.session, limits=_json(of_tree))
        _record(journal, Scope.SESSION, of_tree)
        journal.write_last(_QUERIES.wake_waiting, budget=journal.session)
    await _limit_days(journal, turn, of_days, known)
    for scope in filter(new.__contains__, of_days):
        journal.write_last(_QUERIES.count_day, session=journal.session, scope=scope, place=_PLACES[scope])


def keep(journal: Journal, turn: TurnId, limits: BudgetLimits | None) -> None:
    """As `configure`, for a turn whose configuration cannot be read: that of the turn before holds."""
    if limits is not None:
        _limit_turn(journal, turn, limits, by_person=True)
    journal.write(_QUERIES.keep_day_limits, session=journal.session, turn=turn)


def _limit_turn(journal: Journal, turn: TurnId, limits: BudgetLimits, *, by_person: bool) -> None:
    if limits.any:
        named = {"turn": turn, "session": journal.session, "by_person": by_person}
        journal.write(_QUERIES.open_turn, limits=_json(limits), **named)
        _record(journal, Scope.TURN, limits)


async def _limit_days(
    journal: Journal, turn: TurnId, limits: Mapping[Scope, BudgetLimits], known: Mapping[Scope, BudgetRow]
) -> None:
    """A day's budget counts for all; its limits are each turn's own, and hold for the subagents at work, too."""
    before = await journal.row(_QUERIES.day_limits_before, session=journal.session, turn=turn) or {}
    own = {str(scope): _json(wanted) if wanted != BudgetLimits() else None for scope, wanted in limits.items()}
    if any(own.values()):
        journal.write(_QUERIES.limit_days, turn=turn, **own)
    changed = [scope for scope in limits if limits[scope] != BudgetLimits.model_validate(before.get(scope) or {})]
    for scope in changed:
        _record(journal, scope, limits[scope])
    if waited_for := [known[scope].id for scope in changed if scope in known]:
        tree = await sessions.tree(journal, journal.session)
        journal.write_last(_QUERIES.wake_waiting_in, budgets=waited_for, sessions=tree)


async def limits_of_turn(journal: Journal, turn: TurnId) -> BudgetLimits | None:
    """The limits that a person has set, with what was added since."""
    row = await journal.row(_QUERIES.limits_of_turn, turn=turn)
    return BudgetLimits(**row["limits"]).raised(map(Raise.model_validate, row["raised"])) if row else None


def extend(journal: Journal, known: BudgetRow, unit: Unit, amount: Decimal) -> None:
    """Raise a limit, and have the sessions that wait at it look again."""
    more = Raise(unit=unit, limit=known.as_set.of(unit) or Decimal(0), by=amount)
    raised = [each.model_dump(mode="json") for each in (*known.raised, more)]
    journal.write(_QUERIES.extend, budget=known.id, raised=dumps(raised))
    wake_waiting(journal, known)
    journal.record(BudgetRaised(budget=known.id, scope=known.scope, unit=unit, by=decimal_text(amount)))


def wake_waiting(journal: Journal, known: BudgetRow) -> None:
    """Have the sessions that wait at a limit look again."""
    journal.write(_QUERIES.wake_waiting, budget=known.id)


def warn(journal: Journal, known: BudgetRow, unit: Unit) -> None:
    """Record that most of a limit is used."""
    warned = [each.model_dump(mode="json", exclude_none=True) for each in (*known.warned, known.limits)]
    journal.write(_QUERIES.warn, budget=known.id, session=journal.session, warned=dumps(warned))
    journal.record(BudgetNearlySpent(budget=known.id, scope=known.scope, unit=unit, **amounts(known, unit)))


def finish_turn(journal: Journal, turn: TurnId) -> None:
    journal.write(_QUERIES.finish, turn=turn)


async def count_users(journal: Journal, known: BudgetRow) -> int:
    """How many sessions have used it."""
    if known.session is None:
        (row,) = await journal.rows(_QUERIES.users_of_day, budget=known.id)
    else:
        tree = await sessions.tree(journal, known.session)
        (row,) = await journal.rows(_QUERIES.users_of_tree, budget=known.id, sessions=tree)
    return int(row["sessions"])


def amounts(known: BudgetRow, unit: Unit) -> dict[str, str]:
    limit = known.limits.of(unit) or Decimal(0)
    return {"used": decimal_text(known.used.of(unit)), "limit": decimal_text(limit)}


def _hold_counting(journal: Journal, *scopes: Scope) -> None:
    if scopes:
        places = [_PLACES[scope] for scope in scopes]
        journal.write_last(_QUERIES.hold_counting, key=_COUNTING, session=journal.session, places=places)


def begin_counting(journal: Journal) -> None:
    """Before an answer is counted: from here on, the transaction sees all budgets that count it."""
    journal.write_last(_QUERIES.begin_counting, key=_COUNTING, session=journal.session)


def _limits(settings: "Budget") -> BudgetLimits:
    time = None if settings.minutes is None else max(1, int(settings.minutes * 60))
    counts = {"tokens": settings.tokens, "steps": settings.steps, "time": time}
    return BudgetLimits(cost=_dollars(settings.cost), **counts, on_limit=settings.on_limit)


def _day_limits(settings: "DayBudget") -> BudgetLimits:
    counts = {"tokens": settings.tokens, "steps": settings.steps}
    return BudgetLimits(cost=_dollars(settings.cost), **counts, on_limit=settings.on_limit)


def _limits_of_days(configured: "Budgets") -> dict[Scope, BudgetLimits]:
    return {Scope.PROJECT: _day_limits(configured.project.day), Scope.DAY: _day_limits(configured.day)}


def _dollars(configured: float | None) -> Decimal | None:
    return None if configured is None else Decimal(str(configured))


def _record(journal: Journal, scope: Scope, limits: BudgetLimits) -> None:
    cost = None if limits.cost is None else decimal_text(limits.cost)
    journal.record(BudgetSet(scope=scope, cost=cost, **limits.model_dump(exclude={"cost"})))


def _json(limits: BudgetLimits) -> str:
    return dumps(limits.model_dump(mode="json", exclude_none=True))


def _budgets(rows: Iterable[dict[str, Any]]) -> tuple[BudgetRow, ...]:
    return tuple(BudgetRow.model_validate({name: row[name] for name in BudgetRow.model_fields}) for row in rows)
