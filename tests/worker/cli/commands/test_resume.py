"""`holdfast resume`, and how a parked session shows, as processes."""

import json
import shutil

from tests.house import House
from tests.worker.cli.conftest import OpenHouse, shell
from worker.parking import park_all
from worker.scripted.script import ScriptedAnswer
from worker.settings import Resume
from workflows.domain.ids import SessionId

HELLO = ScriptedAnswer(text="Hello.")


async def parked(house: House, policy: Resume = Resume.ASK) -> SessionId:
    """A session whose prompt waits, parked at a new boot of its stack."""
    session = await house.say("hello")
    settings = house.settings.model_copy(update={"resume": policy})
    await park_all(settings, house.endpoints.postgres_url, print)
    return session


async def test_a_parked_session_asks_wherever_one_looks_and_goes_on_when_it_may(open_house: OpenHouse) -> None:
    async with open_house(HELLO, HELLO) as house:
        session = await parked(house)
        person = shell(house)
        listed, asked, shown, sent = [
            await person.run(*words)
            for words in (("sessions",), ("asks",), ("sessions", "show", session), ("send", session, "--queue", "more"))
        ]
        async with house.working():
            resumed = await person.run("resume", session, "--json")
            await house.ended(session, 2)
            again = await person.run("resume", session)
            watched = await person.run("watch", session, "--until-idle")

    assert f"{session}  parked  " in listed.out and json.loads(resumed.out)["session"] == session
    for text in (asked.out, shown.out, sent.err, watched.out):
        assert "It was at work when the stack ended. May it go on?" in text and f"holdfast resume {session}" in text
    assert "It goes on, says " in watched.out and (resumed.code, watched.code) == (0, 0)
    assert again.code == 6 and "is not parked" in again.err


async def test_what_is_kept_parked_asks_nobody(open_house: OpenHouse) -> None:
    async with open_house() as house:
        session = await parked(house, Resume.NEVER)
        asked, shown = [await shell(house).run(*words) for words in (("asks",), ("sessions", "show", session))]

    assert asked.out == "" and "HOLDFAST_RESUME=never" in shown.out


async def test_a_run_that_does_not_wait_ends_with_4_where_its_directory_is_gone(open_house: OpenHouse) -> None:
    async with open_house(HELLO, HELLO) as house, house.working():
        session = await house.say("hello")
        await house.ended(session)
        person = shell(house)
        elsewhere = type(person)(person.environment, house.project.parent)
        shutil.rmtree(house.project)
        ended = await elsewhere.run("run", "-m", "scripted/model", "-s", session, "--no-wait", "and now?")
        stopped = await elsewhere.run("stop", session)

    assert ended.code == 4 and f"Its directory {house.project} is not there: it was moved or deleted" in ended.out
    assert stopped.code == 0 and "1 prompt withdrawn" in stopped.out
