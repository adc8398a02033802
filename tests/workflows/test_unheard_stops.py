"""Stops whose signal never comes: an engine that takes no more signals keeps nothing from being stopped."""

from pathlib import Path

import psutil
import pytest

from tests.house import House, reached
from tests.patience import appears
from tests.worker.conftest import cut_off
from tests.workflows.conftest import Open
from worker.scripted.script import Hold, ScriptedAnswer, ScriptedCall
from workflows.domain.events import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState

DONE = ScriptedAnswer(text="Done.")
COMMAND = "touch began.reached; sleep 3601 & sleep 3602"
RUNS = ScriptedCall(name="bash", arguments={"command": COMMAND})
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
