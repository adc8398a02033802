"""Stops whose signal never comes: an engine that takes no more signals keeps nothing from being stopped."""

from pathlib import Path

import psutil
import pytest
from temporalio.service import RPCError

from activities.model.wires.router import WireRouter
from activities.store.migrate import migrate
from tests.conftest import remove, settings_of
from tests.house import House, house, reached
from tests.patience import appears
from tests.worker.conftest import cut_off
from tests.workflows.conftest import Open
from worker.connect import connect
from worker.scripted.script import Hold, Script, ScriptedAnswer, ScriptedCall
from worker.stack.up import up
from workflows.domain.events import TurnEnded
from workflows.domain.ids import SessionId, workflow_id
from workflows.domain.messages import CallState
from workflows.domain.wire import LookRef

DONE = ScriptedAnswer(text="Done.")
COMMAND = "touch began.reached; sleep 3601 & sleep 3602"
RUNS = ScriptedCall(name="bash", arguments={"command": COMMAND})
SIGNALS = 20
WRITES = ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "x"})


async def stop_unheard(house: House, session: SessionId) -> TurnEnded:
    """Stop a session by a door that cannot reach Temporal; how its turn has ended, though no sweeper rings."""
    async with cut_off(house) as door:
        await door.stop(session)
    ended = await house.ended(session)
    assert isinstance(ended, TurnEnded)
    return ended


def sleeping() -> list[str]:
    """The sleeps of our commands that still run."""
    found = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [line[1] for line in found if line[:1] == ["sleep"] and line[1:] in (["3601"], ["3602"])]


async def test_a_stop_ends_an_answer(open_house: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = ScriptedAnswer(text="Never said.", faults={1: Hold(path=str(gate))})
    async with open_house(held) as house, house.working(swept=False):
        session = await house.say("A long task.")
        await reached(gate)
        ended = await stop_unheard(house, session)
        await appears(lambda: len(house.model.ledger.entries) == 1)
    assert ended.reason == "stopped" and not house.model.ledger.entries[0].delivered


@pytest.mark.parametrize("asking", [False, True])
async def test_a_stop_ends_a_command_and_what_waits_beside_it(open_house: Open, asking: bool) -> None:
    answer = ScriptedAnswer(tools=(RUNS, WRITES) if asking else (RUNS,))
    async with open_house(answer, DONE) as house, house.working(swept=False):
        house.configure(permission={"edit": {"a.txt": "ask"}})
        session = await house.say("Run it.")
        await reached(house.project / "began")
        if asking:
            await house.asked(session)
        ended = await stop_unheard(house, session)
        states = [call.state for call in await house.calls(session)]
        assert await house.client.asks(session=session) == []
    assert ended.reason == "stopped" and sleeping() == []
    assert set(states) == {CallState.CANCELLED} and len(house.model.ledger.entries) == 1


async def test_the_end_of_a_session_ends_its_command(open_house: Open) -> None:
    async with open_house(ScriptedAnswer(tools=(RUNS,)), DONE) as house, house.working(swept=False):
        session = await house.say("Run it.")
        await reached(house.project / "began")
        async with cut_off(house) as door:
            await door.end(session)
        await house.ended(session)
        (call,) = await house.calls(session)
    assert call.state is CallState.CANCELLED and sleeping() == []


async def test_a_stop_ends_an_answer_of_a_run_that_takes_no_more_signals(port: WireRouter, tmp_path: Path) -> None:
    """Temporal's own limit, which is 10,000 by default, really reached."""
    limit = f"history.maximumSignalsPerExecution={SIGNALS}"
    settings = settings_of(tmp_path / "stack", HOLDFAST_TEMPORAL_DYNAMIC=limit)
    held = ScriptedAnswer(text="Never said.", faults={1: Hold(path=str(tmp_path / "gate"))})
    try:
        endpoints = await up(settings, print, worker=False)
        await migrate(endpoints.postgres_url)
        client = await connect(settings, endpoints)
        async with (
            house(settings, endpoints, client, port, Script(answers=(held,)), tmp_path) as built,
            built.working(),
        ):
            session = await built.say("A long task.")
            await reached(tmp_path / "gate")
            with pytest.raises(RPCError, match="limit for signal"):
                for _ in range(SIGNALS + 1):
                    await client.get_workflow_handle(workflow_id(session)).signal("look", LookRef(row="prk_unknown"))
            await built.client.stop(session)
            ended = await built.ended(session)
    finally:
        await remove(settings)
    assert isinstance(ended, TurnEnded) and ended.reason == "stopped"
