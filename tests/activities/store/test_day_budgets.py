"""Budgets of a day: one count for all, limits of each turn's own, and no answer left out while a limit begins."""

import asyncio
import json
from decimal import Decimal
from typing import Any

import pytest

from activities.new_ids import new_id
from activities.store import asks, budgets, generations, outbox, reservations, sessions
from activities.store.budgets import BudgetRow
from activities.store.model_answers import NewAnswer
from activities.store.sessions import NewSession
from tests.activities.rig import BODY, PERSON, ActivityRig
from tests.polling import attempts
from workflows.domain.budgets import BudgetLimits, Scope, Unit, estimate
from workflows.domain.events.budgets import BudgetSet
from workflows.domain.fence import Fence
from workflows.domain.generation import Generation
from workflows.domain.ids import AskId, Prefix, SessionId
from workflows.domain.permissions.replies import Reply
from workflows.domain.turn_questions import GO_ON, limit_question, question_digest
from workflows.domain.usage import Tokens
from workflows.domain.wake_signal import WakeKind
from workflows.domain.wire import CloseReason

ANSWER = NewAnswer(body=BODY.model_copy(update={"tokens": Tokens(input=1000, output=100), "cost": "0.5"}))


async def beside(rig: ActivityRig) -> ActivityRig:
    """Another session on this host, in the same project."""
    new = NewSession(id=SessionId(new_id(Prefix.SESSION)), directory=str(rig.project), title="")
    await sessions.create(rig.database, new, PERSON)
    return ActivityRig(rig.database, rig.loader, rig.project, new.id)


async def begin(rig: ActivityRig, **budget: Any) -> None:
    """A turn of a shell with this configuration."""
    rig.config.mkdir(exist_ok=True)
    (rig.config / "opencode.json").write_text(json.dumps({"holdfast": {"budget": budget}}))
    await rig.open_turn()


async def found(rig: ActivityRig, scope: Scope = Scope.DAY) -> BudgetRow:
    (row,) = [row for row in await budgets.of_session(rig.database, rig.session) if row.scope is scope]
    return row


async def use(rig: ActivityRig) -> None:
    """One answer."""
    rig.step += 1
    await rig.store_answer(rig.generation(rig.step), ANSWER)


async def commit(rig: ActivityRig, generation: Generation, fence: Fence) -> None:
    async with rig.journal() as journal:
        await generations.commit(journal, generation, fence, ANSWER)


async def done_or_waits(rig: ActivityRig, task: "asyncio.Future[Any]", waiting: int = 1) -> None:
    """Until the task is over, or so many wait for a lock."""
    waits = b"""SELECT l.pid FROM pg_locks l JOIN pg_database d ON d.datname = current_database()
                 WHERE NOT l.granted AND l.pid IN (SELECT pid FROM pg_stat_activity a WHERE a.datid = d.oid)"""
    async for _ in attempts():
        if task.done() or len(await rig.database.rows(waits)) >= waiting:
            return


async def raise_limit(rig: ActivityRig, amount: int) -> None:
    async with rig.journal() as journal:
        for row in await budgets.lock(journal):
            budgets.extend(journal, row, Unit.COST, Decimal(amount))


@pytest.mark.parametrize("scope", [Scope.PROJECT, Scope.DAY])
async def test_each_turn_has_the_limits_of_its_own_shell_and_counts_for_all(rig: ActivityRig, scope: Scope) -> None:
    strict, loose, free = rig, await beside(rig), await beside(rig)
    for each, limit in ((strict, 5), (loose, 20), (free, None)):
        day = {} if limit is None else {"cost": limit}
        await begin(each, **({"day": day} if scope is Scope.DAY else {"project": {"day": day}}))
        await use(each)
    rows = [await found(each, scope) for each in (strict, loose, free)]
    assert [row.limits.cost for row in rows] == [5, 20, None]
    assert [(row.cost, row.tokens, row.steps) for row in rows] == [(Decimal("1.5"), 3300, 3)] * 3
    logged = [[event.cost for event in await each.events() if isinstance(event, BudgetSet)] for each in (strict, free)]
    assert logged == [["5"], []]


