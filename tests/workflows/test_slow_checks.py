"""A slow check of a call delays no other session of the worker, and no stop."""

import asyncio
from typing import Final

import psutil

from tests.polling import WAIT_TIMEOUT
from tests.workflows.conftest import Open
from worker.scripted.script import Script, ScriptedAnswer, ScriptedCall
from workflows.domain.events.turns import TurnEnded

SESSIONS: Final = 7  # more than a pool of threads has for two processors
CONDITIONAL: Final = " ".join(f"[ -d s{number} ] && cd s{number};" for number in range(28)) + " make"
DONE: Final = ScriptedAnswer(text="Done.")


def runs(command: str) -> Script:
    return Script(answers=(ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": command}),)), DONE))


def planners() -> list[psutil.Process]:
    """The processes below this one that check texts."""
    return [each for each in psutil.Process().children() if "activities.calls.planner" in command(each)]


def command(process: psutil.Process) -> str:
    """The command line of a process; empty if it has just ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


async def test_texts_that_take_long_to_check_hold_up_no_other_session_and_no_stop(open_harness: Open) -> None:
    scripts = {"default": Script(answers=(DONE,)), "long": runs("true " + "x" * 300), "many": runs(CONDITIONAL)}
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.configure(permission={"*": "allow"})
        await harness.ended(await harness.start_session("[[script:long]] Begin."))
        (planner,) = planners()
        planner.suspend()  # a text that is looked at as long as the test wants
        checked = [await harness.start_session("[[script:many]] Look around.") for _ in range(SESSIONS)]
        async with asyncio.timeout(WAIT_TIMEOUT):
            while sum(entry.script == "many" for entry in harness.model.ledger.entries) < SESSIONS:
                await asyncio.sleep(0.02)
        other = await harness.ended(await harness.start_session("Hello?"))
        stored = [
            event for each in checked for event in await harness.events(each) if event.type == "message.completed"
        ]
        for session in checked:
            await harness.client.stop(session)
        ends = [await harness.ended(session) for session in checked]
        async with asyncio.timeout(WAIT_TIMEOUT):
            while planner.is_running():  # a call that was stopped later may have begun the worker's next one meanwhile
                await asyncio.sleep(0.02)
    async with asyncio.timeout(WAIT_TIMEOUT):
        while planners():
            await asyncio.sleep(0.02)
    assert isinstance(other, TurnEnded) and other.reason == "done" and stored == []
    assert [end.reason for end in ends if isinstance(end, TurnEnded)] == ["stopped"] * SESSIONS
    assert sum(entry.script == "many" for entry in harness.model.ledger.entries) == SESSIONS


async def test_commands_that_explode_are_asked_about_under_every_policy(open_harness: Open) -> None:
    async with open_harness(*runs(CONDITIONAL).answers) as harness, harness.running_worker():
        harness.configure(permission={"*": "allow"})
        session = await harness.start_session("Look around.")
        (ask,) = await harness.wait_for_asks(session)
        await harness.answer(ask)
        await harness.ended(session)
    assert len(harness.model.ledger.entries) == 2
