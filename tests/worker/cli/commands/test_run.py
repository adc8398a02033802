"""`holdfast run` as a process: its output, its questions, its exit code."""

import asyncio
import json
import signal
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from activities.store import sessions
from tests.acceptance.temporal_proxy import Proxy
from tests.harness import Harness
from tests.worker.cli.conftest import CTRL_C, CTRL_D, OpenHarness, shell
from worker.cli.exit_codes import ExitCode
from worker.scripted.script import Refuse, ScriptedAnswer, ScriptedCall, Stall
from workflows.domain.events.turns import TurnEnded

HELLO = ScriptedAnswer(text="Hello to you.")
PAGER_PROMPT = r"\n:"
BELL = "\x07"
TOUCH = ScriptedAnswer(text="I run it.", tools=(ScriptedCall(name="bash", arguments={"command": "touch ran"}),))
MAKE = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "mkdir -p made"}),))
REMOVE = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "rm ran"}),))
HANGS = ScriptedAnswer(text="never said in full", faults={1: Stall(after=1)})
REFUSED = Refuse(status=401, body={"error": {"message": "Incorrect API key", "type": "invalid_request_error"}})
MODEL = ("-m", "scripted/model")
WRITES = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('written by hand')"
QUICKLY = 5  # tries of what goes wrong now and then
ASKING = {"permission": {"bash": "ask"}}


def tools_of(harness: Harness) -> list[str]:
    """Those of the newest request."""
    assert harness.model.last_request is not None
    return [tool["function"]["name"] for tool in harness.model.last_request.body["tools"]]


async def test_a_task_from_words_and_standard_input_is_followed_and_ends_with_0(open_harness: OpenHarness) -> None:
    read = ScriptedAnswer(text="Let me look.", tools=(ScriptedCall(name="read", arguments={"filePath": "a.txt"}),))
    async with open_harness(read, HELLO) as harness, harness.running_worker():
        harness.file("a.txt", "hello\n")
        ended = await shell(harness).run("run", *MODEL, "say", "-", typed="hello, without @a.txt")
        offered = tools_of(harness)

    assert ended.code == 0, ended.err
    assert "question" in offered and "plan_enter" not in offered  # it has no terminal
    expected = [
        "> say hello, without @a.txt",
        "Let me look.",
        "✓ read  a.txt",
        "Hello to you.",
        "Done in ",
        " · 2 steps · ",
    ]
    assert [line for line in expected if line in ended.out] == expected
    assert "\x1b" not in ended.out


async def test_what_the_model_thinks_is_shown_where_it_is_asked_for(open_harness: OpenHarness) -> None:
    thinks = HELLO.model_copy(update={"reasoning": "It greets me."})
    async with open_harness(thinks, thinks) as harness, harness.running_worker():
        plain, thinking = [await shell(harness).run("run", *MODEL, *words, "hi") for words in ((), ("--thinking",))]
        watched = await shell(harness).run("watch", "last", "--thinking", "--until-idle")
        async with shell(harness).terminal("watch", "last", "--thinking", "--until-idle") as terminal:
            await terminal.until("Thinking: It greets me")
            await terminal.until("Hello to you")
            await terminal.ended()

    assert "It greets me" not in plain.out
    assert all("  Thinking: It greets me.\n\nHello to you.\n" in each.out for each in (thinking, watched))


async def test_what_a_command_has_written_is_shown_while_it_runs(open_harness: OpenHarness) -> None:
    command = "seq 9; until [ -e go ]; do sleep 0.1; done"
    runs = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": command}),))
    async with (
        open_harness(runs, HELLO) as harness,
        harness.running_worker(),
        shell(harness).terminal("run", *MODEL, "--exit", "go") as terminal,
    ):
        await terminal.until(r"│ 6.*\s+.*│ 7.*\s+.*│ 8.*\s+.*│ 9")
        harness.file("go", "")
        await terminal.until("✓.* bash")
        await terminal.until("Hello to you")
        code = await terminal.ended()
        assert "plan_enter" in tools_of(harness)

    assert code == 0