async def test_a_day_without_limits_of_its_own_is_said_once(rig: ActivityRig) -> None:
    for budget in ({"day": {"cost": 5}}, {"day": {"cost": 5}}, {}, {}):
        await begin(rig, **budget)
        await rig.close()
    assert [event.cost for event in await rig.events() if isinstance(event, BudgetSet)] == ["5", None]


async def test_what_is_added_to_a_limit_holds_for_all_with_that_limit_on_that_day(rig: ActivityRig) -> None:
    same, other = await beside(rig), await beside(rig)
    for each, limit in ((rig, 5), (same, 5), (other, 20)):
        await begin(each, day={"cost": limit})
    for amount in (1, 2):
        await raise_limit(rig, amount)
    assert [(await found(each)).limits.cost for each in (rig, same, other)] == [8, 8, 20]
    await rig.close()
    await begin(rig, day={"cost": 5})
    assert (await found(rig)).limits.cost == 8
    await rig.database.rows(b"UPDATE budget SET day = day - 1")
    assert [(await found(each)).limits.cost for each in (rig, other)] == [5, 20]


async def test_a_person_is_told_once_of_each_limit(rig: ActivityRig) -> None:
    other = await beside(rig)
    for each, limit in ((rig, 5), (other, 20)):
        await begin(each, day={"cost": limit})
    for each in (rig, other, rig):
        async with each.journal() as journal:
            (row,) = await budgets.lock(journal)
            if not row.is_warned:
                budgets.warn(journal, row, Unit.COST)
    assert (await found(rig)).warned == tuple(BudgetLimits(cost=Decimal(limit)) for limit in (5, 20))
    await raise_limit(rig, 5)
    assert [(await found(each)).is_warned for each in (rig, other)] == [False, True]


async def test_a_day_is_listed_with_each_limit_that_turns_have(rig: ActivityRig) -> None:
    await begin(rig, day={"cost": 5}, project={"day": {"steps": 9}})
    for limit in (20, 20, None):
        await begin(await beside(rig), day={} if limit is None else {"cost": limit})
    listed = await budgets.of_day(rig.database, None)
    assert [(row.scope, row.limits.cost, row.limits.steps) for row in listed] == [
        (Scope.DAY, 20, None),
        (Scope.DAY, 5, None),
        (Scope.PROJECT, None, 9),
    ]
    await rig.close()
    await rig.database.rows(b"UPDATE turn SET opened_at = opened_at - interval '2 days'")
    assert [row.limits.cost for row in await budgets.of_day(rig.database, None)] == [20]  # by turns that are open


@pytest.mark.parametrize("begins", ["day", "session", "person"])
async def test_an_answer_that_is_stored_while_a_limit_begins_counts_once(rig: ActivityRig, begins: str) -> None:
    child = await beside(rig)
    if begins != "day":
        below = b"UPDATE session SET parent = %(top)s WHERE id = %(id)s"
        await rig.database.rows(below, top=rig.session, id=child.session)
    await child.open_turn()
    generation, fence = child.generation(1), child.fence()
    async with child.journal() as journal:
        await generations.begin(journal, generation, fence)
    async with rig.database.transaction() as connection:
        await connection.execute(b"LOCK TABLE reservation IN EXCLUSIVE MODE")
        stored = asyncio.ensure_future(commit(child, generation, fence))  # it sees no budget, and waits
        await done_or_waits(rig, stored)
        limited = asyncio.ensure_future(limit(rig, begins))
        await done_or_waits(rig, limited, waiting=2)
    await asyncio.gather(stored, limited)
    (row,) = await budgets.of_session(rig.database, rig.session)
    assert (row.limits.tokens, row.tokens, row.steps) == (50_000, 1100, 1)


async def limit(rig: ActivityRig, begins: str) -> None:
    if begins == "person":
        async with rig.journal() as journal:
            await budgets.set_limits(journal, BudgetLimits(tokens=50_000))
    else:
        await begin(rig, **{begins: {"tokens": 50_000}})


