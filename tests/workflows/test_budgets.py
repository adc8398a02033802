"""Budgets in whole sessions: a tree shares one, and its limit waits for a person over restarts."""

from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType

from tests.harness import Harness, wait_for_file
from tests.polling import attempts
from tests.worker.cli.conftest import shell
from tests.workflows.conftest import Open
from tests.workflows.delegation import DONE, FOUND, LOOK, children, delegates, delegation_scripts
from tests.workflows.test_compaction import FULL, compactions, script
from worker.scripted.script import Hold, ScriptedAnswer, ScriptedCall
from workflows.domain.budgets import BudgetLimits
from workflows.domain.events.asks import AskClosed
from workflows.domain.events.generations import BEHIND_BUDGET
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import AskId, SessionId
from workflows.domain.permissions.replies import Reply
from workflows.domain.prompt import Prompt

SCHEDULED = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
LOOKS = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*.txt"}),))


async def start(harness: Harness, **limits: int) -> SessionId:
    prompt = Prompt.of_text("Look.", model="scripted/model")
    started = await harness.client.start(str(harness.project), prompt, limits=BudgetLimits.model_validate(limits))
    return started.session


async def steps(harness: Harness, session: SessionId) -> int:
    (budget,) = await harness.client.sessions.budgets(session)
    return budget.used.steps


async def test_a_spent_budget_waits_over_a_restart_and_goes_on_as_a_person_says(open_harness: Open) -> None:
    async with open_harness(LOOKS, LOOKS, DONE) as harness:
        person = shell(harness)
        async with harness.running_worker():
            session = await start(harness, steps=1)
            (ask,) = await harness.wait_for_asks(session)
        shown, asked = await person.run("sessions", "show", session), await person.run("asks")
        bad = await person.run("answer", ask, "much")
        more = await person.run("answer", ask, "+1")
        async with harness.running_worker():
            await harness.wait_for_asks(session, 2)
            (again,) = [entry.id for entry in await harness.client.inbox.asks(session=session)]
            finish = await person.run("answer", again, "-o", "2")
            ended = await harness.ended(session)
        told, verified = await person.run("log", session), await harness.client.records.verify(session)
        used = await steps(harness, session)
    reached = "limit of this session is reached: 1 of 1 step used by 1 session"
    assert "1 of 1 step used" in shown.out and reached in " ".join(asked.out.split())
    assert bad.code == 2 and "neither a number above 0" in bad.err and (more.code, finish.code) == (0, 0)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert used == len(harness.model.ledger.entries) == 3 and "the budget of this session is spent" in told.out
    assert verified.problem is None


async def test_a_subagent_shares_the_budget_and_goes_on_when_it_is_raised(open_harness: Open) -> None:
    scripts = delegation_scripts(delegates("child"), DONE, child=(LOOK, FOUND))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.file("a.txt", "here\n")
        session = await start(harness, steps=2)
        (child,) = [each for each in [await _first_child(harness, session)] if each]
        (ask,) = await harness.wait_for_asks(child)
        (entry,) = await harness.client.inbox.asks()
        result = await shell(harness).run("answer", AskId(ask), "Go on")
        ended = await harness.ended(session)
        used = await steps(harness, session)
    assert entry.path == ("build", "explore") and entry.call is None and result.code == 0
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and used == 4


@pytest.mark.parametrize(
    ("choice", "steps_used", "reason"), [("+20", 12, "done"), ("Finish", 12, "done"), ("End", 4, "stopped")]
)
async def test_all_that_wait_at_one_limit_ask_once_and_have_one_answer(
    open_harness: Open, choice: str, steps_used: int, reason: str
) -> None:
    names = ("first", "second", "third", "fourth", "fifth")
    scripts = delegation_scripts(delegates(*names), DONE, **dict.fromkeys(names, (LOOK, FOUND)))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.file("a.txt", "here\n")
        session = await start(harness, steps=4)
        await _all_ask(harness, names)
        (entry,) = await harness.client.inbox.asks()
        asked, shown = await shell(harness).run("asks"), await shell(harness).run("asks", "--session", session)
        answered = await shell(harness).run("answer", choice)
        ended = await harness.ended(session)
        tree = await harness.client.sessions.tree(session)
        events = [event for each in tree for event in await harness.events(each)]
        used, left = await steps(harness, session), await harness.client.inbox.asks()
        problems = [(await harness.client.records.verify(each)).problem for each in tree]
        ends = [event.reason for event in events if isinstance(event, TurnEnded)]

    assert len(entry.also_waiting) >= 2 and entry.also_waiting[0] in " ".join(asked.out.split())
    assert [listed.out.count(" waits for ") for listed in (asked, shown)] == [1, 1]
    assert answered.code == 0 and left == [] and problems == [None] * 6
    assert [event.type for event in events].count("ask.answered") == 1
    assert isinstance(ended, TurnEnded) and ended.reason == reason and used == steps_used
    assert ends.count(reason) >= len(entry.also_waiting) + 2  # a quick one may have ended before


async def _all_ask(harness: Harness, names: tuple[str, ...]) -> None:
    """Until each subagent has ended, or waits at the limit."""
    query = b"""
        SELECT count(*) AS working, count(ask.id) AS asking FROM turn JOIN session ON session.id = turn.session
        LEFT JOIN ask ON ask.turn = turn.id AND ask.state = 'open'
        WHERE turn.state = 'open' AND session.parent IS NOT NULL
    """
    async for _ in attempts():
        (row,) = await harness.database.rows(query)
        started = len(await harness.client.sessions.ids()) == len(names) + 1
        if started and row["working"] == row["asking"] > 0:
            return


