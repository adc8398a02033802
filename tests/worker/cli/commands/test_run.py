"""`holdfast run` as a process: its story, its questions, its end."""

import asyncio
import json
import signal
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from activities.store import sessions
from tests.acceptance.proxy import Proxy
from tests.house import House
from tests.worker.cli.conftest import CTRL_C, CTRL_D, OpenHouse, shell
from worker.cli.exits import Exit
from worker.scripted.script import Refuse, ScriptedAnswer, ScriptedCall, Stall
from workflows.domain.events import TurnEnded

HELLO = ScriptedAnswer(text="Hello to you.")
TOUCH = ScriptedAnswer(text="I run it.", tools=(ScriptedCall(name="bash", arguments={"command": "touch ran"}),))
MAKE = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "mkdir -p made"}),))
REMOVE = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "rm ran"}),))
HANGS = ScriptedAnswer(text="never said in full", faults={1: Stall(after=1)})
REFUSED = Refuse(status=401, body={"error": {"message": "Incorrect API key", "type": "invalid_request_error"}})
MODEL = ("-m", "scripted/model")
WRITES = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('written by hand')"
QUICKLY = 5  # tries of what goes wrong now and then
ASKING = {"permission": {"bash": "ask"}}


async def test_a_task_from_words_and_standard_input_is_told_and_ends_with_0(open_house: OpenHouse) -> None:
    read = ScriptedAnswer(text="Let me look.", tools=(ScriptedCall(name="read", arguments={"filePath": "a.txt"}),))
    async with open_house(read, HELLO) as house, house.working():
        house.file("a.txt", "hello\n")
        ended = await shell(house).run("run", *MODEL, "say", "-", typed="hello")

    assert ended.code == 0, ended.err
    told = ["> say hello", "Let me look.", "✓ read  a.txt", "Hello to you.", "Done in ", " · 2 steps · "]
    assert [line for line in told if line in ended.out] == told
    assert "\x1b" not in ended.out


async def test_what_the_model_thinks_is_shown_where_it_is_asked_for(open_house: OpenHouse) -> None:
    thinks = HELLO.model_copy(update={"reasoning": "It greets me."})
    async with open_house(thinks, thinks) as house, house.working():
        plain, thinking = [await shell(house).run("run", *MODEL, *words, "hi") for words in ((), ("--thinking",))]
        watched = await shell(house).run("watch", "last", "--thinking", "--until-idle")
        async with shell(house).terminal("watch", "last", "--thinking", "--until-idle") as terminal:
            await terminal.until("Thinking: It greets me")
            await terminal.until("Hello to you")
            await terminal.ended()

    assert "It greets me" not in plain.out
    assert all("  Thinking: It greets me.\n\nHello to you.\n" in each.out for each in (thinking, watched))


async def test_what_a_command_has_written_is_shown_while_it_runs(open_house: OpenHouse) -> None:
    command = "seq 9; until [ -e go ]; do sleep 0.1; done"
    runs = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": command}),))
    async with (
        open_house(runs, HELLO) as house,
        house.working(),
        shell(house).terminal("run", *MODEL, "--exit", "go") as terminal,
    ):
        await terminal.until(r"│ 6.*\s+.*│ 7.*\s+.*│ 8.*\s+.*│ 9")
        house.file("go", "")
        await terminal.until("✓.* bash")
        await terminal.until("Hello to you")
        code = await terminal.ended()

    assert code == 0


async def test_a_prompt_is_written_in_the_editor_and_one_that_is_not_saved_does_nothing(open_house: OpenHouse) -> None:
    async with open_house(HELLO) as house, house.working():
        person = shell(house)
        left = await person.with_(EDITOR="true").run("run", *MODEL, "--edit")
        written = await person.with_(EDITOR=f"{sys.executable} -c {WRITES!r}").run("run", *MODEL, "--edit", "--detach")
        (session,) = await house.client.sessions()
        await house.ended(session.id)

    assert (left.code, written.code, session.title) == (2, 0, "written by hand")


