"""Prompts typed while following a session, at a terminal of `holdfast`, `run` and `retry`."""

import asyncio
import json
import stat
from pathlib import Path

from tests.harness import Harness
from tests.worker.cli.conftest import CTRL_C, CTRL_D, CommandRunner, OpenHarness, PtySession, shell
from worker.scripted.script import Hold, Refuse, ScriptedAnswer, ScriptedCall
from workflows.domain.events.turns import TurnOpened
from workflows.domain.ids import SessionId

HELLO = ScriptedAnswer(text="Hello to you.")
TOUCH = ScriptedAnswer(text="I run it.", tools=(ScriptedCall(name="bash", arguments={"command": "touch ran"}),))
MODEL = ("-m", "scripted/model")
REFUSED = Refuse(status=401, body={"error": {"message": "Incorrect API key", "type": "invalid_request_error"}})
PASTE = "\x1b[200~{}\x1b[201~"
CTRL_U = "\x15"
LEFT, UP = "\x1b[D", "\x1b[A"
ALT_ENTER = "\x1b\r"
INVITED = "Type the next prompt"


def held(answer: ScriptedAnswer, path: Path) -> ScriptedAnswer:
    """An answer that waits after a piece for a file, once."""
    faults = {1: Hold(after=2, path=str(path))}
    return answer.model_copy(update={"text": "I look at it, and at that.", "faults": faults})


async def prompts(harness: Harness, session: SessionId) -> list[str]:
    """The session's prompts, in order."""
    messages = json.loads((await shell(harness).run("export", session)).out)["messages"]
    return [part["text"] for each in messages if each["info"]["role"] == "user" for part in each["parts"]]


async def leave(terminal: PtySession) -> int:
    terminal.type(CTRL_D)
    return await terminal.ended()


async def test_a_line_typed_while_the_agent_works_joins_its_turn_and_the_next_one_gets_its_own(
    open_harness: OpenHarness, tmp_path: Path
) -> None:
    hold = tmp_path / "hold"
    async with open_harness(held(TOUCH, hold), HELLO, HELLO) as harness, harness.running_worker():
        async with shell(harness).terminal("run", *MODEL, "go") as terminal:
            await terminal.until_shown("I look at it")
            terminal.type("also add docs")
            await terminal.until_shown("> also add docs$")
            terminal.type("\r")
            await terminal.until(r"\+ also add docs \(joins at the next step\)")
            hold.touch()
            await terminal.until("> also add docs")
            await terminal.until("Done in ")
            await terminal.until(INVITED)
            terminal.type(PASTE.format(f"not {CTRL_U}this {CTRL_D}one\r{CTRL_U}\ttwo äö\r") + "\r")
            await terminal.until("> not this one")
            await terminal.until("Done in ")
            code = await leave(terminal)
        (session,) = await harness.client.sessions.list_recent()
        sent = await prompts(harness, session.id)

    assert code == 0 and session.number == 2
    assert [text.removesuffix("\n") for text in sent] == ["go", "also add docs", "not this one\n\ttwo äö"]


async def test_what_is_pasted_in_many_pieces_is_one_prompt(open_harness: OpenHarness) -> None:
    lines = [f"line {number} {'x' * 60}" for number in range(300)]
    async with open_harness(HELLO, HELLO) as harness, harness.running_worker():
        async with shell(harness).terminal("run", *MODEL, "go") as terminal:
            await terminal.until(INVITED)
            await asyncio.to_thread(terminal.type, PASTE.format("\r".join(lines)) + "\x1b[A \x7f\r")
            await terminal.until("Done in ")
            code = await leave(terminal)
        (session,) = await harness.client.sessions.list_recent()
        sent = await prompts(harness, session.id)

    assert code == 0 and sent == ["go", "\n".join(lines)]


async def test_holdfast_alone_asks_for_a_prompt_and_continues_a_session_on_request(open_harness: OpenHarness) -> None:
    async with open_harness(*[HELLO] * 4) as harness, harness.running_worker():
        person = shell(harness)
        harness.configure(model="scripted/model")
        harness.file(".opencode/commands/greet.md", "Greet $1 well.")
        async with person.terminal() as terminal:
            await terminal.until("scripted/model in")
            terminal.type("/stop\r/hel")  # pasted: no command
            await terminal.until_shown("> /stop\n +/hel$")
            terminal.type(CTRL_C)
            await terminal.until_shown("> $")
            left = await leave(terminal)
        none = await harness.client.sessions.list_recent()
        async with person.terminal() as terminal:
            await terminal.until_shown("> $")
            terminal.type("/help\r")
            await terminal.until("/retry +retry a failed turn")
            terminal.type("/gret you\r")
            await terminal.until("Did you mean /greet?")
            await terminal.until_shown("> /gret you$")
            terminal.type(f"{CTRL_U}/greet you\r")
            await terminal.until("> /greet you")
            await terminal.until("Done in ")
            terminal.type("/greet them\r")
            await terminal.until("> /greet them")
            await terminal.until("Done in ")
            terminal.type("/quit\r")
            begun = await terminal.ended()
        async with person.terminal("-c") as terminal:
            await terminal.until(INVITED)
            terminal.type("two\r")
            await terminal.until("Done in ")
            continued = await leave(terminal)
        third = await person.run("run", "-c", "three")
        (session,) = await harness.client.sessions.list_recent()
        sent = await prompts(harness, session.id)

    assert none == [] and (left, begun, continued, third.code) == (0, 0, 0, 0)
    assert sent == ["Greet you well.", "Greet them well.", "two", "three"]


