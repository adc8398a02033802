"""`kill -9` of the worker around reservations and limits: nothing is counted twice or forgotten, a limit asks once."""

from decimal import Decimal
from typing import Final

import pytest

from activities.store import budgets
from activities.store.budgets import BudgetRow
from tests.acceptance.conftest import Open
from tests.acceptance.recording_client import RecordedRequest
from tests.acceptance.scenarios import Mutate
from tests.acceptance.trial import Trial
from tests.polling import attempts, wait_until
from tests.worker.cli.conftest import shell
from tests.workflows.delegation import delegates, delegation_scripts
from worker.scripted.script import ScriptedAnswer, ScriptedCall, ScriptedUsage
from workflows.domain.events.asks import AskClosed
from workflows.domain.events.budgets import UsageEstimated
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import AskId, SessionId
from workflows.domain.permissions.replies import Reply
from workflows.domain.usage import Cost, Tokens

pytestmark = pytest.mark.acceptance

USAGE: Final = ScriptedUsage(input=2_000, output=10)
LOOK: Final = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*"}),), usage=USAGE)
DONE: Final = ScriptedAnswer(text="Done. " * 20, usage=USAGE)
PRICED: Final = {"cost": {"input": 3, "output": 15}, "limit": {"context": 100_000, "output": 1_000}}
TWENTY: Final = tuple(f"child{number}" for number in range(20))
LIMIT: Final = 30_000  # tokens, of which all together need 44,220


async def counted(trial: Trial, *sessions: SessionId) -> tuple[BudgetRow, Cost, int]:
    """The one budget, and the cost and tokens of the logs' answers and estimates."""
    (row,) = await budgets.of_session(trial.harness.database, sessions[0])
    cost, tokens = Cost(), 0
    for session in sessions:
        for event in await trial.harness.events(session):
            match event:
                case MessageCompleted(tokens=Tokens() as used):
                    cost, tokens = cost + Cost.of(event.cost), tokens + used.prompt + used.output
                case UsageEstimated():
                    cost, tokens = cost + Cost(dollars=Decimal(event.cost)), tokens + event.tokens
    return row, cost, tokens


async def left(trial: Trial) -> int:
    return len(await trial.harness.database.rows(b"SELECT generation FROM reservation"))


@pytest.mark.parametrize(
    ("point", "estimates", "wasted"),
    [
        ("budget.locked=kill9@1", 0, 0),
        ("budget.reserved=kill9@1", 1, 0),
        ("model.after_chunk=kill9@2", 1, 1),
        ("model.answered=kill9@1", 1, 1),
        ("model.committed=kill9@1", 0, 0),
    ],
    ids=["not reserved", "reserved", "in its answer", "answered", "settled"],
)
async def test_a_killed_request_is_counted_once(open_trial: Open, point: str, estimates: int, wasted: int) -> None:
    async with open_trial(LOOK, DONE) as trial:
        trial.wasted = wasted
        trial.harness.configure_person(model=PRICED, holdfast={"budget": {"session": {"cost": 5, "tokens": 1_000_000}}})
        first = await trial.worker(faults=point)
        session = await trial.start_session("Look.")
        await trial.replace(first)
        ended = await trial.harness.ended(session)
        row, cost, tokens = await counted(trial, session)
        guessed = [event for event in await trial.harness.events(session) if isinstance(event, UsageEstimated)]
        assert await left(trial) == 0

    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert len(guessed) == estimates and row.steps == 2
    assert (row.tokens, row.cost) == (tokens, cost.dollars)
    assert row.estimated == sum(Decimal(event.cost) for event in guessed)


async def test_a_limit_of_a_day_is_asked_about_once_and_a_new_day_counts_once(open_trial: Open) -> None:
    """The worker dies in the transaction of the ask, after it, in that of the new day, and after it."""
    async with open_trial(LOOK, DONE, reconcile_seconds=1.0) as trial:
        trial.harness.configure_person(model=PRICED, holdfast={"budget": {"day": {"steps": 1}}})
        first = await trial.worker(faults="budget.locked=kill9@2")
        session = await trial.start_session("Look.")
        await first.killed()
        second = await trial.worker(faults="budget.reserved=kill9@2")
        await second.killed()
        (ask,) = await trial.harness.wait_for_asks(session)
        for change in (b"UPDATE budget SET day = day - 1", b"UPDATE ask SET lapses_at = now()"):
            await trial.harness.database.rows(change)
        third = await trial.worker(faults="budget.locked=kill9@4")
        await third.killed()
        await trial.replace(await trial.worker(faults="budget.reserved=kill9@3"))
        ended, log = await trial.harness.ended(session), await trial.harness.events(session)
        row, _, tokens = await counted(trial, session)

    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert [event.type for event in log].count("ask.raised") == [event.type for event in log].count("budget.spent") == 1
    assert [event.ask for event in log if isinstance(event, AskClosed)] == [ask]
    assert (row.steps, row.tokens) == (1, tokens - 2_010)  # the day before has the first answer


