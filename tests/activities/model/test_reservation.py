"""Budgets: reserved before a request, settled with its answer; nothing is counted twice or forgotten."""

import asyncio
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities.new_ids import new_id
from activities.store import budgets, generations, outbox, reconcile, reservations, retries, sessions, suspensions
from activities.store.budgets import BudgetRow
from activities.store.sessions import NewSession
from tests.activities.conftest import Arm
from tests.activities.model.model_rig import ModelRig, Open
from tests.activities.rig import PERSON, ActivityRig
from tests.activities.store.test_reconcile import is_due
from tests.harness import wait_for_file
from worker.scripted.script import Drop, ScriptedAnswer, ScriptedUsage
from workflows.domain.budgets import BudgetLimits, OnLimit, Scope, Usage, estimate
from workflows.domain.errors import Conflict, StaleFence
from workflows.domain.events.budgets import BudgetNearlySpent, BudgetSpent, UsageEstimated
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import AskId, GenerationId, Prefix, RetryId, SessionId, TurnId
from workflows.domain.permissions.replies import Reply
from workflows.domain.questions import QuestionRequest
from workflows.domain.suspension import SuspendCause, SuspendReason
from workflows.domain.turn_questions import scope_name
from workflows.domain.wake_signal import WakeKind
from workflows.domain.wire import FINISH_LIMIT, FINISH_PAUSED, FINISH_STOPPED, AskState, CloseReason, StepResult

USAGE = ScriptedUsage(input=1000, output=100)
HELLO = ScriptedAnswer(text="Hello.", usage=USAGE)
CHILD = "gen_000000000002AAAAAAAAAAAAAA"
TITLE = Generation(id=GenerationId("gen_000000000001AAAAAAAAAAAAAA"), purpose=Purpose.TITLE)


async def limit(rig: ActivityRig, **limits: Any) -> None:
    async with rig.journal() as journal:
        await budgets.set_limits(journal, BudgetLimits(**limits))


async def found(rig: ActivityRig) -> BudgetRow:
    (row,) = await budgets.of_session(rig.database, rig.session)
    return row


async def left(rig: ActivityRig) -> int:
    return len(await rig.database.rows(b"SELECT generation FROM reservation"))


async def estimates(rig: ActivityRig) -> list[int]:
    return [event.tokens for event in await rig.events() if isinstance(event, UsageEstimated)]


async def test_an_answer_is_settled_once_though_its_commit_was_not_acknowledged(open_model: Open, arm: Arm) -> None:
    async with open_model(HELLO) as model:
        await limit(model.rig, tokens=50_000)
        request = model.request()
        arm("model.committed=drop@1")
        with pytest.raises(ConnectionResetError):
            await model.generate(request)
        await model.generate(request, attempt=2)
        row = await found(model.rig)
        assert (row.tokens, row.steps, row.estimated) == (1100, 1, Decimal(0)) and await left(model.rig) == 0
        assert await estimates(model.rig) == []


async def test_a_lost_attempt_and_one_that_broke_off_are_estimated_once(open_model: Open, arm: Arm) -> None:
    broken = ScriptedAnswer(text="Hello." * 40, usage=USAGE, faults={1: Drop(after=2)})
    async with open_model(broken) as model:
        await limit(model.rig, tokens=50_000)
        request = model.request()
        arm("budget.reserved=drop@1")
        with pytest.raises(ConnectionResetError):
            await model.generate(request)
        assert (await found(model.rig)).tokens == 0 and await left(model.rig) == 1
        await model.failure(request, attempt=2)  # counts the lost one, then its own
        lost, own = await estimates(model.rig)
        await model.rested()
        await model.generate(request, attempt=3)
        assert 10_000 <= lost <= own and await estimates(model.rig) == [lost, own]
        assert (await found(model.rig)).tokens == lost + own + 1100 and await left(model.rig) == 0


