"""A session's title, asked for beside its turns: it delays none, keeps no run open, and fails quietly."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowHandle

from activities.store import budgets, reservations
from tests.harness import Harness, wait_for_file
from tests.histories.history_scenarios import WRITE
from tests.workflows.conftest import Open
from worker.outbox import SignalSender
from worker.reconcile import Reconciler
from worker.scripted.script import Hold, Refuse, Script, ScriptedAnswer, ScriptedUsage, Stall
from workflows.domain.budgets import Usage
from workflows.domain.errors import Conflict
from workflows.domain.events.budgets import UsageEstimated
from workflows.domain.events.event import Event
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.sessions import SessionTitled
from workflows.domain.events.turns import TurnEnded
from workflows.domain.generation import Purpose
from workflows.domain.ids import SessionId, TurnId, aside_id, title_id
from workflows.domain.prompt import Prompt
from workflows.domain.sent_request import RequestChoice
from workflows.domain.wake_signal import WakeKind

DONE: Final = ScriptedAnswer(text="Done.", usage=ScriptedUsage(input=100, output=10))
NAMED: Final = ScriptedAnswer(
    text="<think>What is it about?</think>\n\nCounting files\nand more", usage=ScriptedUsage(input=20, output=5)
)


def script(title: ScriptedAnswer) -> dict[str, Script]:
    return {"default": Script(answers=(DONE, DONE), auxiliary_answer=title)}


def with_titles(harness: Harness, **config: Any) -> None:
    """As a person has it who has not disabled the agent."""
    harness.configure_person(model={}, agent={"title": {}}, **config)


def is_titled(event: Event) -> bool:
    return isinstance(event, SessionTitled)


def is_title_answer(event: Event) -> bool:
    return isinstance(event, MessageCompleted) and event.purpose is Purpose.TITLE


async def aside(harness: Harness, session: SessionId) -> WorkflowHandle[object, object]:
    """The workflow that asks for a title beside the session's first turn."""
    (row,) = await harness.database.rows(b"SELECT id FROM turn WHERE session = %(session)s LIMIT 1", session=session)
    return harness.temporal.get_workflow_handle(aside_id(session, title_id(TurnId(row["id"]))))


async def test_the_model_names_a_session_once_and_again_when_a_person_wants_it(open_harness: Open) -> None:
    async with open_harness(scripts=script(NAMED)) as harness, harness.running_worker():
        with_titles(harness, small_model="scripted/small")
        session = await harness.start_session("Count the files.")
        first = (await harness.client.sessions.get(session)).title
        await harness.until(session, is_titled)
        await harness.ended(session)
        await harness.client.prompt(session, Prompt.of_text("Count again."))
        await harness.ended(session, 2)
        sent = await harness.client.records.sent(session, RequestChoice(purpose=Purpose.TITLE))
        requests = len(harness.model.ledger.entries)
        named = await harness.client.sessions.get(session)
        rows = await harness.database.rows(b"SELECT model FROM message WHERE turn IS NULL")
        totals = await harness.client.sessions.totals(session)

        await harness.client.asides.give_title(session, "A person's")
        asked = await harness.client.asides.ask(session, Purpose.TITLE)
        again = await harness.until(session, is_titled, 3)
        renamed, verified = await harness.client.sessions.get(session), await harness.client.records.verify(session)
        await harness.client.end(session)
        with pytest.raises(Conflict, match="has ended"):
            await harness.client.asides.ask(session, Purpose.TITLE)

    assert first == "Count the files." and (named.title, named.default_title) == ("Counting files", None)
    assert [row["model"] for row in rows] == ["scripted/small"] and requests == 3
    assert (totals.steps, totals.tokens.input, totals.tokens.output) == (2, 220, 25)
    assert isinstance(again, SessionTitled) and again.generation == asked.generation and asked.delivered
    assert renamed.title == "Counting files" and verified.problem is None
    assert sent.as_sent and sent.model == "scripted/small" and sent.counted == 20


async def test_who_works_beside_the_turns_may_have_the_newest_model_of_a_family(open_harness: Open) -> None:
    async with open_harness(scripts=script(NAMED)) as harness, harness.running_worker():
        with_titles(harness)
        file = harness.settings.config / "opencode.json"
        known = json.loads(file.read_text())
        known["provider"]["scripted"]["models"] |= {"claude-haiku-4-5": {}, "claude-3-haiku": {}}
        known["agent"] |= {name: {"model": "haiku"} for name in ("title", "summary", "compaction")}
        file.write_text(json.dumps(known))
        session = await harness.start_session("Count the files.")
        await harness.ended(session)
        await harness.client.compact(session)
        await harness.client.asides.ask(session, Purpose.SUMMARY)
        await harness.until(session, lambda event: isinstance(event, MessageCompleted), 4)
        rows = await harness.database.rows(
            b"SELECT g.purpose, m.model FROM message m JOIN generation g ON g.id = m.generation"
        )

    newest = "scripted/claude-haiku-4-5"
    asked = {"step": "scripted/model", "title": newest, "compaction": newest, "summary": newest}
    assert {row["purpose"]: row["model"] for row in rows} == asked