async def test_holdfast_alone_without_a_terminal_shows_its_help_and_ends_with_2(bare: CommandRunner) -> None:
    alone, again, both = await bare.run(), await bare.run("-c"), await bare.run("run", "-c", "-s", "last", "go")

    assert alone.code == 2 and "Usage: holdfast" in alone.err and "watch" in alone.err
    assert again.code == 2 and "Say what to do" in again.err
    assert both.code == 2 and "give one of them" in both.err


async def test_a_half_typed_prompt_is_no_answer_and_comes_back_behind_the_question(
    open_harness: OpenHarness, tmp_path: Path
) -> None:
    hold = tmp_path / "hold"
    async with open_harness(held(TOUCH, hold), HELLO) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"})
        async with shell(harness).terminal("run", *MODEL, "go") as terminal:
            await terminal.until_shown("I look at it")
            terminal.type("on")
            await terminal.until_shown("> on$")
            hold.touch()
            await terminal.until_shown("reject > $")
            terminal.type("once\r")
            await terminal.until("✓.* bash  touch ran")
            await terminal.until("Done in ")
            await terminal.until_shown("> on$")
            terminal.type(CTRL_C)
            await terminal.until_shown("> $")
            terminal.type(CTRL_C)
            code = await terminal.ended()
        (session,) = await harness.client.sessions.list_recent()
        sent = await prompts(harness, session.id)

    assert code == 0 and sent == ["go"]


