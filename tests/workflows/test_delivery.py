"""Delivery: the row first, then the signal, which may be late, doubled, lost or forged (reliability.md 11)."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import WorkflowUpdateFailedError
from temporalio.service import RPCError

from activities.store.journal import session_journal
from tests.activities.rig import wait_for_lock_waiter
from tests.harness import ACTOR, Harness, failed_tasks, wait_for_file
from tests.histories.history_scenarios import DONE, LOOK, PARALLEL, WRITE
from tests.polling import WAIT_TIMEOUT
from tests.workflows.conftest import Open
from tests.workflows.session_runs import session_histories
from tests.workflows.stress import play_everything, worker_without_cache
from worker.assemble import WORKFLOWS
from worker.connect import connect
from worker.scripted.script import Hold, Script, ScriptedAnswer
from workflows.domain.events.asks import SignalWithoutAnswer
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.events.stops import StopAccepted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId, StopId, TurnId
from workflows.domain.messages import CallState
from workflows.domain.prompt import Prompt
from workflows.domain.wake_signal import WAKE, Wake, WakeKind
from workflows.session import SessionWorkflow

AROUND = tuple(step * 0.005 for step in range(6))  # seconds between a stop and the prompt beside it
RIVALS = 20


@pytest.fixture(params=[False, True], ids=["unswept", "swept"])
def with_sweeper(request: pytest.FixtureRequest) -> bool:
    """Without a sweeper, which resends lost signals, and with one."""
    return bool(request.param)


async def slept(harness: Harness, session: SessionId) -> None:
    """Wait until the session's run has completed."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        await harness.workflow(session).result()


async def turns(harness: Harness, session: SessionId) -> list[TurnEnded]:
    return [event for event in await harness.events(session) if isinstance(event, TurnEnded)]


async def test_b02_twenty_concurrent_wake_ups_make_one_turn(open_harness: Open) -> None:
    async with open_harness(ScriptedAnswer(text="Hello.")) as harness, harness.running_worker():
        accepted = await harness.client.start(str(harness.project), Prompt.of_text("Hello?", model="scripted/model"))
        await asyncio.gather(*(harness.signal(accepted.session, WakeKind.WORK, accepted.prompt) for _ in range(RIVALS)))
        harness.set_limits(idle_seconds=0.2)
        await harness.ended(accepted.session)
        await slept(harness, accepted.session)
        ends = await turns(harness, accepted.session)
    assert len(ends) == 1 and len(harness.model.ledger.entries) == 1


async def test_b19_a_session_between_two_workers_has_one_driver(open_harness: Open) -> None:
    async with open_harness(PARALLEL, WRITE, DONE) as harness:
        another = replace(harness, temporal=await connect(harness.settings, harness.endpoints))
        harness.configure(permission={"edit": "ask"})
        async with harness.running_worker(), another.running_worker():
            session = await harness.start_session("Go.")
            (ask,) = await harness.wait_for_asks(session)
            await harness.answer(ask)
            await harness.ended(session)
        log = [event.type for event in await harness.events(session)]
    assert (log.count("turn.ended"), log.count("call.claimed"), log.count("write.refused")) == (1, 4, 0)
    assert len(harness.model.ledger.entries) == 3


@pytest.mark.parametrize("asleep", [False, True])
async def test_b03_a_late_or_doubled_signal_does_nothing(open_harness: Open, asleep: bool) -> None:
    async with open_harness(ScriptedAnswer(text="Hello.")) as harness, harness.running_worker():
        harness.set_limits(idle_seconds=0.5)
        accepted = await harness.client.start(str(harness.project), Prompt.of_text("Hello?", model="scripted/model"))
        await harness.ended(accepted.session)
        if asleep:
            await slept(harness, accepted.session)
        before = await harness.events(accepted.session)
        for _ in range(2):
            await harness.signal(accepted.session, WakeKind.WORK, accepted.prompt)
        await slept(harness, accepted.session)
        assert await harness.events(accepted.session) == before
    assert len(harness.model.ledger.entries) == 1


FOREIGN: list[list[Any]] = [
    [],
    [{"kind": "stop", "subject": "", "turn": "trn_x"}] * 2,
    ["stop"],
    [None],
    [b"\0"],
    [{"kind": "of a newer release"}],
    [{"subject": "msg_1"}],
    [{"kind": "title", "subject": "x" * 2000}],
    [{"kind": "summary", "subject": ""}],
]


