"""`holdfast retry` as a process."""

import json

from tests.worker.cli.conftest import OpenHarness, shell
from worker.scripted.script import Refuse, ScriptedAnswer

WRONG_KEY = Refuse(status=401, body={"error": {"message": "Incorrect API key", "type": "invalid_request_error"}})
HELLO = ScriptedAnswer(text="Hello to you.", faults={1: WRONG_KEY})
MODEL = ("-m", "scripted/model")


async def test_a_failed_task_names_the_command_that_takes_it_up_again(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        person = shell(harness)
        failed = await person.run("run", *MODEL, "hello")
        shown = await person.run("sessions", "show", "last")
        retried = await person.run("retry", "last", "-m", "scripted/other")
        again = await person.run("retry", "last")
        (session,) = await harness.client.sessions.list_recent()
        assert harness.model.last_request is not None
        asked = harness.model.last_request.body["model"]

    assert (failed.code, retried.code, again.code) == (1, 0, 6)
    assert f"holdfast retry {session.id}  retries it" in failed.out
    assert f"holdfast retry {session.id}  retries it" in shown.out
    assert "retrying turn 1" in retried.err and "scripted/other is asked in this turn only" in retried.err
    assert "Hello to you." in retried.out and "> hello" not in retried.out and asked == "other"
    assert "its last turn did not fail, it ended as 'done'" in again.err


async def test_a_retry_is_followed_as_json_or_detached(open_harness: OpenHarness) -> None:
    async with (
        open_harness(HELLO.model_copy(update={"faults": {1: WRONG_KEY, 2: WRONG_KEY}})) as harness,
        harness.running_worker(),
    ):
        person = shell(harness)
        await person.run("run", *MODEL, "hello")
        left = await person.run("retry", "last", "--detach", "--json")
        (session,) = await harness.client.sessions.list_recent()
        await harness.ended(session.id, 2)
        ended = await person.run("retry", "last", "--json")

    assert left.code == 0 and json.loads(left.out)["session"] == session.id
    assert [json.loads(line)["type"] for line in ended.out.splitlines()][-1] == "turn_end" and ended.code == 0


async def test_a_turn_that_a_broken_configuration_has_failed_is_retried_under_the_mended_one(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(ScriptedAnswer(text="Hello to you.")) as harness:
        session = await harness.start_session("hello")
        harness.file("opencode.json", '{\n  "model": 7\n}')
        async with harness.running_worker():
            await harness.ended(session)
            error = (await harness.client.sessions.get(session)).error
            refused = await shell(harness).run("retry", session)
            harness.configure()
            retried = await shell(harness).run("retry", session)

    assert "opencode.json: the field" in str(error) and "'model'" in str(error)
    assert (refused.code, retried.code) == (2, 0) and "opencode.json: the field" in refused.err


async def test_a_model_without_a_provider_is_refused_before_anything_is_accepted(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        session = await harness.start_session("hello")
        await harness.ended(session)
        refused = await shell(harness).run("retry", session, "-m", "other")
        types = [event.type for event in await harness.events(session)]

    assert refused.code == 2 and "'other' names no provider" in refused.err and "retry.accepted" not in types