async def test_an_answer_that_its_provider_does_not_count_is_estimated(open_model: Open) -> None:
    async with open_model(ScriptedAnswer(text="Hello." * 40, usage=ScriptedUsage(input=0, output=0))) as model:
        await limit(model.rig, tokens=50_000)
        await model.generate(model.request())
        (estimated,) = await estimates(model.rig)
        assert estimated > 10_000 and (await found(model.rig)).tokens == estimated
        assert await left(model.rig) == 0


async def test_a_turn_that_ends_releases_what_its_requests_have_reserved(open_model: Open, arm: Arm) -> None:
    async with open_model(HELLO) as model:
        await limit(model.rig, tokens=50_000)
        arm("budget.reserved=drop@1")
        with pytest.raises(ConnectionResetError):
            await model.generate(model.request())
        await model.rig.close(CloseReason.STOPPED)
        (lost,) = await estimates(model.rig)
        assert (await found(model.rig)).tokens == lost and await left(model.rig) == 0


async def spend(model: ModelRig, **limits: Any) -> StepResult:
    """The second step, at the limit."""
    await limit(model.rig, steps=1, **limits)
    await model.generate(model.request())
    return await model.generate(model.request(step=2))


async def test_at_the_limit_a_person_is_asked_once_and_says_how_much_more(open_model: Open) -> None:
    async with open_model(HELLO, HELLO) as model:
        rig = model.rig
        asked = await spend(model)
        again = await model.generate(model.request(step=2))
        assert asked == again == StepResult(finish=FINISH_LIMIT, ask=asked.ask)
        assert len(model.server.ledger.entries) == 1
        assert not await is_due(rig)
        ask = AskId(asked.ask or "")
        with pytest.raises(Conflict, match="neither a number above 0"):
            await rig.answer(ask, Reply.ANSWER, answers=(("plenty",),))
        await rig.answer(ask, Reply.ANSWER, answers=(("3",),))
        assert (await rig.ask_row(ask)).state is AskState.ANSWERED and await is_due(rig)
        answered = await model.generate(model.request(step=2))
        assert answered.finish == "stop" and (await found(rig)).limits.steps == 4
        spent = [event for event in await rig.events() if isinstance(event, BudgetSpent)]
        assert [(event.unit, event.used, event.limit) for event in spent] == [("steps", "1", "1")]


async def test_an_answer_at_the_limit_that_only_the_row_has_is_none(open_model: Open) -> None:
    async with open_model(HELLO, HELLO) as model:
        asked = await spend(model)
        await model.rig.database.rows(b"UPDATE ask SET state = 'answered', reply = 'answer', author = 'x'")
        again = await model.generate(model.request(step=2))
        assert again.ask == asked.ask and "ask.reopened" in await model.rig.types()


@pytest.mark.parametrize("by_rule", [False, True], ids=["by a person", "by a rule"])
async def test_it_finishes_with_one_last_answer(open_model: Open, by_rule: bool) -> None:
    async with open_model(HELLO, HELLO) as model:
        at_limit = await spend(model, on_limit=OnLimit.FINISH if by_rule else None)
        if not by_rule:
            await model.rig.answer(AskId(at_limit.ask or ""), Reply.ANSWER, answers=(("Finish",),))
            at_limit = await model.generate(model.request(step=2))
        assert at_limit == StepResult(finish=FINISH_LIMIT, last_step=2)
        loaded = await model.rig.load()
        assert loaded.turn is not None and loaded.turn.max_steps == 2
        last = await model.generate(model.request(step=2, text_only=True))
        assert (last.finish, last.has_text) == ("stop", True) and (await found(model.rig)).steps == 2