async def test_what_another_subagent_has_reserved_is_waited_for_in_a_row_until_its_answer(
    open_harness: Open, tmp_path: Path
) -> None:
    gate, names = tmp_path / "gate", ("first", "second")
    held = FOUND.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    scripts = delegation_scripts(delegates(*names), DONE, **dict.fromkeys(names, (held,)))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        session = await start(harness, tokens=40_000)
        await children(harness, session, 2)
        await wait_for_file(gate)
        waiting = await _waits_behind_budget(harness)
        shown = await shell(harness).run("sessions", "show", waiting)
        gate.touch()
        ended = await harness.ended(session)
        loads = [event for event in (await harness.history(waiting)).events if event.event_type == SCHEDULED]
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert "goes on when one of them has its answer" in " ".join(shown.out.split())
    assert len(harness.model.ledger.entries) == 4
    assert len(loads) <= 6  # load, reserve, load, ask, close; and what looks for more work


async def _waits_behind_budget(harness: Harness) -> SessionId:
    async for _ in attempts():
        for session in await harness.client.sessions.ids():
            pause = (await harness.client.sessions.get(session)).pause
            if pause is not None and pause.kind == BEHIND_BUDGET:
                return session
    raise AssertionError


async def test_sessions_with_other_limits_of_a_day_each_have_an_ask_and_an_answer_is_for_those_that_wait(
    open_harness: Open,
) -> None:
    looks = [LOOKS] * 20
    async with open_harness(*looks) as harness, harness.running_worker():

        async def waits(limit: int) -> SessionId:
            harness.configure_person(model={}, holdfast={"budget": {"day": {"steps": limit}}})
            session = await harness.start_session("Look.")
            await harness.wait_for_asks(session)
            return session

        low, high, other = await waits(1), await waits(3), await waits(3)
        shown = await harness.client.inbox.asks()
        by_session = {entry.session: entry for entry in shown}
        await harness.answer(by_session[low].id, Reply.ANSWER, answers=(("End",),))
        await harness.ended(low)
        left = [entry.session for entry in await harness.client.inbox.asks()]
        await harness.answer(by_session[high].id, Reply.ANSWER, answers=(("End",),))
        ends = [await harness.ended(each) for each in (high, other)]
        late = await waits(3)
        await harness.answer((await harness.client.inbox.asks())[0].id, Reply.ANSWER, answers=(("End",),))
        await harness.ended(late)

    assert set(by_session) == {low, high} and len(by_session[high].also_waiting) == 1 and left == [high]
    assert all(isinstance(end, TurnEnded) and end.reason == "stopped" for end in ends)


async def test_a_compaction_is_counted_and_held_up_by_no_limit(open_harness: Open) -> None:
    async with open_harness(scripts=script(FULL, DONE)) as harness, harness.running_worker():
        limit = {"context": 100_000, "output": 32_000}
        budget = {"session": {"tokens": 90_000, "on_limit": "finish"}}
        harness.configure_person(
            model={"limit": limit}, compaction={"preserve_recent_tokens": 0}, holdfast={"budget": budget}
        )
        session = await harness.start_session("Count the files.")
        ended = await harness.ended(session)
        (found,), compacted = await harness.client.sessions.budgets(session), await compactions(harness, session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert len(compacted) == 1 and found.used.tokens > 70_010 and found.used.steps == 2


async def _first_child(harness: Harness, session: SessionId) -> SessionId:
    await harness.until(session, lambda event: event.type == "task.started")
    (child,) = await children(harness, session)
    return child


async def test_a_new_day_lets_sessions_go_on_that_wait_at_its_limit(open_harness: Open) -> None:
    async with open_harness(LOOKS, DONE) as harness, harness.running_worker(reconcile_seconds=1.0):
        harness.configure_person(model={}, holdfast={"budget": {"day": {"steps": 1}}})
        session = await harness.start_session("Look.")
        await harness.wait_for_asks(session)
        totals = await shell(harness).run("stats")
        for table, column in (("budget", "day = day - 1"), ("ask", "lapses_at = now()")):
            await harness.database.rows(f"UPDATE {table} SET {column}".encode())
        ended, log = await harness.ended(session), await harness.events(session)
    assert "Today: 1 of 1 step used." in totals.out
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert [event.reason for event in log if isinstance(event, AskClosed)] == ["a new day has begun"]


@pytest.mark.parametrize(
    "flags", [("--max-cost", "5"), ("--max-cost", "nothing"), ("--max-cost", "1e-9"), ("--max-time", "soon")]
)
async def test_nothing_starts_with_a_limit_that_cannot_be_kept(open_harness: Open, flags: tuple[str, str]) -> None:
    async with open_harness(DONE) as harness:
        refused = await shell(harness).run("run", "-m", "scripted/model", *flags, "Go.")
        assert await harness.client.sessions.ids() == []
    words = {
        "5": "provider.scripted.models.model.cost",
        "nothing": "no amount of dollars",
        "1e-9": "the least is 0.0001",
        "soon": "is no time",
    }
    assert refused.code == 2 and words[flags[1]] in refused.err.replace("\n", " ")
