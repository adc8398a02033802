"""`holdfast send` as a process."""

import pytest

from tests.worker.cli.conftest import OpenHouse, shell
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.errors import UsageError

HELLO = ScriptedAnswer(text="Hello.")


async def test_a_prompt_is_sent_to_a_sleeping_session(open_house: OpenHouse) -> None:
    async with open_house(HELLO, HELLO) as house, house.working():
        session = await house.say("one")
        await house.ended(session)
        sent = await shell(house).run("send", session[:20], "two")
        await house.ended(session, turns=2)

    assert sent.code == 0 and sent.out == f"Accepted by {session}.\n"


async def test_a_model_without_a_provider_is_refused_by_every_door_before_anything_is_recorded(
    open_house: OpenHouse,
) -> None:
    async with open_house(HELLO, HELLO) as house, house.working():
        session = await house.say("one")
        await house.ended(session)
        doors = [("run", "-s", session), ("send", session), ("send", session, "--config", "here")]
        words = [(*door, "-m", "script/model", "two") for door in doors] + [("retry", session, "-m", "script/model")]
        refused = [await shell(house).run(*each) for each in words]
        events = await house.events(session)
        config = house.settings.config / "opencode.json"
        written = config.read_text()
        config.write_text("{}")
        gone = await shell(house).run("send", session, "two")
        config.write_text(written)
        with pytest.raises(UsageError, match="There is no provider 'script'. Did you mean 'scripted'?"):
            await house.client.start(str(house.project), "hello", model="script/model")
        after = await house.events(session)

    assert [each.code for each in refused] == [2] * 4 and gone.code == 2
    assert all(
        "There is no provider 'script'. Did you mean 'scripted'? Configured: scripted." in e.err for e in refused
    )
    assert "There is no provider 'scripted'." in gone.err and events == after


async def test_a_running_turn_takes_a_prompt_whatever_the_configuration_has_become(open_house: OpenHouse) -> None:
    asking = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "echo hi"}),))
    async with open_house(asking, HELLO) as house, house.working():
        house.configure(permission={"bash": "ask"})
        session = await house.say("one")
        (ask,) = await house.asked(session)
        config = house.settings.config / "opencode.json"
        written = config.read_text()
        config.write_text("{}")
        sent = await shell(house).run("send", session, "two")
        config.write_text(written)
        await house.answer(ask)
        await house.ended(session)

    assert sent.code == 0