async def refuse_with_reminder(model: ModelRig, **limits: Any) -> StepResult:
    """The second step, at the limit, for which a reminder is due: the date."""
    await limit(model.rig, **limits)
    await model.generate(model.request())
    await model.rig.database.rows(b"UPDATE budget SET started_at = now() - interval '150 s'")
    model.today = date(2026, 2, 1)
    return await model.generate(model.request(step=2))


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"steps": 1}, "1 step of 1 step"),
        ({"cost": Decimal("0.012")}, "$0.02 of $0.0120"),
        ({"tokens": 1000}, "1,100 tokens of 1,000 tokens"),
        ({"time": 120}, "3 min of 2 min"),
    ],
)
async def test_the_last_step_is_announced_with_its_cause_whatever_else_is_due(
    open_model: Open, limits: dict[str, Any], why: str
) -> None:
    async with open_model(HELLO, HELLO, models=PRICED) as model:
        at_limit = await refuse_with_reminder(model, **limits, on_limit=OnLimit.FINISH)
        assert at_limit == StepResult(finish=FINISH_LIMIT, last_step=2)
        await model.generate(model.request(step=2, text_only=True, max_steps=2))
        announced = str(model.sent["messages"][-1]["content"])
    assert f"The budget of this session is spent ({why}), and no more tools can be called in this turn." in announced
    assert announced.count("date is 2026-02-01") == 1


async def test_what_was_due_at_a_limit_is_sent_once_the_limit_is_raised(open_model: Open) -> None:
    async with open_model(HELLO, HELLO) as model:
        asked = await refuse_with_reminder(model, steps=1)
        await model.rig.answer(AskId(asked.ask or ""), Reply.ANSWER, answers=(("Go on",),))
        await model.generate(model.request(step=2))
    assert "date is 2026-02-01" in str(model.sent["messages"][-1]) and "no more tools" not in str(model.sent)


@pytest.mark.parametrize(
    ("limits", "turn", "max_steps", "announced"),
    [
        ({"steps": 4, "on_limit": OnLimit.FINISH}, {}, None, [0, 0, 1, 1]),
        ({"steps": 4, "on_limit": OnLimit.FINISH}, {}, 3, [1, 1, 1, 1]),
        ({"on_limit": OnLimit.FINISH}, {"steps": 4}, None, [0, 0, 1, 1]),
        ({}, {"steps": 3, "on_limit": "finish"}, None, [0, 1, 1, 1]),
        ({}, {}, 5, [0, 0, 1, 1]),
        ({"steps": 4}, {}, None, [0, 0, 0, 0]),  # the end is a person's to decide
    ],
)
async def test_two_answers_before_a_known_end_the_model_reads_so_once(
    open_model: Open, limits: dict[str, Any], turn: dict[str, Any], max_steps: int | None, announced: list[int]
) -> None:
    async with open_model(*[HELLO] * 4) as model:
        await limit(model.rig, **limits)
        await begin_turn(model, turn=turn)
        found = []
        for step in range(1, 5):
            await model.generate(model.request(step=step, max_steps=max_steps))
            found.append(str(model.sent["messages"]).count("Two answers with tools are left in this turn"))
    assert found == announced


@pytest.mark.parametrize("dismissed", [False, True])
async def test_it_ends_by_a_stop(open_model: Open, dismissed: bool) -> None:
    async with open_model(HELLO) as model:
        ask = AskId((await spend(model)).ask or "")
        if dismissed:
            await model.rig.answer(ask, Reply.REJECT)
        else:
            await model.rig.answer(ask, Reply.ANSWER, answers=(("End",),))
        loaded = await model.rig.load()
        assert loaded.turn is not None and loaded.turn.stopped


async def test_most_of_a_limit_is_told_once(open_model: Open) -> None:
    async with open_model(HELLO, HELLO, HELLO) as model:
        await limit(model.rig, steps=10, tokens=1300)
        for step in (1, 2):
            await model.generate(model.request(step=step))
        told = [event for event in await model.rig.events() if isinstance(event, BudgetNearlySpent)]
        assert [(event.unit, event.used, event.limit) for event in told] == [("tokens", "1100", "1300")]


