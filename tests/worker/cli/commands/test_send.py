"""`holdfast send` as a process."""

import json

import pytest

from tests.worker.cli.conftest import OpenHarness, shell
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.errors import UsageError
from workflows.domain.events.turns import TurnOpened
from workflows.domain.prompt import Prompt

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
            await harness.client.start(str(harness.project), Prompt.of_text("hello", model="script/model"))
        after = await harness.events(session)

    assert [each.code for each in refused] == [2] * 4 and gone.code == 2
    assert all(
        "There is no provider 'script'. Did you mean 'scripted'? Configured: scripted." in e.err for e in refused
    )
    assert "There is no provider 'scripted'." in gone.err and events == after


async def test_a_prompt_for_another_agent_opens_a_turn_under_its_rules_and_the_session_goes_on_with_it(
    open_harness: OpenHarness,
) -> None:
    write = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "x"}),))
    async with open_harness(HELLO, HELLO, write, HELLO, write, HELLO) as harness, harness.running_worker():
        harness.configure(agent={"reviewer": {"permission": {"edit": "deny"}}})
        session = await harness.start_session("one")
        await harness.ended(session)
        refused = [await shell(harness).run("send", session, "--agent", name, "no") for name in ("explore", "nope")]
        sent = await shell(harness).run("send", session, "--agent", "reviewer", "review")
        await harness.ended(session, turns=2)
        await shell(harness).run("send", session, "write")
        await harness.ended(session, turns=3)
        written_by_reviewer = (harness.project / "a.txt").exists()
        shown = await shell(harness).run("sessions", "show", session)
        found = await shell(harness).run("sessions", "--agent", "reviewer", "--json")
        await shell(harness).run("send", session, "--agent", "build", "write")
        await harness.ended(session, turns=4)
        exported = json.loads((await shell(harness).run("export", session)).out)
        verified = await shell(harness).run("log", session, "--verify")

    assert [each.code for each in refused] == [2, 2] and sent.code == 0, sent.err
    assert all("Available agents: build, plan, reviewer." in each.err for each in refused)
    assert not written_by_reviewer and (harness.project / "a.txt").exists()
    agents = [(each["info"]["role"], each["info"]["agent"]) for each in exported["messages"]]
    assert agents == [
        *(("user", "build"), ("assistant", "build")),
        *(("user", "reviewer"), ("assistant", "reviewer")),
        *(("user", "reviewer"), ("assistant", "reviewer"), ("assistant", "reviewer")),
        *(("user", "build"), ("assistant", "build"), ("assistant", "build")),
    ]
    assert "  reviewer, scripted/model" in shown.out and [each["agent"] for each in json.loads(found.out)] == [
        "reviewer"
    ]
    assert exported["info"]["agent"] == "build" and verified.code == 0 and "the chain is whole" in verified.out


async def test_a_prompt_for_another_agent_joins_a_running_turn_and_says_so(open_harness: OpenHarness) -> None:
    asking = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "echo hi"}),))
    async with open_harness(asking, HELLO, HELLO) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"}, agent={"reviewer": {}})
        session = await harness.start_session("one")
        (ask,) = await harness.wait_for_asks(session)
        joined = await shell(harness).run("send", session, "--agent", "reviewer", "two")
        queued = await shell(harness).run("send", session, "--agent", "reviewer", "--queue", "three")
        await harness.answer(ask)
        await harness.ended(session, turns=2)
        opened = [event.agent for event in await harness.events(session) if isinstance(event, TurnOpened)]

    assert (
        "Turn 1 is at work as build, and the prompt joins it. reviewer works in a turn that begins with" in joined.err
    )
    assert "joins it" not in queued.err and opened == ["build", "reviewer"]


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