async def test_signals_and_updates_with_no_too_many_or_foreign_arguments_change_nothing(open_harness: Open) -> None:
    definition = workflow._Definition.must_from_class(SessionWorkflow)
    others = [workflow._Definition.must_from_class(each) for each in WORKFLOWS if each is not SessionWorkflow]
    assert [*definition.signals] == [WAKE] and not any(each.signals for each in others)
    assert not any(each.updates for each in (definition, *others))
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        before = await harness.events(session)
        for arguments in FOREIGN:
            await harness.workflow(session).signal(WAKE, args=arguments)
        with suppress(WorkflowUpdateFailedError, RPCError):
            await harness.workflow(session).execute_update("change", args=["x"])
        assert await harness.events(session) == before
        await harness.answer(ask)
        ended = await harness.ended(session)
        history = await harness.history(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and failed_tasks(history) == []


async def test_b04_a_prompt_at_the_moment_a_run_falls_asleep_is_answered(open_harness: Open, scale: int) -> None:
    rounds = 8 * scale
    answers = [ScriptedAnswer(text=f"Answer {number}.") for number in range(rounds + 1)]
    async with open_harness(*answers) as harness, harness.running_worker():
        harness.set_limits(idle_seconds=0.2)
        session = await harness.start_session("Hello?")
        for number in range(rounds):
            await harness.ended(session, number + 1)
            await asyncio.sleep(0.17 + number % 8 * 0.008)  # around the 0.2 s after which the run completes
            await harness.client.prompt(session, f"And {number}?")
        await harness.ended(session, rounds + 1)
        ends = await turns(harness, session)
    assert [end.reason for end in ends] == ["done"] * (rounds + 1)
    assert len(harness.model.ledger.entries) == rounds + 1


async def test_b04_a_prompt_just_after_the_run_has_closed_is_answered(open_harness: Open) -> None:
    answers = [ScriptedAnswer(text=f"Answer {number}.") for number in range(4)]
    async with open_harness(*answers) as harness, harness.running_worker():
        harness.set_limits(idle_seconds=0.2)
        session = await harness.start_session("Hello?")
        for number in range(3):
            await harness.ended(session, number + 1)
            await slept(harness, session)
            await harness.client.prompt(session, f"And {number}?")
        await harness.ended(session, 4)
    assert len(harness.model.ledger.entries) == 4


async def test_b01_a_prompt_around_a_stop_is_withdrawn_or_starts_one_turn(open_harness: Open, tmp_path: Path) -> None:
    scripts = {
        str(number): Script(answers=(ScriptedAnswer(text="x", faults={1: Hold(path=str(tmp_path / str(number)))}),))
        for number in range(2 * len(AROUND))
    }
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        rounds = [
            stop_and_prompt(harness, str(2 * number + late), tmp_path, offset, bool(late))
            for number, offset in enumerate(AROUND)
            for late in (0, 1)
        ]
        sessions = await asyncio.gather(*rounds)
        for session in sessions:
            await one_turn_or_none_after_the_stop(harness, session)


async def stop_and_prompt(harness: Harness, script: str, gates: Path, offset: float, prompt_late: bool) -> SessionId:
    """Stop a generating turn, with a prompt just before or after."""
    session = await harness.start_session(f"[[script:{script}]] A long task.")
    await wait_for_file(gates / script)

    async def after(seconds: float, what: str) -> None:
        await asyncio.sleep(seconds)
        if what == "stop":
            await harness.client.stop(session)
        else:
            await harness.client.prompt(session, f"[[script:{script}]] Another.")

    order = ("stop", "prompt") if prompt_late else ("prompt", "stop")
    await asyncio.gather(after(0, order[0]), after(offset, order[1]))
    return session


async def one_turn_or_none_after_the_stop(harness: Harness, session: SessionId) -> None:
    """A prompt accepted after the stop starts exactly one turn; one accepted before it is withdrawn."""
    log = await harness.events(session)
    stop = next(place for place, event in enumerate(log) if isinstance(event, StopAccepted))
    prompt = max(place for place, event in enumerate(log) if isinstance(event, PromptAccepted))
    expected = ["stopped", "done"] if prompt > stop else ["stopped"]
    await harness.ended(session, len(expected))
    log = await harness.events(session)
    assert [event.reason for event in log if isinstance(event, TurnEnded)] == expected
    assert [event.type for event in log].count("prompt.withdrawn") == 2 - len(expected)


async def test_a_retried_stop_leaves_the_next_turn_alone(open_harness: Open, tmp_path: Path) -> None:
    gates = [tmp_path / "first", tmp_path / "second"]
    held = {number: Hold(path=str(gate)) for number, gate in enumerate(gates, start=1)}
    async with open_harness(ScriptedAnswer(text="Done.", faults=held)) as harness, harness.running_worker():
        session = await harness.start_session("A task.")
        await wait_for_file(gates[0])
        stopped = await harness.client.stop(session, stop=StopId("stp_1"))
        await harness.client.prompt(session, "Another task.")
        await wait_for_file(gates[1])
        await harness.client.stop(session, stop=StopId("stp_1"))
        handle = harness.workflow(session)
        await handle.signal(WAKE, Wake(kind=WakeKind.STOP, subject="stp_1", turn=stopped.turn))
        gates[1].touch()
        await harness.ended(session, 2)
        ends = await turns(harness, session)
    assert [end.reason for end in ends] == ["stopped", "done"]


async def test_signals_of_unknown_ids_are_kept_without_effect(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        handle = harness.workflow(session)
        for kind in (WakeKind.ANSWER, WakeKind.STOP, WakeKind.SETTLED, WakeKind.WORK):
            await handle.signal(WAKE, Wake(kind=kind, subject="of_no_row", turn=TurnId("trn_unknown")))
        await harness.answer(ask)
        ended = await harness.ended(session)
        (call,) = await harness.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and call.state is CallState.DONE


async def test_b24_a_signal_without_an_answer_leads_back_to_waiting(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        handle = harness.workflow(session)
        for times in (1, 2):
            await handle.signal(WAKE, Wake(kind=WakeKind.ANSWER, subject=ask))
            await harness.until(session, lambda event: isinstance(event, SignalWithoutAnswer), times)
        assert not (harness.project / "a.txt").exists()
        await harness.answer(ask)
        await harness.ended(session)
    assert (harness.project / "a.txt").read_text() == "a"


async def test_b24_an_answer_that_comes_while_a_forged_one_is_checked_is_applied_once(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        handle = harness.workflow(session)
        await asyncio.gather(
            *(handle.signal(WAKE, Wake(kind=WakeKind.ANSWER, subject=ask)) for _ in range(5)), harness.answer(ask)
        )
        await harness.ended(session)
        log = [event.type for event in await harness.events(session)]
    assert (log.count("call.claimed"), log.count("ask.answered"), log.count("ask.raised")) == (1, 1, 1)


async def test_an_answer_that_races_with_a_stop_has_run_or_is_reported_as_not_run(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        await asyncio.gather(harness.answer(ask), harness.client.stop(session), return_exceptions=True)
        await harness.ended(session)
        log = [event.type for event in await harness.events(session)]
        (call,) = await harness.calls(session)
        assert await harness.client.inbox.asks(session=session) == []
    ran = call.state is CallState.DONE
    assert ran == (harness.project / "a.txt").exists()
    assert ran or (call.state is CallState.CANCELLED and ("answer.not_run" in log) == ("ask.answered" in log))


async def test_row_58_a_stop_that_comes_while_a_new_run_loads_is_applied(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        await harness.workflow(session).terminate()
        turn = (await harness.client.sessions.get(session)).turn
        async with session_journal(harness.database, session, ACTOR) as journal:
            await journal.locked()
            await harness.signal(session, WakeKind.ANSWER, ask)
            await wait_for_lock_waiter(harness.database)
            await harness.signal(session, WakeKind.STOP, "stp_1", turn)
            journal.record(StopAccepted(stop=StopId("stp_1"), turn=turn))
        ended = await harness.ended(session)
    assert isinstance(ended, TurnEnded) and (ended.turn, ended.reason) == (turn, "stopped")


@pytest.mark.parametrize(("cached", "events"), [(True, 2000), (False, 2000), (True, 12), (False, 12)])
async def test_b12_a_whole_session_is_the_same_without_a_cache_and_over_many_runs(
    open_harness: Open, tmp_path: Path, cached: bool, events: int
) -> None:
    gate = tmp_path / "gate"
    held = LOOK.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    async with open_harness(PARALLEL, held, WRITE, DONE, held) as harness:
        harness.set_limits(history_events=events)
        async with harness.running_worker() if cached else worker_without_cache(harness):
            session = await play_everything(harness, gate)
        log = [event.type for event in await harness.events(session)]
        runs = await session_histories(harness, session)
        states = [call.state for call in await harness.calls(session)]
    assert states == [CallState.DONE] * 5
    assert [log.count(kind) for kind in ("turn.ended", "prompt.taken", "ask.raised", "call.claimed")] == [2, 3, 1, 5]
    assert len(harness.model.ledger.entries) == 5 and (len(runs) > 1) == (events == 12)