async def test_a_limit_of_cost_needs_a_price(open_model: Open) -> None:
    async with open_model(HELLO) as model:
        await limit(model.rig, cost=Decimal(5))
        failure = await model.failure(model.request())
        assert "provider.scripted.models.model.cost" in str(failure) and "--max-tokens" in str(failure)
        assert model.server.ledger.entries == []


PRICED = {"model": {"cost": {"input": 10, "output": 100, "cache_write": 20}}}


async def test_an_answer_of_unknown_cost_counts_by_an_estimate_and_its_tokens_as_they_are(open_model: Open) -> None:
    dear = ScriptedAnswer(text="Hello.", usage=USAGE.model_copy(update={"service": "priority"}))
    async with open_model(HELLO, dear, models=PRICED) as model:
        await limit(model.rig, cost=Decimal(5))
        await model.generate(model.request())
        assert await estimates(model.rig) == []
        await model.generate(model.request(step=2))
        row = await found(model.rig)
        assert (row.used.cost, row.estimated, row.tokens) == (Decimal("0.04"), Decimal("0.02"), 2200)
        assert await estimates(model.rig) == [1100]


async def test_under_a_limit_of_cost_nothing_is_asked_for_on_terms_without_a_price(open_model: Open) -> None:
    async with open_model(HELLO, models={"model": {**PRICED["model"], "options": {"serviceTier": "flex"}}}) as model:
        await limit(model.rig, cost=Decimal(5))
        failure = await model.failure(model.request())
        assert "scripted/model with what its options ask for (flex)" in str(failure) and "--max-tokens" in str(failure)
        assert model.server.ledger.entries == []


async def reserve_for(top: ActivityRig, rig: ActivityRig, other: Generation, turn: TurnId | None) -> None:
    """All that the session at the `top` may use."""
    async with rig.journal() as journal:
        await generations.begin(journal, other, rig.fence())
        needed = estimate(40_000, 32_000, None)
        reservations.reserve(journal, [top.session], other, turn, rig.fence(), needed)


async def end_request(child: ActivityRig, how: str) -> None:
    """A step of a subagent's, which has reserved all."""
    async with child.journal() as journal:
        if how == "answered":
            await reservations.release(journal, child.generation(1, CHILD).id)
        if how == "suspended":
            await suspensions.suspend(journal, SuspendCause(reason=SuspendReason.RESTORED))
    if how == "lost":
        await child.database.rows(b"UPDATE reservation SET reserved_at = now() - interval '70 minutes'")


async def woken(rig: ActivityRig) -> bool:
    return any(each.kind is WakeKind.REFRESH for each in await outbox.pending(rig.database, rig.session))


@pytest.mark.parametrize("how", ["answered", "suspended", "lost"])
async def test_a_request_waits_while_another_one_has_reserved_what_is_left(open_model: Open, how: str) -> None:
    async with open_model(HELLO) as model:
        await limit(model.rig, tokens=50_000)
        rig, below = model.rig, SessionId(new_id(Prefix.SESSION))
        new = NewSession(id=below, directory=str(rig.project), title="", parent=rig.session)
        await sessions.create(rig.database, new, PERSON)
        child = ActivityRig(rig.database, rig.loader, rig.project, below)
        await child.open_turn()
        await reserve_for(rig, child, child.generation(1, CHILD), child.turn)
        assert (await model.generate(request := model.request())).finish == FINISH_PAUSED and await left(child) == 1
        assert await rig.database.rows(b"SELECT digest FROM attempt") == []  # it sent nothing
        assert not await woken(rig)
        await end_request(child, how)
        if how != "answered":
            await model.rested()
            await model.generate(request, attempt=2)  # finds what was lost
        assert await woken(rig)
        assert (await model.generate(request, attempt=3)).finish == "stop"
        assert await estimates(child) == ([] if how == "answered" else [40_000]) and await left(child) == 0


async def test_no_step_waits_for_a_title(open_model: Open) -> None:
    async with open_model(HELLO) as model:
        await limit(model.rig, tokens=50_000)
        await reserve_for(model.rig, model.rig, TITLE, None)
        assert (await model.generate(model.request())).finish == "stop" and await left(model.rig) == 1