@pytest.mark.parametrize("name", ["plan", "explore", "nope"])
async def test_an_agent_that_people_may_not_choose_is_refused_and_nothing_starts(
    open_house: OpenHouse, name: str
) -> None:
    async with open_house(HELLO) as house:
        house.configure(agent={"coder": {}, "plan": {"model": "scripted/model"}})
        ended = await shell(house).run("run", *MODEL, "--agent", name, "hello")
        house.configure(default_agent=name, agent={"coder": {}})
        by_default = await shell(house).run("run", *MODEL, "hello")
        begun = await house.client.sessions()

    for refused in (ended, by_default):
        assert refused.code == 2 and name in refused.err and "Available agents: build, coder." in refused.err
    assert f'default agent "{name}" ' in by_default.err and begun == []


async def test_a_session_works_as_the_agent_that_was_named_and_keeps_it(open_house: OpenHouse) -> None:
    async with open_house(TOUCH, HELLO) as house, house.working():
        house.configure(agent={"build": {"disable": True}, "coder": {}, "tester": {"permission": {"bash": "deny"}}})
        tested = await shell(house).run("run", *MODEL, "--agent", "tester", "go")
        other = await shell(house).run("run", "-s", "last", "--agent", "coder", "go")
        (session,) = await house.client.sessions()
        house.configure(agent={"tester": {"disable": True}})
        gone = [await shell(house).run(*command, "go") for command in (("run", "-s", "last"), ("send", "last"))]
        (same,) = await house.client.sessions()

    assert (tested.code, session.agent, (house.project / "ran").exists()) == (0, "tester", False)
    assert other.code == 2 and "works as tester, and a session keeps its agent" in other.err
    assert [each.code for each in gone] == [2, 2] and (same.number, same.waiting) == (1, 0)


async def test_without_build_the_first_agent_that_people_see_works(open_house: OpenHouse) -> None:
    async with open_house(HELLO) as house, house.working():
        house.configure(agent={"build": {"disable": True}, "coder": {}})
        ended = await shell(house).run("run", *MODEL, "hello")
        (session,) = await house.client.sessions()

    assert (ended.code, session.agent) == (0, "coder"), ended.err


async def test_a_refused_request_is_told_as_a_pause_and_goes_on(open_house: OpenHouse) -> None:
    busy = Refuse(status=429, headers={"retry-after-ms": "50"})
    async with open_house(HELLO.model_copy(update={"faults": {1: busy}})) as house, house.working():
        ended = await shell(house).run("run", *MODEL, "hello")

        as_json = await shell(house).run("watch", "last", "--json", "--until-idle")

    assert ended.code == 0 and "(attempt 1): " in ended.out
    (retry,) = [told["retry"] for told in map(json.loads, as_json.out.splitlines()) if told["type"] == "retry"]
    assert (retry["attempt"], retry["kind"], retry["message"]) == (1, "429", "Rate limit reached")


async def test_a_failed_task_ends_with_1_and_says_why(open_house: OpenHouse) -> None:
    async with open_house(HELLO.model_copy(update={"faults": {1: REFUSED}})) as house, house.working():
        ended = await shell(house).run("run", *MODEL, "hello")

    assert ended.code == 1 and "rejected the API key (401): Incorrect API key" in ended.out


async def test_json_is_one_object_on_each_line_in_opencodes_form(open_house: OpenHouse) -> None:
    async with open_house(TOUCH, HELLO) as house, house.working():
        ended = await shell(house).run("run", *MODEL, "--json", "go")

    told = [json.loads(line) for line in ended.out.splitlines()]
    step = ["step_start", "text", "tool_use", "step_finish"]
    assert [line["type"] for line in told] == ["turn_start", *step, "step_start", "text", "step_finish", "turn_end"]
    assert f", configuration {told.pop(0)['configuration']}\n" in ended.err
    tool = told[2]["part"]
    assert (tool["type"], tool["tool"], tool["state"]["status"]) == ("tool", "bash", "completed")
    assert told[1]["part"]["text"] == "I run it." and told[1]["sessionID"] == tool["sessionID"]