@pytest.mark.parametrize(("budget", "titled"), [({"tokens": 90_000}, 1), ({"cost": 5}, 0)], ids=["tokens", "no price"])
async def test_a_title_counts_in_the_budget_and_needs_a_price(
    open_harness: Open, budget: dict[str, int], titled: int
) -> None:
    async with open_harness(scripts=script(NAMED)) as harness, harness.running_worker():
        harness.configure_person(
            model={"cost": {"input": 3, "output": 15}},
            agent={"title": {}},
            small_model="scripted/small",
            holdfast={"budget": {"session": budget}},
        )
        session = await harness.start_session("Count the files.")
        await harness.ended(session)
        await (await aside(harness, session)).result()
        (found,), log = await harness.client.sessions.budgets(session), await harness.events(session)
    assert sum(map(is_titled, log)) == titled and len(harness.model.ledger.entries) == 1 + titled
    assert found.used.tokens == 110 + 25 * titled and found.used.steps == 1 and found.reserved == Usage()


async def test_a_title_that_a_person_gives_ends_the_request_of_one(open_harness: Open) -> None:
    slow = NAMED.model_copy(update={"delay": 0.1, "chunk": 4})
    async with open_harness(scripts=script(slow)) as harness, harness.running_worker():
        with_titles(harness)
        session = await harness.start_session("Count the files.")
        await harness.ended(session)
        await harness.client.asides.give_title(session, "A person's")
        await harness.until(session, is_title_answer)
        found = await harness.client.sessions.get(session)
        left = await harness.database.rows(b"SELECT FROM aside_request")

    assert found.title == "A person's" and left == []


async def test_a_model_that_stays_silent_delays_nothing_and_keeps_no_run_open(open_harness: Open) -> None:
    silent = NAMED.model_copy(update={"faults": {1: Stall()}})
    async with open_harness(scripts=script(silent)) as harness, harness.running_worker():
        with_titles(harness)
        session = await harness.start_session("Count the files.")
        ended = await harness.ended(session)
        await harness.workflow(session).result()
        beside = await aside(harness, session)
        running = await beside.describe()
        found = await harness.client.sessions.get(session)
        await beside.terminate()

    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert running.status is WorkflowExecutionStatus.RUNNING and found.title == "Count the files."


async def test_a_provider_that_refuses_a_title_is_asked_three_times_at_most_and_nothing_else_fails(
    open_harness: Open,
) -> None:
    failing = NAMED.model_copy(update={"faults": dict.fromkeys(range(1, 9), Refuse(status=503))})
    async with open_harness(scripts=script(failing)) as harness:
        harness.use_settings(harness.settings.model_copy(update={"retry_seconds": 0.05}))
        async with harness.running_worker(retry_seconds=0.05):
            with_titles(harness)
            session = await harness.start_session("Count the files.")
            ended = await harness.ended(session)
            await (await aside(harness, session)).result()
            found = await harness.client.sessions.get(session)
            asked = [entry for entry in harness.model.ledger.entries if entry.step < 0]

    assert isinstance(ended, TurnEnded) and ended.reason == "done" and found.error is None
    assert len(asked) == 3 and found.title == "Count the files." and found.default_title is not None


async def test_a_title_that_temporal_has_lost_is_asked_for_again_when_the_open_turn_is_loaded(
    open_harness: Open,
) -> None:
    silent = NAMED.model_copy(update={"faults": {1: Stall()}})
    scripts = {"default": Script(answers=(WRITE, DONE), auxiliary_answer=silent)}
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        with_titles(harness, permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        await harness.model.stalled.wait()
        await (await aside(harness, session)).terminate()
        await harness.signal(session, WakeKind.REFRESH)
        await harness.until(session, is_titled)
        await harness.answer(ask)
        ended = await harness.ended(session)

    assert isinstance(ended, TurnEnded) and ended.reason == "done"


async def test_what_an_ended_aside_had_reserved_is_counted_and_freed(open_harness: Open, tmp_path: Path) -> None:
    """It was terminated while its worker was dead."""
    gate = tmp_path / "gate"
    held = NAMED.model_copy(update={"faults": dict.fromkeys(range(1, 9), Hold(after=0, path=str(gate)))})
    async with open_harness(scripts=script(held)) as harness:
        with_titles(harness, holdfast={"budget": {"session": {"tokens": 1_000_000}}})
        async with harness.running_worker(with_sweeper=False):
            session = await harness.start_session("Count the files.")
            await harness.ended(session)
            await wait_for_file(gate)
        sender = SignalSender(harness.database, harness.temporal, harness.settings)
        reconciler = Reconciler(harness.database, harness.temporal, sender, period=0)
        await reconciler.reconcile()
        (before,) = await budgets.of_session(harness.database, session)
        running = await reservations.of_asides(harness.database, 0)
        await (await aside(harness, session)).terminate()
        await reconciler.reconcile()
        (after,) = await budgets.of_session(harness.database, session)
        left = await reservations.of_asides(harness.database, 0)
        (estimated,) = [event for event in await harness.events(session) if isinstance(event, UsageEstimated)]

    assert [each.session for each in running] == [session] and left == []
    assert estimated.purpose is Purpose.TITLE and after.tokens == before.tokens + estimated.tokens