async def test_what_a_turn_has_reserved_for_a_lost_summary_does_not_hold_up_its_step(open_model: Open) -> None:
    async with open_model(HELLO) as model:
        rig = model.rig
        await limit(rig, tokens=50_000)
        summary = Generation(id=GenerationId(new_id(Prefix.GENERATION)), purpose=Purpose.COMPACTION)
        await reserve_for(rig, rig, summary, rig.turn)
        assert (await model.generate(model.request())).finish == "stop"
        assert await estimates(rig) == [40_000] and (await found(rig)).tokens == 41_100


async def begin_turn(model: ModelRig, **budget: Any) -> None:
    """Another turn, under this configuration."""
    file = model.rig.config / "opencode.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"holdfast": {"budget": budget}}))
    await model.rig.close()
    await model.rig.prompt(model="scripted/model")
    loaded = await model.rig.load()
    assert loaded.turn is not None
    model.rig.turn = loaded.turn.id


SCOPES: dict[Scope, dict[str, Any]] = {
    Scope.TURN: {"turn": {"steps": 1}},
    Scope.SESSION: {"session": {"steps": 1}},
    Scope.PROJECT: {"project": {"day": {"steps": 1}}},
    Scope.DAY: {"day": {"steps": 1}},
}


@pytest.mark.parametrize("scope", Scope)
async def test_each_configured_budget_counts_by_itself(open_model: Open, scope: Scope) -> None:
    async with open_model(HELLO, HELLO, HELLO) as model:
        await begin_turn(model, **SCOPES[scope])
        assert (await model.generate(model.request())).finish == "stop"
        asked = await model.generate(model.request(step=2))
        row = await model.rig.ask_row(AskId(asked.ask or ""))
        assert row.budget == (await found(model.rig)).id and (row.lapses_at is not None) == scope.daily
        assert (0 < asked.pause <= 86_400) == scope.daily and isinstance(row.body, QuestionRequest)
        assert f"limit of {scope_name(scope)} is reached" in row.body.questions[0].question
        (spent,) = [event for event in await model.rig.events() if isinstance(event, BudgetSpent)]
        assert spent.scope is scope
        await begin_turn(model, **SCOPES[scope])  # of a turn, it begins anew
        again = await model.generate(model.request())
        assert (again.finish == "stop") == (scope is Scope.TURN)


async def yesterday(rig: ActivityRig) -> None:
    """As if what was asked and reserved until now had been on another day."""
    for change in (
        b"UPDATE budget SET day = day - 1",
        b"UPDATE reservation SET day = day - 1",
        b"UPDATE ask SET lapses_at = now() - interval '1 minute', asked_at = now() - interval '1 hour'",
        b"UPDATE session_head SET moved_at = now() - interval '1 hour'",
    ):
        await rig.database.rows(change)


async def test_a_new_day_frees_what_has_waited_and_counts_from_nothing(open_model: Open, arm: Arm) -> None:
    async with open_model(HELLO, HELLO, HELLO) as model:
        rig = model.rig
        await begin_turn(model, day={"tokens": 1000})
        await model.generate(model.request())
        asked = await model.generate(model.request(step=2))
        await rig.answer(AskId(asked.ask or ""), Reply.ANSWER, answers=(("500",),))
        arm("budget.reserved=drop@1")
        with pytest.raises(ConnectionResetError):
            await model.generate(request := model.request(step=2))
        assert rig.session not in [each.session for each in await reconcile.due(rig.database, 3600)]
        await yesterday(rig)
        assert (await found(rig)).used == Usage(time=(await found(rig)).time) and (
            await found(rig)
        ).limits.tokens == 1000
        assert (await model.generate(request, attempt=2)).finish == "stop"
        (lost,) = await estimates(rig)
        assert lost > 10_000 and (await found(rig)).tokens == 1100  # what was lost counts for its own day