async def test_without_a_terminal_a_question_is_told_and_waited_for(open_house: OpenHouse) -> None:
    async with open_house(TOUCH, HELLO) as house, house.working():
        house.configure(**ASKING)
        async with shell(house).process("run", *MODEL, "go") as process:
            assert process.stdout is not None
            told = (await process.stdout.readuntil(b"holdfast answer ")).decode()
            ask = (await process.stdout.readuntil(b" ")).decode().strip()
            answered = await shell(house).run("answer", ask, "once")
            rest = (await process.stdout.read()).decode()
            code = await process.wait()

    assert "│ touch ran\n" in told and (answered.code, code) == (0, 0)
    assert "✓ bash  touch ran" in rest and (house.project / "ran").exists()


async def test_no_wait_ends_with_4_at_a_question_which_stays(open_house: OpenHouse) -> None:
    async with open_house(TOUCH, HELLO) as house, house.working():
        house.configure(**ASKING)
        ended = await shell(house).run("run", *MODEL, "--no-wait", "go")
        waiting = await house.client.asks()

    assert ended.code == 4 and len(waiting) == 1
    assert "bash wants to run in" in ended.out and waiting[0].id in ended.out


async def test_a_detached_task_goes_on_alone(open_house: OpenHouse) -> None:
    async with open_house(HELLO) as house, house.working():
        ended = await shell(house).run("run", *MODEL, "--detach", "hello")
        (session,) = await house.client.sessions()
        finished = await house.ended(session.id)

    assert ended.code == 0 and ended.out == f"{session.id}\n"
    assert isinstance(finished, TurnEnded) and finished.reason == "done"


async def test_a_session_is_continued_by_the_beginning_of_its_id_or_as_the_last(open_house: OpenHouse) -> None:
    async with open_house(HELLO, HELLO, HELLO) as house, house.working():
        session = await house.say("one")
        await house.ended(session)
        ended = [await shell(house).run("run", "-s", name, name) for name in (session[4:12], "last")]
        (same,) = await house.client.sessions()

    assert [each.code for each in ended] == [0, 0] and same.number == 3
    assert "> last" in ended[-1].out and "> one" not in ended[-1].out


async def test_questions_at_the_terminal_show_the_effect_and_take_each_kind_of_answer(open_house: OpenHouse) -> None:
    async with open_house(TOUCH, MAKE, MAKE, REMOVE, HELLO) as house, house.working():
        house.configure(**ASKING)
        async with shell(house).terminal("run", *MODEL, "go") as terminal:
            await terminal.until("bash wants to run in")
            await terminal.until("│ touch ran")
            await terminal.until("always .*bash: touch")
            await terminal.until("once / always / project / reject > $")
            terminal.type("what?\n")
            await terminal.until("Type once, always, project, reject")
            terminal.type("once\n")
            await terminal.until("✓.* bash  touch ran")
            await terminal.until("reject > $")
            terminal.type("a\n")
            await terminal.until("│ rm ran")  # the second `mkdir` was not asked about
            await terminal.until("reject > $")
            terminal.type("reject use make instead\n")
            await terminal.until("rejected by .*: use make instead")
            await terminal.until("Done")
            terminal.type(CTRL_D)
            code = await terminal.ended()
        (row,) = await house.client.grants()
        (session,) = await house.client.sessions()
        rejected = (await house.calls(session.id))[-1]

    assert code == 0 and {"ran", "made"} <= {path.name for path in house.project.iterdir()}
    assert (row.grant.permission, row.grant.patterns, row.uses) == ("bash", ("mkdir *",), 1)
    assert rejected.outcome is not None and "use make instead" in rejected.outcome.output