async def test_a_recorded_answer_at_a_limit_whose_signal_was_lost_counts_once(open_trial: Open, mutate: Mutate) -> None:
    """The worker dies, and each `answer` as its commit is acknowledged: one signal was never sent, the other was lost
    after Temporal had taken it. A worker without a sweeper leaves both as they are."""
    async with open_trial(LOOK, DONE, reconcile_seconds=1.0) as trial:
        trial.harness.configure_person(model=PRICED, holdfast={"budget": {"session": {"steps": 1}}})
        first = await trial.worker()
        sessions = [await trial.start_session("Look.") for _ in range(2)]
        asked = [await trial.harness.wait_for_asks(session) for session in sessions]
        await first.kill()
        for (ask,) in asked:
            await answer_and_die(trial, ask)
        await trial.harness.database.rows(b"DELETE FROM outbox WHERE session = %(session)s", session=sessions[0])
        trial.code = mutate("worker/sweeper.py", "await every(INTERVAL, self.sweep_while_alone, _LOG)", "pass")
        without = await trial.worker()
        other = await trial.start_session("Look elsewhere.")
        await trial.harness.wait_for_asks(other)
        states = [(await trial.harness.client.sessions.get(session)).turn_state for session in sessions]
        assert states == ["open", "open"] and len(trial.harness.model.ledger.entries) == 3
        await without.kill()
        trial.code = None
        await trial.worker()
        for session in sessions:
            ended, log = await trial.harness.ended(session), await trial.harness.events(session)
            types = [event.type for event in log]
            assert isinstance(ended, TurnEnded) and ended.reason == "done"
            assert [types.count(kind) for kind in ("ask.raised", "ask.answered", "budget.raised")] == [1, 1, 1]
        await trial.recording_client.stop(other)
        await trial.harness.ended(other)


async def answer_and_die(trial: Trial, ask: AskId) -> None:
    """One step more: the command is killed when its answer is recorded."""
    trial.ledger.answers.append(RecordedRequest(ask, Reply.ANSWER))
    between = await trial.database_proxy()
    answering = between.hold("ask.answered")
    person = shell(trial.harness).with_(HOLDFAST_POSTGRES_URL=between.url)
    async with person.process("answer", ask, "+1") as process:
        await answering.wait_until_caught()
        process.kill()
        assert await process.wait() == -9
    between.close()


async def test_twenty_subagents_at_once_pass_their_limit_by_less_than_a_reservation(open_unjudged: Open) -> None:
    """A kill in the middle included; the crowd is too slow for the invariants' times."""
    scripts = delegation_scripts(
        delegates(*TWENTY).model_copy(update={"usage": USAGE}), DONE, **dict.fromkeys(TWENTY, (DONE,))
    )
    async with open_unjudged(scripts=scripts) as trial:
        harness = trial.harness
        harness.configure_person(model=PRICED, holdfast={"budget": {"session": {"tokens": LIMIT}}})
        first = await trial.worker()
        session = await trial.start_session("Look everywhere.")
        await wait_until(lambda: len(harness.model.ledger.entries) >= 4)
        await first.kill()
        await trial.worker()
        await all_wait(trial)
        tree = await harness.client.sessions.tree(session)
        row, _, tokens = await counted(trial, *tree)
        assert len(tree) == 21 and row.tokens == tokens and LIMIT <= tokens < LIMIT + 14_000
        (entry, *_) = await harness.client.inbox.asks()
        await harness.answer(entry.id, Reply.ANSWER, answers=(("1000000",),))
        ended = await harness.ended(session)
        row, _, tokens = await counted(trial, *tree)
        assert row.tokens == tokens >= 22 * 2_010 and row.steps == 22 and await left(trial) == 0

    assert isinstance(ended, TurnEnded) and ended.reason == "done"


async def all_wait(trial: Trial) -> None:
    """Until each subagent that is not done waits at the limit."""
    query = b"""
        SELECT count(*) AS open, count(*) FILTER (WHERE EXISTS (
            SELECT FROM ask WHERE ask.turn = turn.id AND ask.state = 'open')) AS asking
        FROM turn JOIN session s ON s.id = turn.session WHERE turn.state = 'open' AND s.parent IS NOT NULL
    """
    async for _ in attempts():
        (row,) = await trial.harness.database.rows(query)
        if row["asking"] and row["open"] == row["asking"]:
            return
