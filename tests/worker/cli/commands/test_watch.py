"""`holdfast watch` as a process."""

import json

from tests.worker.cli.conftest import CTRL_C, OpenHouse, shell
from worker.scripted.script import ScriptedAnswer, ScriptedCall, Stall

HELLO = ScriptedAnswer(text="Hello to you.")
TOUCH = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "touch ran"}),))
HANGS = ScriptedAnswer(text="never said in full", faults={1: Stall(after=1)})


async def test_what_has_happened_is_told_and_it_ends_when_nothing_is_left_to_do(open_house: OpenHouse) -> None:
    async with open_house(HELLO, HELLO) as house, house.working():
        session = await house.say("one")
        await house.ended(session)
        told = await shell(house).run("watch", session, "--until-idle")

    assert told.code == 0 and "> one" in told.out and "Hello to you." in told.out


async def test_it_resumes_behind_the_event_that_is_named(open_house: OpenHouse) -> None:
    async with open_house(HELLO) as house, house.working():
        session = await house.say("one")
        await house.ended(session)
        seq = (await house.client.session(session)).seq
        told = await shell(house).run("watch", session, "--until-idle", "--after", str(seq - 1), "--json")

    assert [json.loads(line)["type"] for line in told.out.splitlines()] == ["turn_end"]


async def test_ctrl_c_only_leaves(open_house: OpenHouse) -> None:
    async with open_house(HANGS) as house, house.working():
        session = await house.say("hang")
        await house.model.stalled.wait()
        async with shell(house).terminal("watch", session) as terminal:
            await terminal.until("> hang")
            terminal.type(CTRL_C)
            code = await terminal.ended()
        now = await house.client.session(session)
        await house.client.stop(session)
        await house.ended(session)

    assert code == 130 and now.turn_state == "open"


async def test_a_watcher_follows_until_the_session_is_ended(open_house: OpenHouse) -> None:
    async with open_house(TOUCH, HELLO) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("go")
        async with shell(house).terminal("watch", session) as terminal:
            asked = await terminal.until(r"holdfast answer (per_\w+) once")
            await shell(house).run("answer", asked[1], "once")
            await terminal.until("Hello to you.")
            await shell(house).run("end", session)
            await terminal.until("The session has ended")
            code = await terminal.ended()

    assert code == 0


async def test_a_watcher_that_is_killed_misses_nothing_the_next_time(open_house: OpenHouse) -> None:
    async with open_house(TOUCH, HELLO) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("go")
        await house.asked(session)
        async with shell(house).process("watch", session, "--json") as watcher:
            assert watcher.stdout is not None
            await watcher.stdout.readuntil(b'"type":"ask"')
            watcher.kill()
        (entry,) = await house.client.asks()
        await house.answer(entry.id)
        await house.ended(session)
        told = await shell(house).run("watch", session, "--until-idle", "--json")

    types = [json.loads(line)["type"] for line in told.out.splitlines()]
    assert types == ["step_start", "tool_use", "step_finish", "step_start", "text", "step_finish", "turn_end"]