@pytest.mark.parametrize("pager", ["", "no-such-pager", "cat"])
async def test_a_long_effect_is_viewed_in_a_pager_and_asked_about_again(open_house: OpenHouse, pager: str) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 401))
    write = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "long", "content": text}),))
    async with open_house(write, HELLO) as house, house.working():
        house.configure(permission={"edit": "ask"})
        async with shell(house).with_(PAGER=pager, LESS="").terminal("run", *MODEL, "go") as terminal:
            await terminal.until(r" 1 \+line 1\x1b")
            await terminal.until("lines hidden")
            await terminal.until("view > $")
            terminal.type("once\n")
            await terminal.until("A part of it is hidden")
            terminal.type("v\n")
            if not pager:
                await terminal.until("line 15")
                terminal.type(CTRL_C)  # which is the pager's: it shows the page again
                await terminal.until("line 15")
                terminal.type("G")
            await terminal.until("400 .*line 400")
            if not pager:
                terminal.type("q")
            if pager != "no-such-pager":
                await terminal.until("lines hidden")  # the question again
            await terminal.until("once .*this time only")
            await terminal.until("reject > $")
            terminal.type("once\n")
            await terminal.until("✓.* write")
            await terminal.until("Hello to you.")
            await terminal.until("Type the next prompt")
            terminal.type(CTRL_D)
            code = await terminal.ended()

    assert code == 0 and (house.project / "long").read_text() == text


async def test_what_was_typed_before_a_question_is_no_answer_to_it(open_house: OpenHouse) -> None:
    async with open_house(TOUCH, HELLO) as house, house.working():
        house.configure(**ASKING)
        async with shell(house).terminal("run", *MODEL, "go") as terminal:
            terminal.type("once\nonce\n")
            await terminal.until("reject > $")
            terminal.type("reject\n")
            await terminal.until("Type the next prompt")
            await terminal.until("> once⏎once$")  # it was not sent either, and can be
            terminal.type(CTRL_C)
            await terminal.until("> $")
            terminal.type(CTRL_D)
            code = await terminal.ended()

    assert code == 5 and not (house.project / "ran").exists()


async def test_a_question_may_be_answered_at_another_terminal_and_is_left_to_others_at_the_end_of_the_input(
    open_house: OpenHouse,
) -> None:
    async with open_house(TOUCH, MAKE, HELLO) as house, house.working():
        house.configure(**ASKING)
        person = shell(house)
        async with person.terminal("run", *MODEL, "go") as first:
            await first.until("reject > $")
            (ask,) = await house.client.asks()
            sent = await person.run("send", "last", "also say hello")
            await first.until(f"1 prompt waits behind ask {ask.id}")
            first.type("reje")  # and then somebody else is quicker
            await first.until("reject > reje$")
            async with person.terminal("answer", ask.id, "once") as second:
                await second.until("bash: once, recorded as")
            await first.until("once, from ")
            await first.until("what you were typing is dropped")
            await first.until("> also say hello")
            await first.until("│ mkdir -p made")
            await first.until("reject > $")
            first.type(CTRL_D)
            waiting = await first.until(r"It waits: holdfast answer (per_\w+) ")
            answered = await person.run("answer", waiting[1], "once")
            code = await first.ended()

    assert f"1 prompt waits behind ask {ask.id}" in sent.err
    assert (answered.code, code) == (0, 0) and {"ran", "made"} <= {path.name for path in house.project.iterdir()}


async def test_the_first_ctrl_c_stops_the_turn_durably(open_house: OpenHouse) -> None:
    async with open_house(HANGS) as house, house.working(), shell(house).terminal("run", *MODEL, "go") as terminal:
        await terminal.until("> go")  # from here on Ctrl-C is listened for
        await house.model.stalled.wait()
        terminal.type(CTRL_C)
        await terminal.until("Stopping the turn. Ctrl-C again leaves")
        await terminal.until("The turn has ended: stopped")
        terminal.type(CTRL_D)
        code = await terminal.ended()

    assert code == 5


