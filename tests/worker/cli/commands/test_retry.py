"""`holdfast retry` as a process."""

import json

from tests.worker.cli.conftest import OpenHouse, shell
from worker.scripted.script import Refuse, ScriptedAnswer

WRONG_KEY = Refuse(status=401, body={"error": {"message": "Incorrect API key", "type": "invalid_request_error"}})
HELLO = ScriptedAnswer(text="Hello to you.", faults={1: WRONG_KEY})
MODEL = ("-m", "scripted/model")


async def test_a_failed_task_names_the_command_that_takes_it_up_again(open_house: OpenHouse) -> None:
    async with open_house(HELLO) as house, house.working():
        person = shell(house)
        failed = await person.run("run", *MODEL, "hello")
        shown = await person.run("sessions", "show", "last")
        retried = await person.run("retry", "last", "-m", "scripted/other")
        again = await person.run("retry", "last")
        (session,) = await house.client.sessions()
        assert house.model.last is not None
        asked = house.model.last.body["model"]

    assert (failed.code, retried.code, again.code) == (1, 0, 6)
    assert f"holdfast retry {session.id}  retries it" in failed.out
    assert f"holdfast retry {session.id}  retries it" in shown.out
    assert "retrying turn 1" in retried.err and "scripted/other is asked in this turn only" in retried.err
    assert "Hello to you." in retried.out and "> hello" not in retried.out and asked == "other"
    assert "its last turn did not fail, it ended as 'done'" in again.err


async def test_a_retry_is_told_as_json_or_left_alone(open_house: OpenHouse) -> None:
    async with open_house(HELLO.model_copy(update={"faults": {1: WRONG_KEY, 2: WRONG_KEY}})) as house, house.working():
        person = shell(house)
        await person.run("run", *MODEL, "hello")
        left = await person.run("retry", "last", "--detach", "--json")
        (session,) = await house.client.sessions()
        await house.ended(session.id, 2)
        told = await person.run("retry", "last", "--json")

    assert left.code == 0 and json.loads(left.out)["session"] == session.id
    assert [json.loads(line)["type"] for line in told.out.splitlines()][-1] == "turn_end" and told.code == 0


async def test_a_turn_that_a_broken_configuration_has_failed_is_retried_under_the_mended_one(
    open_house: OpenHouse,
) -> None:
    async with open_house(ScriptedAnswer(text="Hello to you.")) as house:
        session = await house.say("hello")
        house.file("opencode.json", '{\n  "model": 7\n}')
        async with house.working():
            await house.ended(session)
            error = (await house.client.session(session)).error
            refused = await shell(house).run("retry", session)
            house.configure()
            retried = await shell(house).run("retry", session)

    assert "opencode.json:2" in str(error) and "'model'" in str(error)
    assert (refused.code, retried.code) == (2, 0) and "opencode.json:2" in refused.err


async def test_a_model_without_a_provider_is_refused_before_anything_is_accepted(open_house: OpenHouse) -> None:
    async with open_house(HELLO) as house, house.working():
        session = await house.say("hello")
        await house.ended(session)
        refused = await shell(house).run("retry", session, "-m", "other")
        types = [event.type for event in await house.events(session)]

    assert refused.code == 2 and "'other' names no provider" in refused.err and "retry.accepted" not in types