async def test_what_was_typed_while_run_starts_is_a_prompt_and_no_answer(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"})
        async with shell(harness).terminal("run", *MODEL, "go") as terminal:
            terminal.type("once\nonce\n")
            await terminal.until_shown("reject > $")
            terminal.type("reject\n")
            await terminal.until(INVITED)
            await leave(terminal)
        (session,) = await harness.client.sessions.list_recent()
        sent = await prompts(harness, session.id)

    assert sent == ["go", "once\nonce"] and not (harness.project / "ran").exists()


async def test_after_a_turn_that_failed_it_is_retried_or_left_with_its_code(open_harness: OpenHarness) -> None:
    failing = HELLO.model_copy(update={"faults": {1: REFUSED, 3: REFUSED}})
    async with open_harness(failing, failing) as harness, harness.running_worker():
        async with shell(harness).terminal("run", *MODEL, "go") as terminal:
            await terminal.until("The task failed")
            await terminal.until(INVITED)
            terminal.type("/nothing\r")
            await terminal.until('Command not found: "nothing"')
            await terminal.until_shown("> /nothing$")
            terminal.type(f"{CTRL_U}/retry\r")
            await terminal.until("Hello to you.")
            await terminal.until("Done in ")
            done = await leave(terminal)
        failed = await shell(harness).run("run", "-c", "again")
        async with shell(harness).terminal("retry", "last", "--exit") as terminal:
            await terminal.until("Hello to you.")
            retried = await terminal.ended()
        (session,) = await harness.client.sessions.list_recent()

    assert (done, failed.code, retried) == (0, 1, 0) and session.number == 4


async def test_a_stop_by_ctrl_c_or_a_command_asks_for_the_next_prompt_and_the_end_of_the_session_leaves(
    open_harness: OpenHarness, tmp_path: Path
) -> None:
    async with (
        open_harness(*[held(HELLO, tmp_path / "hold")] * 2, HELLO) as harness,
        harness.running_worker(),
        shell(harness).terminal("run", *MODEL, "go") as terminal,
    ):
        await terminal.until_shown("I look at it")
        terminal.type(CTRL_C)
        await terminal.until("The turn has ended: stopped")
        await terminal.until(INVITED)
        terminal.type("otherwise\r")
        await terminal.until_shown("Turn 2 (?s:.*)I look at it")
        terminal.type("/stop\r")
        await terminal.until("The turn has ended: stopped")
        terminal.type("so then\r")
        await terminal.until("Done in ")
        (session,) = await harness.client.sessions.list_recent()
        await harness.client.end(session.id)
        code = await terminal.ended()

    assert code == 5 and session.number == 3


async def test_what_is_typed_after_a_plan_is_for_the_agent_that_carries_it_out_with_its_model(
    open_harness: OpenHarness,
) -> None:
    leave_plan = ScriptedAnswer(tools=(ScriptedCall(name="plan_exit", arguments={"summary": "Run it."}),))
    async with open_harness(HELLO, leave_plan, HELLO, HELLO, TOUCH, HELLO) as harness, harness.running_worker():
        harness.configure(agent={"build": {"model": "scripted/other"}})
        async with shell(harness).terminal("run", *MODEL, "--agent", "plan", "how?") as terminal:
            await terminal.until(INVITED)
            terminal.type("go on\r")
            await terminal.until_shown("your answer / dismiss > $")
            terminal.type("1\r")
            await terminal.until("Turn 3 · build")
            await terminal.until("Done in ")
            await terminal.until_shown("build > $")
            terminal.type("now run it\r")
            await terminal.until("✓.* bash  touch ran")
            await terminal.until("Done in ")
            code = await leave(terminal)
        (session,) = await harness.client.sessions.list_recent()
        opened = [(each.agent, each.model) for each in await harness.events(session.id) if isinstance(each, TurnOpened)]

    asked, carried_out = ("plan", "scripted/model"), ("build", "scripted/other")
    assert code == 0 and session.agent == "build" and opened == [asked, asked, carried_out, carried_out]


async def test_tab_goes_through_the_agents_for_the_next_prompt(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO, HELLO) as harness, harness.running_worker():
        harness.configure_person(model={}, agent={"coy": {"mode": "primary", "hidden": True}})
        async with shell(harness).terminal("run", *MODEL) as terminal:
            await terminal.until_shown("leaves\\.\\n> $")
            terminal.type("\t")
            await terminal.until_shown("plan > $")
            terminal.type("look\r")
            await terminal.until(INVITED)
            terminal.type("\t")
            await terminal.until_shown("build > $")
            terminal.type("a\tb")
            await terminal.until_shown("build > a +b$")
            terminal.type("\r")
            await terminal.until("Done in ")
            terminal.type("go on")
            await terminal.until_shown(r"[^d ]> go on$")
            terminal.type("\r")
            await terminal.until("Done in ")
            await leave(terminal)
        (session,) = await harness.client.sessions.list_recent()
        opened = [each.agent for each in await harness.events(session.id) if isinstance(each, TurnOpened)]

    assert opened == ["plan", "build", "build"]


async def test_an_agent_chosen_by_tab_that_cannot_work_is_refused_and_the_words_stay(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        harness.configure_person(model={}, agent={"plan": {"model": "nowhere/m"}})
        async with shell(harness).terminal("run") as terminal:
            await terminal.until_shown("leaves\\.\n> $")
            terminal.type("\t")
            await terminal.until_shown("plan > $")
            terminal.type("look\r")
            await terminal.until_shown("(?s)no provider 'nowhere'.*plan > look$")
            before = await harness.client.sessions.list_recent()
            terminal.type(CTRL_C)
            await terminal.until_shown("plan > $")
            terminal.type("\t")
            await terminal.until_shown("build > $")
            terminal.type("look\r")
            await terminal.until(INVITED)
            await leave(terminal)
        (session,) = await harness.client.sessions.list_recent()

    assert before == [] and session.agent == "build"


async def test_a_prompt_is_edited_has_several_lines_and_comes_back_but_no_answer_does(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(TOUCH, HELLO, HELLO, HELLO) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"})
        async with shell(harness).terminal("run", *MODEL, "go") as terminal:
            await terminal.until_shown("reject > $")
            terminal.type("once\r")
            await terminal.until("Done in ")
            terminal.type(f"add docs{4 * LEFT}many {ALT_ENTER}" + PASTE.format("of\x1b[2Jthem "))
            await terminal.until_shown("> add many\n +of.*them $")
            terminal.type("\r")
            await terminal.until("Done in ")
            await leave(terminal)
        async with shell(harness).terminal("run", *MODEL) as terminal:
            await terminal.until_shown("leaves\\.\n> $")
            terminal.type(UP)
            await terminal.until_shown("> add many\n +ofthem docs")
            terminal.type(CTRL_C)
            await terminal.until_shown("> $")
            await leave(terminal)
        (session,) = await harness.client.sessions.list_recent()
        sent = await prompts(harness, session.id)
        history = harness.settings.home / "history"

    assert sent == ["go", "add many \nofthem docs"]
    assert stat.S_IMODE(history.stat().st_mode) == 0o600 and "once" not in history.read_text()
