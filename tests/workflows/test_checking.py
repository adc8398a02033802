"""Checking what a model calls holds nobody else up: not the other sessions of a worker, and no stop."""

import asyncio
from typing import Final

import psutil

from tests.workflows.conftest import Open
from worker.scripted.script import Script, ScriptedAnswer, ScriptedCall
from workflows.domain.events import TurnEnded

WAITS: Final = 30  # seconds
SESSIONS: Final = 7  # more than a pool of threads has for two processors
CONDITIONAL: Final = " ".join(f"[ -d s{number} ] && cd s{number};" for number in range(28)) + " make"
DONE: Final = ScriptedAnswer(text="Done.")


def runs(command: str) -> Script:
    return Script(answers=(ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": command}),)), DONE))


def planners() -> list[psutil.Process]:
    """The processes in which texts are checked, below this one."""
    return [each for each in psutil.Process().children() if "activities.tools.planner" in command(each)]


def command(process: psutil.Process) -> str:
    """With what a process was started; nothing of one that has just ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


async def test_texts_that_take_long_to_check_hold_up_no_other_session_and_no_stop(open_house: Open) -> None:
    scripts = {"default": Script(answers=(DONE,)), "long": runs("true " + "x" * 300), "many": runs(CONDITIONAL)}
    async with open_house(scripts=scripts) as house, house.working():
        house.configure(permission={"*": "allow"})
        await house.ended(await house.say("[[script:long]] Begin."))
        (planner,) = planners()
        planner.suspend()  # a text that is looked at as long as the test wants
        checked = [await house.say("[[script:many]] Look around.") for _ in range(SESSIONS)]
        async with asyncio.timeout(WAITS):
            while sum(entry.script == "many" for entry in house.model.ledger.entries) < SESSIONS:
                await asyncio.sleep(0.02)
        other = await house.ended(await house.say("Hello?"))
        stored = [event for each in checked for event in await house.events(each) if event.type == "message.completed"]
        for session in checked:
            await house.client.stop(session)
        ends = [await house.ended(session) for session in checked]
        async with asyncio.timeout(WAITS):
            while planner.is_running():  # a call that was stopped later may have begun the worker's next one meanwhile
                await asyncio.sleep(0.02)
    async with asyncio.timeout(WAITS):
        while planners():
            await asyncio.sleep(0.02)
    assert isinstance(other, TurnEnded) and other.reason == "done" and stored == []
    assert [end.reason for end in ends if isinstance(end, TurnEnded)] == ["stopped"] * SESSIONS
    assert sum(entry.script == "many" for entry in house.model.ledger.entries) == SESSIONS


async def test_commands_that_explode_are_asked_about_under_every_policy(open_house: Open) -> None:
    async with open_house(*runs(CONDITIONAL).answers) as house, house.working():
        house.configure(permission={"*": "allow"})
        session = await house.say("Look around.")
        (ask,) = await house.asked(session)
        await house.answer(ask)
        await house.ended(session)
    assert len(house.model.ledger.entries) == 2