async def test_the_second_ctrl_c_leaves_though_the_turn_cannot_end_and_the_stop_holds(open_house: OpenHouse) -> None:
    async with open_house(HANGS) as house:
        async with shell(house).terminal("run", *MODEL, "go") as terminal:
            async with house.working(drain_seconds=0):
                await house.model.stalled.wait()
            await terminal.until("> go")
            terminal.type(CTRL_C)
            await terminal.until("Stopping the turn")
            (session,) = await house.client.sessions()
            await house.until(session.id, lambda event: event.type == "stop.accepted")
            terminal.type(CTRL_C)
            await terminal.until("Left.")
            code = await terminal.ended()
        async with house.working():
            ended = await house.ended(session.id)

    assert code == 130
    assert isinstance(ended, TurnEnded) and ended.reason == "stopped"


async def test_two_quick_ctrl_c_record_the_stop_and_show_no_error_of_ours(open_house: OpenHouse) -> None:
    async with open_house(*[HANGS] * QUICKLY) as house, house.working():
        left = [await hurried(house) for _ in range(QUICKLY)]
        ended = [await house.ended(session.id) for session in await house.client.sessions()]

    assert left == [130] * QUICKLY
    assert {event.reason for event in ended if isinstance(event, TurnEnded)} == {"stopped"} and len(ended) == QUICKLY


async def hurried(house: House) -> int:
    """Press Ctrl-C twice, milliseconds apart, once a task has begun; the exit code."""
    async with shell(house).terminal("run", *MODEL, "go") as terminal:
        await terminal.until("> go")
        terminal.type(CTRL_C)
        await asyncio.sleep(0.012)
        terminal.type(CTRL_C)
        await terminal.until("(?s)^(?!.*(Traceback|Exception)).*Left. The stop is recorded")
        return await terminal.ended()


