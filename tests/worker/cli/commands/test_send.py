"""`holdfast send` as a process."""

from tests.worker.cli.conftest import OpenHouse, shell
from worker.scripted.script import ScriptedAnswer

HELLO = ScriptedAnswer(text="Hello.")


async def test_a_prompt_is_sent_to_a_sleeping_session(open_house: OpenHouse) -> None:
    async with open_house(HELLO, HELLO) as house, house.working():
        session = await house.say("one")
        await house.ended(session)
        sent = await shell(house).run("send", session[:20], "two")
        await house.ended(session, turns=2)

    assert sent.code == 0 and sent.out == f"Accepted by {session}.\n"
