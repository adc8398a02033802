"""`holdfast run --ask`: a session that asks before what its rules allow."""

import pytest

from tests.worker.cli.conftest import CTRL_D, CommandRunner, OpenHarness, shell
from tests.workflows.delegation import delegates, delegation_scripts
from worker.scripted.script import ScriptedAnswer, ScriptedCall

HELLO = ScriptedAnswer(text="Hello to you.")
TOUCH = ScriptedAnswer(text="I run it.", tools=(ScriptedCall(name="bash", arguments={"command": "touch ran"}),))
MODEL = ("-m", "scripted/model")


async def test_what_the_rules_allow_is_asked_in_all_turns_of_the_session(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO, TOUCH, HELLO, TOUCH) as harness, harness.running_worker():
        person = shell(harness)
        first = await person.run("run", *MODEL, "--ask", "glob,bash", "--no-wait", "go")
        (entry,) = await harness.client.inbox.asks()
        assert (await person.run("answer", entry.id, "once")).code == 0
        await harness.ended(entry.session)
        second = await person.run("run", "-c", "--no-wait", "again")
        (again,) = await harness.client.inbox.asks()
        other = await person.run("run", *MODEL, "--no-wait", "without")

    assert (first.code, second.code, other.code) == (4, 4, 0), (first.err, second.err, other.err)
    assert entry.id != again.id and "bash: *" in first.out + first.err


async def test_it_can_be_added_to_a_session_and_stays_with_other_sources(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, TOUCH, HELLO, TOUCH) as harness, harness.running_worker():
        person = shell(harness)
        assert (await person.run("run", *MODEL, "go")).code == 0
        added = await person.run("run", "-c", "--ask", "bash", "--no-wait", "again")
        (entry,) = await harness.client.inbox.asks()
        assert (await person.run("answer", entry.id, "once")).code == 0
        await harness.ended(entry.session, turns=2)
        elsewhere = await person.with_(OPENCODE_DISABLE_CLAUDE_CODE="1").run(
            "run", "-c", "--config", "here", "--no-wait", "and again"
        )
        sources = (await harness.client.sessions.origin(entry.session)).sources

    assert (added.code, elsewhere.code) == (4, 4), (added.err, elsewhere.err)
    assert "From its next turn on the session uses this shell's --ask." in added.err
    assert sources is not None and sources.ask == ("bash",) and sources.disable_claude_code


async def test_subagents_ask_as_well(open_harness: OpenHarness) -> None:
    scripts = delegation_scripts(delegates("child", agent="general"), HELLO, child=(TOUCH, HELLO))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        ended = await shell(harness).run("run", *MODEL, "--ask", "bash", "--no-wait", "go")
        asked = await harness.client.inbox.asks()

    assert ended.code == 4 and len(asked) == 1 and not (harness.project / "ran").exists()


async def test_holdfast_alone_takes_it_too(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness, harness.running_worker():
        harness.configure_person(model={}, permission={"read": "allow"})
        async with shell(harness).terminal("--ask", "bash") as terminal:
            await terminal.until_shown(r"leaves\.\n> $")
            terminal.type("go\r")
            await terminal.until("touch ran")
            await terminal.until("once / ")
            terminal.type("o\r")
            await terminal.until("Hello to you")
            await terminal.until("Type the next prompt")
            terminal.type(CTRL_D)
            code = await terminal.ended()

    assert code == 0 and (harness.project / "ran").exists()


@pytest.mark.parametrize("arguments", [("run", "--ask", "bash,eddit", "go"), ("--ask", "eddit"), ("--ask", "", "run")])
async def test_a_permission_that_is_none_is_named(bare: CommandRunner, arguments: tuple[str, ...]) -> None:
    ended = await bare.run(*arguments)

    assert ended.code == 2 and "there is no such permission. There are: bash, edit, " in " ".join(ended.err.split())