@asynccontextmanager
async def held(house: House) -> AsyncIterator[tuple[str, asyncio.Event, asyncio.Event]]:
    """An address of the engine that keeps whoever comes after a session was accepted waiting: when somebody is, and to
    let them through."""
    came, through, between = asyncio.Event(), asyncio.Event(), Proxy(house.endpoints.temporal_address)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await house.client.sessions():
            came.set()
            await through.wait()
        await between.accept(reader, writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield "{}:{}".format(*server.sockets[0].getsockname()), came, through
    finally:
        server.close()
        between.close()


async def test_ctrl_c_between_the_acceptance_of_a_task_and_its_following_stops_it(open_house: OpenHouse) -> None:
    async with open_house(HELLO) as house, held(house) as (address, came, through):
        async with shell(house).with_(TEMPORAL_ADDRESS=address).terminal("run", *MODEL, "go") as terminal:
            await came.wait()
            terminal.type(CTRL_C)
            await terminal.until("It is stopped as soon as it is accepted")
            through.set()
            await terminal.until("Withdrawn: go")
            terminal.type(CTRL_C)
            stopped = await terminal.ended()
        came.clear()
        through.clear()
        async with shell(house).with_(TEMPORAL_ADDRESS=address).terminal("run", *MODEL, "go") as terminal:
            await came.wait()
            terminal.type(CTRL_C)
            await terminal.until("It is stopped as soon")
            terminal.type(CTRL_C)
            await terminal.until("Left before it was known")
            left = await terminal.ended()
        through.set()
        async with house.working():
            finished = await house.ended((await house.client.sessions())[0].id)

    assert (stopped, left) == (5, 130)
    assert isinstance(finished, TurnEnded) and finished.reason == "done"  # nothing has stopped it


async def test_a_terminal_that_is_not_read_holds_up_neither_the_task_nor_ctrl_c(open_house: OpenHouse) -> None:
    paragraphs = [f"{'so ' * 150}it is {number}." for number in range(200)]  # more than a terminal has room for
    long = TOUCH.model_copy(update={"text": "\n\n".join(paragraphs), "chunk": 2**20})
    async with open_house(long, HANGS) as house, house.working():
        async with shell(house).terminal("run", *MODEL, "go") as running:
            await running.until(said(0))  # the others are being written, or wait for that
            running.look_away()
            await house.model.stalled.wait()
            running.type(CTRL_C)
            (session,) = await house.client.sessions()
            ended = await house.ended(session.id)
            running.look_again()
            for number in range(1, len(paragraphs)):
                await running.until(said(number))
            await running.until("has ended: stopped")
            running.type(CTRL_D)
            code = await running.ended()
        async with shell(house).terminal("watch", session.id) as watching:
            await watching.until(said(0))
            watching.look_away()
            watching.type(CTRL_C)
            left = await watching.ended()

    assert isinstance(ended, TurnEnded) and ended.reason == "stopped" and (code, left) == (5, 130)


def said(number: int) -> str:
    return rf"it\s+is\s+{number}\."


async def test_a_closed_terminal_leaves_the_task_running(open_house: OpenHouse) -> None:
    async with open_house(TOUCH, HELLO) as house, house.working():
        house.configure(**ASKING)
        async with shell(house).terminal("run", *MODEL, "go") as terminal:
            await terminal.until("reject > $")
            terminal.hang_up()
            code = await terminal.ended()
        (ask,) = await house.client.asks()
        await house.answer(ask.id)
        finished = await house.ended(ask.session)

    assert code in (-signal.SIGHUP, Exit.HUNG_UP)  # whichever is first, the signal or a line that cannot be written
    assert isinstance(finished, TurnEnded) and finished.reason == "done"


async def test_what_counts_for_nothing_is_named_at_the_start(open_house: OpenHouse) -> None:
    async with open_house(HELLO) as house, house.working():
        house.configure(provider={"scripted": {"options": {"baseURL": "http://evil.example"}}}, snapshot=True)
        ended = await shell(house).run("run", *MODEL, "hello")

    assert ended.code == 0
    assert "Ignored from the project's configuration: provider.scripted.options" in ended.err
    assert "Ignored (not supported yet): snapshot" in ended.err


async def test_only_the_environment_of_commands_is_recorded_and_keys_are_handed_over(open_house: OpenHouse) -> None:
    async with open_house(HELLO) as house, house.working():
        person = shell(house)
        person.environment.update(OPENAI_API_KEY="sk-very-secret-1", VIRTUAL_ENV="/venv", PROJECT_TOKEN="x")
        ended = await person.run("run", *MODEL, "hello")
        listed = await person.run("auth", "list")
        (session,) = await house.client.sessions()
        recorded = (await sessions.origin(house.database, session.id)).environment
        keys = house.settings.handover

    assert ended.code == 0 and stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert {"PATH", "VIRTUAL_ENV"} <= recorded.keys()
    assert not {"PROJECT_TOKEN", "OPENAI_API_KEY", "HOLDFAST_POSTGRES_URL"} & recorded.keys()
    assert "OPENAI_API_KEY  handed over" in listed.out
    assert "sk-very-secret-1" not in ended.out + ended.err + listed.out


async def test_a_task_in_the_users_home_is_warned_of_once(open_house: OpenHouse) -> None:
    async with open_house(HELLO, HELLO) as house, house.working():
        at_home = await shell(house).with_(HOME=str(house.project)).run("run", *MODEL, "hello")
        elsewhere = await shell(house).run("run", *MODEL, "hello")

    assert (at_home.code, elsewhere.code) == (0, 0)
    assert at_home.err.count("which holds your whole home") == 1 and "whole home" not in elsewhere.err