async def test_an_ask_at_the_limit_of_a_day_lapses_with_it(open_model: Open) -> None:
    async with open_model(HELLO, HELLO) as model:
        rig = model.rig
        await begin_turn(model, project={"day": {"steps": 1}})
        await model.generate(model.request())
        ask = AskId((await model.generate(model.request(step=2))).ask or "")
        await rig.deliver(rig.session)
        assert rig.session not in [each.session for each in await reconcile.due(rig.database, 0)]
        await yesterday(rig)
        assert rig.session in [each.session for each in await reconcile.due(rig.database, 30)]
        assert (await model.generate(model.request(step=2))).finish == "stop"
        assert (await rig.ask_row(ask)).reason == "a new day has begun" and (await found(rig)).steps == 1


async def test_a_limit_that_is_introduced_counts_what_was_used_before(open_model: Open) -> None:
    async with open_model(HELLO, HELLO) as model:
        await model.generate(model.request())
        await begin_turn(model, day={"tokens": 50_000}, project={"day": {"tokens": 50_000}}, session={"steps": 9})
        rows = await budgets.of_session(model.rig.database, model.rig.session)
        assert [(row.scope, row.tokens, row.steps) for row in rows] == [
            (scope, 1100, 1) for scope in (Scope.SESSION, Scope.PROJECT, Scope.DAY)
        ]
        await begin_turn(model)
        assert not any(row.limits.any for row in await budgets.of_session(model.rig.database, model.rig.session))


async def test_a_persons_rule_counts_at_every_limit(open_model: Open) -> None:
    async with open_model(HELLO) as model:
        await limit(model.rig, on_limit=OnLimit.FINISH)
        await begin_turn(model, day={"steps": 1})
        await model.generate(model.request())
        at_limit = await model.generate(model.request(step=2))
        assert at_limit == StepResult(finish=FINISH_LIMIT, last_step=2)


async def test_a_prompts_limits_are_those_of_its_turn_and_of_a_retry(open_model: Open) -> None:
    async with open_model(HELLO) as model:
        rig = model.rig
        await rig.close()
        await rig.prompt(model="scripted/model", limits=BudgetLimits(cost=Decimal("0.5"), steps=3))
        for reason in (CloseReason.FAILED, CloseReason.DONE):
            loaded = await rig.load()
            assert loaded.turn is not None
            rig.turn = loaded.turn.id
            row = await found(rig)
            assert (row.id, row.scope, row.limits.cost) == (rig.turn, Scope.TURN, Decimal("0.5"))
            await rig.close(reason)
            async with rig.journal() as journal:
                if reason is CloseReason.FAILED:
                    await retries.accept(journal, RetryId(new_id(Prefix.RETRY)))
        assert await budgets.of_session(rig.database, rig.session) == ()


@pytest.mark.parametrize("over", ["stopped", "another attempt"])
async def test_nothing_is_reserved_in_a_stopped_turn_or_by_an_overtaken_attempt(
    open_model: Open, arm: Arm, tmp_path: Path, over: str
) -> None:
    async with open_model(HELLO) as model:
        await limit(model.rig, tokens=50_000)
        request = model.request()
        arm(f"model.registered=block:{tmp_path / 'gate'}@1")
        first = asyncio.create_task(model.generate(request))
        await wait_for_file(tmp_path / "gate")
        if over == "stopped":
            await model.rig.stop()
        else:
            arm("budget.locked=drop@1")
            with pytest.raises(ConnectionResetError):  # registered, and nothing reserved
                await model.generate(request, attempt=2)
        (tmp_path / "gate").touch()
        (found,) = await asyncio.gather(first, return_exceptions=True)
        assert await left(model.rig) == 0 and model.server.ledger.entries == []
    if over == "stopped":
        assert found == StepResult(finish=FINISH_STOPPED)
    else:
        assert isinstance(found, ApplicationError) and found.type == StaleFence.__name__
