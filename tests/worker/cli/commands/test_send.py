"""`holdfast send` as a process."""

import pytest

from tests.worker.cli.conftest import OpenHarness, shell
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.errors import UsageError

HELLO = ScriptedAnswer(text="Hello.")


async def test_a_prompt_is_sent_to_a_sleeping_session(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO) as harness, harness.running_worker():
        session = await harness.start_session("one")
        await harness.ended(session)
        sent = await shell(harness).run("send", session[:20], "two")
        await harness.ended(session, turns=2)

    assert sent.code == 0 and sent.out == f"Accepted by {session}.\n"


async def test_a_model_without_a_provider_is_refused_by_every_door_before_anything_is_recorded(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(HELLO, HELLO) as harness, harness.running_worker():
        session = await harness.start_session("one")
        await harness.ended(session)
        doors = [("run", "-s", session), ("send", session), ("send", session, "--config", "here")]
        words = [(*door, "-m", "script/model", "two") for door in doors] + [("retry", session, "-m", "script/model")]
        refused = [await shell(harness).run(*each) for each in words]
        events = await harness.events(session)
        config = harness.settings.config / "opencode.json"
        written = config.read_text()
        config.write_text("{}")
        gone = await shell(harness).run("send", session, "two")
        config.write_text(written)
        with pytest.raises(UsageError, match="There is no provider 'script'. Did you mean 'scripted'?"):
            await harness.client.start(str(harness.project), "hello", model="script/model")
        after = await harness.events(session)

    assert [each.code for each in refused] == [2] * 4 and gone.code == 2
    assert all(
        "There is no provider 'script'. Did you mean 'scripted'? Configured: scripted." in e.err for e in refused
    )
    assert "There is no provider 'scripted'." in gone.err and events == after


async def test_a_running_turn_takes_a_prompt_even_if_the_configuration_is_broken(open_harness: OpenHarness) -> None:
    asking = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "echo hi"}),))
    async with open_harness(asking, HELLO) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("one")
        (ask,) = await harness.wait_for_asks(session)
        config = harness.settings.config / "opencode.json"
        written = config.read_text()
        config.write_text("{}")
        sent = await shell(harness).run("send", session, "two")
        config.write_text(written)
        await harness.answer(ask)
        await harness.ended(session)

    assert sent.code == 0