async def test_a_prompt_is_written_in_the_editor_and_one_that_is_not_saved_does_nothing(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        person = shell(harness)
        left = await person.with_(EDITOR="true").run("run", *MODEL, "--edit")
        written = await person.with_(EDITOR=f"{sys.executable} -c {WRITES!r}").run("run", *MODEL, "--edit", "--detach")
        (session,) = await harness.client.sessions.list_recent()
        await harness.ended(session.id)

    assert (left.code, written.code, session.title) == (2, 0, "written by hand")


@pytest.mark.parametrize("name", ["title", "explore", "nope"])
async def test_an_agent_that_people_may_not_choose_is_refused_and_nothing_starts(
    open_harness: OpenHarness, name: str
) -> None:
    async with open_harness(HELLO) as harness:
        harness.configure(agent={"coder": {}})
        ended = await shell(harness).run("run", *MODEL, "--agent", name, "hello")
        harness.configure_person(model={}, default_agent=name)
        by_default = await shell(harness).run("run", *MODEL, "hello")
        begun = await harness.client.sessions.list_recent()

    for refused in (ended, by_default):
        assert refused.code == 2 and name in refused.err and "Available agents: build, coder, plan." in refused.err
    assert f'default agent "{name}" ' in by_default.err and begun == []


async def test_a_session_goes_on_with_the_agent_that_was_named_last(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(TOUCH, HELLO, HELLO, TOUCH, HELLO) as harness, harness.running_worker():
        harness.configure(agent={"build": {"disable": True}, "coder": {}, "tester": {"permission": {"bash": "deny"}}})
        tested = await shell(harness).run("run", *MODEL, "--agent", "tester", "go")
        again = await shell(harness).run("run", "-s", "last", "go")
        ran_for_tester = (harness.project / "ran").exists()
        other = await shell(harness).run("run", "-s", "last", "--agent", "coder", "go")
        (session,) = await harness.client.sessions.list_recent()
        harness.configure(agent={"coder": {"disable": True}})
        gone = [await shell(harness).run(*command, "go") for command in (("run", "-s", "last"), ("send", "last"))]
        (same,) = await harness.client.sessions.list_recent()

    assert (tested.code, again.code, ran_for_tester) == (0, 0, False)
    assert (other.code, session.agent, (harness.project / "ran").exists()) == (0, "coder", True), other.err
    assert [each.code for each in gone] == [2, 2] and (same.number, same.waiting) == (3, 0)


async def test_without_build_the_first_agent_that_people_see_works(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        harness.configure(agent={"build": {"disable": True}, "coder": {}})
        ended = await shell(harness).run("run", *MODEL, "hello")
        (session,) = await harness.client.sessions.list_recent()

    assert (ended.code, session.agent) == (0, "coder"), ended.err


async def test_a_refused_request_is_shown_as_a_pause_and_retried(open_harness: OpenHarness) -> None:
    busy = Refuse(status=429, headers={"retry-after-ms": "50"})
    async with open_harness(HELLO.model_copy(update={"faults": {1: busy}})) as harness, harness.running_worker():
        ended = await shell(harness).run("run", *MODEL, "hello")

        as_json = await shell(harness).run("watch", "last", "--json", "--until-idle")

    assert ended.code == 0 and "(attempt 1): " in ended.out
    (retry,) = [line["retry"] for line in map(json.loads, as_json.out.splitlines()) if line["type"] == "retry"]
    assert (retry["attempt"], retry["kind"], retry["message"]) == (1, "429", "Rate limit reached")


async def test_a_failed_task_ends_with_1_and_says_why(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO.model_copy(update={"faults": {1: REFUSED}})) as harness, harness.running_worker():
        ended = await shell(harness).run("run", *MODEL, "hello")

    assert ended.code == 1 and "rejected the API key (401): Incorrect API key" in ended.out


async def test_json_is_one_object_on_each_line_in_opencodes_form(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness, harness.running_worker():
        ended = await shell(harness).run("run", *MODEL, "--json", "go")

    lines = [json.loads(each) for each in ended.out.splitlines()]
    step = ["step_start", "text", "tool_use", "step_finish"]
    assert [each["type"] for each in lines] == ["turn_start", *step, "step_start", "text", "step_finish", "turn_end"]
    assert f", configuration {lines.pop(0)['configuration']}\n" in ended.err
    tool = lines[2]["part"]
    assert (tool["type"], tool["tool"], tool["state"]["status"]) == ("tool", "bash", "completed")
    assert lines[1]["part"]["text"] == "I run it." and lines[1]["sessionID"] == tool["sessionID"]


async def test_without_a_terminal_a_question_is_printed_and_waited_for(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness, harness.running_worker():
        harness.configure(**ASKING)
        async with shell(harness).process("run", *MODEL, "go") as process:
            assert process.stdout is not None
            asked = (await process.stdout.readuntil(b"holdfast answer ")).decode()
            ask = (await process.stdout.readuntil(b" ")).decode().strip()
            answered = await shell(harness).run("answer", ask, "once")
            rest = (await process.stdout.read()).decode()
            assert process.stderr is not None
            said = (await process.stderr.read()).decode()
            code = await process.wait()

    assert "│ touch ran\n" in asked and (answered.code, code) == (0, 0)
    assert f"It waits for an answer: holdfast asks {ask} " in " ".join(said.split())
    assert "✓ bash  touch ran" in rest and (harness.project / "ran").exists()


async def test_no_wait_ends_with_4_at_a_question_which_stays(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness, harness.running_worker():
        harness.configure(**ASKING)
        ended = await shell(harness).run("run", *MODEL, "--no-wait", "go")
        waiting = await harness.client.inbox.asks()

    assert ended.code == 4 and len(waiting) == 1
    assert "bash wants to run in" in ended.out and waiting[0].name in ended.out


async def test_a_detached_task_goes_on_alone(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        ended = await shell(harness).run("run", *MODEL, "--detach", "hello")
        (session,) = await harness.client.sessions.list_recent()
        finished = await harness.ended(session.id)

    assert ended.code == 0 and ended.out == f"{session.id}\n"
    assert isinstance(finished, TurnEnded) and finished.reason == "done"


async def test_a_session_is_continued_by_the_beginning_of_its_id_or_as_the_last(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO, HELLO) as harness, harness.running_worker():
        session = await harness.start_session("one")
        await harness.ended(session)
        ended = [await shell(harness).run("run", "-s", name, name) for name in (session[4:12], "last")]
        (same,) = await harness.client.sessions.list_recent()

    assert [each.code for each in ended] == [0, 0] and same.number == 3
    assert "> last" in ended[-1].out and "> one" not in ended[-1].out


async def test_questions_at_the_terminal_show_the_effect_and_take_each_kind_of_answer(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(TOUCH, MAKE, MAKE, REMOVE, HELLO) as harness, harness.running_worker():
        harness.configure(**ASKING)
        async with shell(harness).terminal("run", *MODEL, "go") as terminal:
            await terminal.until("bash wants to run in")
            await terminal.until("│ touch ran")
            await terminal.until("always .*bash: touch")
            await terminal.until_shown("once / always / project / reject > $")
            terminal.type("what?\n")
            await terminal.until("Type once, always, project, reject")
            terminal.type("once\n")
            await terminal.until("✓.* bash  touch ran")
            await terminal.until_shown("reject > $")
            terminal.type("a\n")
            await terminal.until("│ rm ran")  # the second `mkdir` was not asked about
            await terminal.until_shown("reject > $")
            terminal.type("reject use make instead\n")
            await terminal.until("rejected by .*: use make instead")
            await terminal.until("Done")
            terminal.type(CTRL_D)
            code = await terminal.ended()
        (row,) = await harness.client.grants.list_all()
        (session,) = await harness.client.sessions.list_recent()
        rejected = (await harness.calls(session.id))[-1]

    assert code == 0 and {"ran", "made"} <= {path.name for path in harness.project.iterdir()}
    assert (row.grant.permission, row.grant.patterns, row.uses) == ("bash", ("mkdir *",), 1)
    assert rejected.outcome is not None and "use make instead" in rejected.outcome.output


@pytest.mark.parametrize("pager", ["", "no-such-pager", "cat"])
async def test_a_long_effect_is_viewed_in_a_pager_and_asked_about_again(open_harness: OpenHarness, pager: str) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 401))
    write = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "long", "content": text}),))
    async with open_harness(write, HELLO) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        async with shell(harness).with_(PAGER=pager, LESS="").terminal("run", *MODEL, "go") as terminal:
            await terminal.until(r" 1 \+line 1\x1b")
            await terminal.until("lines hidden")
            await terminal.until_shown("view > $")
            terminal.type("once\n")
            await terminal.until("A part of it is hidden")
            terminal.type("v\n")
            if not pager:
                await terminal.until(PAGER_PROMPT)
                terminal.type(CTRL_C)  # for the pager: it rings, and stays
                await terminal.until(BELL)
                await terminal.type_until("G", "400 .*line 400")
                terminal.type("q")
            else:
                await terminal.until("400 .*line 400")
            if pager != "no-such-pager":
                await terminal.until("lines hidden")  # the question again
            await terminal.until("once .*this time only")
            await terminal.until_shown("reject > $")
            terminal.type("once\n")
            await terminal.until("✓.* write")
            await terminal.until("Hello to you.")
            await terminal.until("Type the next prompt")
            terminal.type(CTRL_D)
            code = await terminal.ended()

    assert code == 0 and (harness.project / "long").read_text() == text


async def test_a_question_may_be_answered_at_another_terminal_and_is_left_to_others_at_the_end_of_the_input(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(TOUCH, MAKE, HELLO) as harness, harness.running_worker():
        harness.configure(**ASKING)
        person = shell(harness)
        async with person.terminal("run", *MODEL, "go") as first:
            await first.until_shown("reject > $")
            (ask,) = await harness.client.inbox.asks()
            sent = await person.run("send", "last", "also say hello")
            await first.until(f"1 prompt waits behind ask {ask.name}")
            first.type("reje")  # then another terminal answers first
            await first.until_shown("reject > reje$")
            async with person.terminal("answer", ask.id, "once") as second:
                await second.until("bash: once, recorded as")
            await first.until("once by ")
            await first.until("what you were typing is dropped")
            await first.until("> also say hello")
            await first.until("│ mkdir -p made")
            await first.until_shown("reject > $")
            first.type(CTRL_D)
            waiting = await first.until(r"It waits: holdfast answer (a\d+) ")
            answered = await person.run("answer", waiting[1], "once")
            code = await first.ended()

    assert f"1 prompt waits behind ask {ask.name}" in sent.err
    assert (answered.code, code) == (0, 0) and {"ran", "made"} <= {path.name for path in harness.project.iterdir()}


async def test_the_first_ctrl_c_stops_the_turn_durably(open_harness: OpenHarness) -> None:
    async with (
        open_harness(HANGS) as harness,
        harness.running_worker(),
        shell(harness).terminal("run", *MODEL, "go") as terminal,
    ):
        await terminal.until("> go")  # Ctrl-C is handled from here on
        await harness.model.stalled.wait()
        terminal.type(CTRL_C)
        await terminal.until("Stopping the turn. Ctrl-C again leaves")
        await terminal.until("The turn has ended: stopped")
        terminal.type(CTRL_D)
        code = await terminal.ended()

    assert code == 5


async def test_the_second_ctrl_c_leaves_though_the_turn_cannot_end_and_the_stop_holds(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(HANGS) as harness:
        async with shell(harness).terminal("run", *MODEL, "go") as terminal:
            async with harness.running_worker(drain_seconds=0):
                await harness.model.stalled.wait()
            await terminal.until("> go")
            terminal.type(CTRL_C)
            await terminal.until("Stopping the turn")
            (session,) = await harness.client.sessions.list_recent()
            await harness.until(session.id, lambda event: event.type == "stop.accepted")
            terminal.type(CTRL_C)
            await terminal.until("Left.")
            code = await terminal.ended()
        async with harness.running_worker():
            ended = await harness.ended(session.id)

    assert code == 130
    assert isinstance(ended, TurnEnded) and ended.reason == "stopped"


async def test_two_quick_ctrl_c_record_the_stop_and_show_no_error_of_ours(open_harness: OpenHarness) -> None:
    hangs = HANGS.model_copy(update={"faults": {number: Stall(after=1) for number in range(1, QUICKLY + 1)}})
    async with open_harness(hangs) as harness, harness.running_worker():
        left = [await hurried(harness) for _ in range(QUICKLY)]
        ended = [await harness.ended(session.id) for session in await harness.client.sessions.list_recent()]

    assert left == [130] * QUICKLY
    assert {event.reason for event in ended if isinstance(event, TurnEnded)} == {"stopped"} and len(ended) == QUICKLY


async def hurried(harness: Harness) -> int:
    """Press Ctrl-C twice, milliseconds apart, once a task has begun; the exit code."""
    async with shell(harness).terminal("run", *MODEL, "go") as terminal:
        await terminal.until("> go")
        terminal.type(CTRL_C)
        await asyncio.sleep(0.012)
        terminal.type(CTRL_C)
        await terminal.until("(?s)^(?!.*(Traceback|Exception)).*Left. The stop is recorded")
        return await terminal.ended()


@asynccontextmanager
async def held(harness: Harness) -> AsyncIterator[tuple[str, asyncio.Event, asyncio.Event]]:
    """An address for Temporal that delays calls after a session was accepted; an event for the first call, and one that
    lets it through."""
    came, through, between = asyncio.Event(), asyncio.Event(), Proxy(harness.endpoints.temporal_address)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await harness.client.sessions.list_recent():
            came.set()
            await through.wait()
        await between.carry(reader, writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield "{}:{}".format(*server.sockets[0].getsockname()), came, through
    finally:
        server.close()
        between.close()


async def test_ctrl_c_between_the_acceptance_of_a_task_and_its_following_stops_it(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, held(harness) as (address, came, through):
        async with shell(harness).with_(TEMPORAL_ADDRESS=address).terminal("run", *MODEL, "go") as terminal:
            await came.wait()
            terminal.type(CTRL_C)
            await terminal.until("It is stopped as soon as it is accepted")
            through.set()
            await terminal.until(r"Withdrawn \(stopped\): go")
            terminal.type(CTRL_C)
            stopped = await terminal.ended()
        came.clear()
        through.clear()
        async with shell(harness).with_(TEMPORAL_ADDRESS=address).terminal("run", *MODEL, "go") as terminal:
            await came.wait()
            terminal.type(CTRL_C)
            await terminal.until("It is stopped as soon")
            terminal.type(CTRL_C)
            await terminal.until("Left before it was known")
            left = await terminal.ended()
        through.set()
        async with harness.running_worker():
            finished = await harness.ended((await harness.client.sessions.list_recent())[0].id)

    assert (stopped, left) == (5, 130)
    assert isinstance(finished, TurnEnded) and finished.reason == "done"  # nothing has stopped it


async def test_a_closed_terminal_leaves_the_task_running(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness, harness.running_worker():
        harness.configure(**ASKING)
        async with shell(harness).terminal("run", *MODEL, "go") as terminal:
            await terminal.until_shown("reject > $")
            terminal.hang_up()
            code = await terminal.ended()
        (ask,) = await harness.client.inbox.asks()
        await harness.answer(ask.id)
        finished = await harness.ended(ask.session)

    assert code in (-signal.SIGHUP, ExitCode.HUNG_UP)  # the signal, or a write that fails before it
    assert isinstance(finished, TurnEnded) and finished.reason == "done"


async def test_a_run_that_is_ended_by_another_process_says_that_the_task_goes_on(open_harness: OpenHarness) -> None:
    async with open_harness(TOUCH, HELLO) as harness, harness.running_worker():
        harness.configure(**ASKING)
        async with shell(harness).process("run", *MODEL, "go") as process:
            assert process.stderr is not None
            while b"It waits for an answer" not in await process.stderr.readline():
                assert not process.stderr.at_eof()
            process.terminate()
            _, last = await process.communicate()
        (ask,) = await harness.client.inbox.asks()
        await harness.answer(ask.id)
        finished = await harness.ended(ask.session)

    assert process.returncode == ExitCode.TERMINATED
    assert f"a turn at work goes on: `holdfast stop {ask.session}` stops it." in last.decode()
    assert isinstance(finished, TurnEnded) and finished.reason == "done"


async def test_what_counts_for_nothing_is_named_at_the_start(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        harness.configure(provider={"scripted": {"options": {"baseURL": "http://evil.example"}}}, snapshot=True)
        ended = await shell(harness).run("run", *MODEL, "hello")

    assert ended.code == 0
    assert (
        "Not there until a person accepts it (`holdfast trust`): provider.scripted of the project's files." in ended.err
    )
    assert "Ignored (not supported yet): snapshot" in ended.err


async def test_only_the_environment_of_commands_is_recorded_and_keys_are_handed_over(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        person = shell(harness)
        person.environment.update(OPENAI_API_KEY="sk-very-secret-1", VIRTUAL_ENV="/venv", PROJECT_TOKEN="x")
        ended = await person.run("run", *MODEL, "hello")
        listed = await person.run("auth", "list")
        (session,) = await harness.client.sessions.list_recent()
        recorded = (await sessions.origin(harness.database, session.id)).environment
        keys = harness.settings.credentials_file

    assert ended.code == 0 and stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert {"PATH", "VIRTUAL_ENV"} <= recorded.keys()
    assert not {"PROJECT_TOKEN", "OPENAI_API_KEY", "HOLDFAST_POSTGRES_URL"} & recorded.keys()
    assert "OPENAI_API_KEY  handed over" in listed.out
    assert "sk-very-secret-1" not in ended.out + ended.err + listed.out


async def test_a_task_in_the_users_home_is_warned_of_once(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO) as harness, harness.running_worker():
        at_home = await shell(harness).with_(HOME=str(harness.project)).run("run", *MODEL, "hello")
        elsewhere = await shell(harness).run("run", *MODEL, "hello")

    assert (at_home.code, elsewhere.code) == (0, 0)
    assert at_home.err.count("which holds your whole home") == 1 and "whole home" not in elsewhere.err


async def test_files_are_named_at_the_command_line_and_what_is_not_there_begins_nothing(
    open_harness: OpenHarness,
) -> None:
    answers = (ScriptedAnswer(text="Not asked."), *[ScriptedAnswer(text="It is a list.")] * 4)
    async with open_harness(*answers) as harness, harness.running_worker():
        harness.file("docs/a b.txt", "one\ntwo\n")
        harness.file("c.txt", "three\n")
        person = shell(harness)
        missing = await person.run("run", "-m", "scripted/model", "--file", "gone.txt", "What is it?")
        ran = await person.run("run", "-m", "scripted/model", "What is it, and @c.txt#L1?", "-f", "docs/a b.txt")
        sent = await person.run("send", "last", "--file", "gone.txt", "And that?")
        harness.configure_person(model={"attachment": False})
        for name in ("p.png", "q.png"):
            (harness.project / name).write_bytes(b"")
        unseen = await person.run("send", "last", "--queue", "--file", "p.png", "And that, @p.png, or @q.png?")
        (session,) = await harness.client.sessions.list_recent()
        exported = json.loads((await person.run("export", session.id)).out)["messages"]

    assert missing.code == sent.code == 2 and "--file 'gone.txt': there is no such file" in missing.err + sent.err
    assert ran.code == 0, ran.err
    assert "✓ read  docs/a b.txt" in ran.out and "✓ read  c.txt" in ran.out and "It is a list." in ran.out
    known = "cannot see pictures, as far as is known: it learns only that {} is there."
    assert unseen.code == 0 and [unseen.err.count(known.format(name)) for name in ("p.png", "q.png")] == [1, 1]
    assert [part["type"] for part in exported[0]["parts"]] == ["text", "file", "file"]
    referred = exported[0]["parts"][2]
    assert referred["url"] == (harness.project / "c.txt").as_uri() + "?start=1&end=1"
    assert referred["source"]["text"] == {"value": "@c.txt#L1?", "start": 16, "end": 26}
    assert [part.get("tool") for part in exported[1]["parts"]] == [None, "read", "read", None]


async def test_a_session_without_a_prompt_is_idle_until_it_gets_one(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO) as harness, harness.running_worker():
        person = shell(harness)
        made = await person.run("new", *MODEL, "--title", "Notes", "--ask", "bash")
        session = made.out.strip()
        listed, shown = await person.run("sessions", "--here"), await person.run("sessions", "show", session)
        exported, logged = await person.run("export", session), await person.run("log", session, "--verify")
        watched, refused = await person.run("watch", session, "--until-idle"), await person.run("retry", session)
        ran = await person.run("run", "-s", session, "greet me")
        as_json, wrong = await person.run("new", *MODEL, "--json"), await person.run("new", "--agent", "nobody")
        other = json.loads(as_json.out)["session"]
        last = await person.run("run", "-c", "and me")  # the newest of the directory
        overviews = await harness.client.sessions.list_recent()

    assert made.code == 0 and made.err.endswith(f"It waits for a prompt: holdfast send {session} …\n")
    assert listed.out.startswith(f"{session}  new  ") and "Notes" in listed.out and "  new\n" in shown.out
    assert json.loads(exported.out)["messages"] == [] and logged.code == 0
    assert "Notes" in watched.out and refused.code == ExitCode.CONFLICT
    assert ran.code == 0 and "Hello to you." in ran.out
    assert wrong.code == ExitCode.USAGE and "nobody" in wrong.err
    assert last.code == 0 and [(each.id, each.title) for each in overviews] == [(other, "and me"), (session, "Notes")]