async def test_what_a_turn_leaves_is_counted_under_locks_in_one_order(rig: ActivityRig) -> None:
    await begin(rig, day={"tokens": 50_000}, session={"tokens": 50_000})
    session, day = await budgets.of_session(rig.database, rig.session)
    for step, counted in ((1, [day.id]), (2, [session.id, day.id])):  # the first before the session had a budget
        generation, fence = rig.generation(step), rig.fence()
        async with rig.journal() as journal:
            await generations.begin(journal, generation, fence)
            reservations.reserve(journal, counted, generation, rig.turn, fence, estimate(1000, 100, None))
    other = await beside(rig)
    async with other.journal() as journal:
        await journal.rows(b"SELECT FROM budget WHERE id = %(id)s FOR UPDATE", id=session.id)
        closed = asyncio.ensure_future(rig.close(CloseReason.STOPPED))
        await done_or_waits(rig, closed)
        await journal.rows(b"SELECT FROM budget WHERE id = %(id)s FOR UPDATE NOWAIT", id=day.id)
    await closed
    assert [row.tokens for row in await budgets.of_session(rig.database, rig.session)] == [1000, 2000]


async def test_a_rule_without_limits_is_said_once(rig: ActivityRig) -> None:
    for _ in range(2):
        await begin(rig, day={"on_limit": "finish"})
        await rig.close()
    assert [event.on_limit for event in await rig.events() if isinstance(event, BudgetSet)] == ["finish"]


async def test_a_configuration_that_cannot_be_read_changes_no_limit(rig: ActivityRig) -> None:
    await begin(rig, day={"cost": 5}, session={"cost": 3})
    await raise_limit(rig, 2)
    await rig.close()
    (rig.config / "opencode.json").write_text("{")
    await rig.open_turn()
    assert [row.limits.cost for row in await budgets.of_session(rig.database, rig.session)] == [5, 7]
    await rig.close()
    await begin(rig, day={"cost": 5}, session={"cost": 3})
    assert [row.limits.cost for row in await budgets.of_session(rig.database, rig.session)] == [5, 7]
    assert len([event for event in await rig.events() if isinstance(event, BudgetSet)]) == 2


async def wait_at_limit(rig: ActivityRig, scope: Scope, rest: float | None = None) -> AskId:
    """Ask as a turn does that has reached a limit of five dollars."""
    row, ask = await found(rig, scope), AskId(new_id(Prefix.ASK))
    question = limit_question(row.id, scope, Unit.COST, BudgetLimits(cost=Decimal(5)), row.used, 1)
    async with rig.journal() as journal:
        asks.create_of_turn(journal, rig.turn, ask, question, question_digest(question), rest)
    return ask


@pytest.mark.parametrize(("scope", "by_person"), [(Scope.SESSION, True), (Scope.SESSION, False), (Scope.DAY, False)])
async def test_subagents_that_wait_at_a_limit_look_again_when_it_changes(
    rig: ActivityRig, scope: Scope, by_person: bool
) -> None:
    child = await beside(rig)
    await begin(rig, **{str(scope): {"cost": 5}})
    await rig.close()
    await child.open_turn()
    below = b"UPDATE session SET parent = %(top)s WHERE id = %(id)s"
    await rig.database.rows(below, top=rig.session, id=child.session)
    ask = await wait_at_limit(child, scope)
    if by_person:
        async with rig.journal() as journal:
            await budgets.set_limits(journal, BudgetLimits(cost=Decimal(20)))
    else:
        await begin(rig, **{str(scope): {"cost": 20}})
    assert (WakeKind.RESUME, ask) in await child.signals()


@pytest.mark.parametrize(("rest", "limit"), [(60.0, 10), (-1.0, 5)])
async def test_an_answer_raises_the_limit_of_the_day_that_it_was_asked_for(
    rig: ActivityRig, rest: float, limit: int
) -> None:
    await begin(rig, day={"cost": 5})
    await rig.answer(await wait_at_limit(rig, Scope.DAY, rest), Reply.ANSWER, answers=((GO_ON,),))
    assert (await found(rig)).limits.cost == limit


async def test_a_limit_that_is_raised_while_an_earlier_raise_is_signalled_wakes_again(rig: ActivityRig) -> None:
    waiting = await beside(rig)
    for each in (rig, waiting):
        await begin(each, day={"cost": 5})
    ask = await wait_at_limit(waiting, Scope.DAY)
    await raise_limit(rig, 1)
    (sent,) = [signal for signal in await outbox.pending(rig.database, waiting.session) if signal.subject == ask]
    await raise_limit(rig, 1)
    await outbox.delete(rig.database, sent)
    assert (WakeKind.RESUME, ask) in await waiting.signals()
