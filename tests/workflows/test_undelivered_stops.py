"""Stops whose signal never arrives, for example because the run takes no more signals."""

from pathlib import Path

import psutil
import pytest
from temporalio.service import RPCError

from activities.model.wires.router import WireRouter
from activities.store.migrate import migrate
from tests.conftest import remove, settings_of
from tests.harness import Harness, harness, wait_for_file
from tests.polling import wait_until
from tests.worker.conftest import client_without_engine
from tests.workflows.conftest import Open
from worker.connect import connect
from worker.scripted.request_ledger import StreamEnd
from worker.scripted.script import Hold, Script, ScriptedAnswer, ScriptedCall
from worker.stack.up import up
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId, workflow_id
from workflows.domain.messages import CallState
from workflows.domain.wake_signal import WAKE, Wake, WakeKind

DONE = ScriptedAnswer(text="Done.")
COMMAND = "touch began.reached; sleep 3601 & sleep 3602"
RUNS = ScriptedCall(name="bash", arguments={"command": COMMAND})
SIGNALS = 20
WRITES = ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "x"})


async def stop_unheard(harness: Harness, session: SessionId) -> TurnEnded:
    """Stop a session by a client without Temporal, and without a sweeper; returns the end of its turn."""
    async with client_without_engine(harness) as door:
        await door.stop(session)
    ended = await harness.ended(session)
    assert isinstance(ended, TurnEnded)
    return ended


def sleeping() -> list[str]:
    """Our commands' running sleeps."""
    found = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [line[1] for line in found if line[:1] == ["sleep"] and line[1:] in (["3601"], ["3602"])]


async def test_a_stop_ends_an_answer(open_harness: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = ScriptedAnswer(text="Never said.", faults={1: Hold(path=str(gate))})
    async with open_harness(held) as harness, harness.running_worker(with_sweeper=False):
        session = await harness.start_session("A long task.")
        await wait_for_file(gate)
        ended = await stop_unheard(harness, session)
        await wait_until(lambda: len(harness.model.ledger.entries) == 1)
    assert ended.reason == "stopped" and harness.model.ledger.entries[0].end is StreamEnd.CLIENT_LEFT


@pytest.mark.parametrize("asking", [False, True])
async def test_a_stop_ends_a_command_and_what_waits_beside_it(open_harness: Open, asking: bool) -> None:
    answer = ScriptedAnswer(tools=(RUNS, WRITES) if asking else (RUNS,))
    async with open_harness(answer, DONE) as harness, harness.running_worker(with_sweeper=False):
        harness.configure(permission={"edit": {"a.txt": "ask"}})
        session = await harness.start_session("Run it.")
        await wait_for_file(harness.project / "began")
        if asking:
            await harness.wait_for_asks(session)
        ended = await stop_unheard(harness, session)
        states = [call.state for call in await harness.calls(session)]
        assert await harness.client.inbox.asks(session=session) == []
    assert ended.reason == "stopped" and sleeping() == []
    assert set(states) == {CallState.CANCELLED} and len(harness.model.ledger.entries) == 1


async def test_the_end_of_a_session_ends_its_command(open_harness: Open) -> None:
    async with open_harness(ScriptedAnswer(tools=(RUNS,)), DONE) as harness, harness.running_worker(with_sweeper=False):
        session = await harness.start_session("Run it.")
        await wait_for_file(harness.project / "began")
        async with client_without_engine(harness) as door:
            await door.end(session)
        await harness.ended(session)
        (call,) = await harness.calls(session)
    assert call.state is CallState.CANCELLED and sleeping() == []


async def test_a_stop_ends_an_answer_of_a_run_that_takes_no_more_signals(port: WireRouter, tmp_path: Path) -> None:
    """Reaches Temporal's own limit (10,000 by default)."""
    limit = f"history.maximumSignalsPerExecution={SIGNALS}"
    settings = settings_of(tmp_path / "stack", HOLDFAST_TEMPORAL_DYNAMIC=limit)
    held = ScriptedAnswer(text="Never said.", faults={1: Hold(path=str(tmp_path / "gate"))})
    try:
        endpoints = await up(settings, print, worker=False)
        await migrate(endpoints.postgres_url)
        client = await connect(settings, endpoints)
        async with (
            harness(settings, endpoints, client, port, Script(answers=(held,)), tmp_path) as built,
            built.running_worker(),
        ):
            session = await built.start_session("A long task.")
            await wait_for_file(tmp_path / "gate")
            with pytest.raises(RPCError, match="limit for signal"):
                for _ in range(SIGNALS + 1):
                    await client.get_workflow_handle(workflow_id(session)).signal(WAKE, Wake(kind=WakeKind.WORK))
            await built.client.stop(session)
            ended = await built.ended(session)
    finally:
        await remove(settings)
    assert isinstance(ended, TurnEnded) and ended.reason == "stopped"
