"""`holdfast sessions`, `send`, `stop` and `end` as processes."""

import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime

from tests.worker.cli.conftest import OpenHarness, shell
from worker.cli.render.formatting import format_upcoming
from worker.scripted.script import Refuse, Script, ScriptedAnswer, Stall
from workflows.domain.events.generations import ModelRetry
from workflows.domain.events.turns import TurnEnded

LIST, SHOW = ("sessions", "--here"), ("sessions", "show", "last")

HELLO = ScriptedAnswer(text="Hello.")
LIMITED = HELLO.model_copy(update={"faults": {1: Refuse(headers={"retry-after": "3600"})}})
HANGS = ScriptedAnswer(text="never said in full", faults={1: Stall(after=1)})


async def test_sessions_are_listed_with_what_they_do(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        session = await harness.start_session("greet\x1b[2J me")
        await harness.ended(session)
        listed, as_json = await shell(harness).run("sessions", "--here"), await shell(harness).run("sessions", "--json")
        used = await shell(harness).run("stats", "--here", "-n", "1")
        async with shell(harness).terminal("sessions") as terminal:
            await terminal.until("TITLE +STATE +CHANGED +SESSION +DIRECTORY")
            row = await terminal.until(rf"greet.* me  +done .* {session}  ….*project\r\n")  # its name is a long one
            await terminal.ended()

    assert len(row[0].rstrip()) <= 80
    assert listed.code == 0 and listed.out.startswith(f"{session}  done  ") and "greet [2J me" in listed.out
    assert [each["id"] for each in json.loads(as_json.out)] == [session]
    assert used.out.startswith("1 session · 1 step · ") and f"1 step  {session} greet" in used.out


async def test_the_number_of_sessions_that_are_not_listed_is_reported(open_harness: OpenHarness) -> None:
    async with open_harness() as harness:
        person = shell(harness)
        older, newer = await harness.start_session("the older one"), await harness.start_session("the newer one")
        one, both, here = [
            await person.run("sessions", *words) for words in (("-n1",), ("--all",), ("-n", "2", "--here"))
        ]
        as_json, unclear = await person.run("sessions", "-n1", "--json"), await person.run("sessions", "--all", "-n1")

    assert newer in one.out and older not in one.out and one.err.endswith("And 1 more: holdfast sessions --all\n")
    assert older in both.out and older in here.out and "more" not in both.err + here.err
    assert len(json.loads(as_json.out)) == 1 and unclear.code == 2 and "give one of them" in unclear.err


async def test_sessions_are_chosen_by_options_and_projects_are_listed(open_harness: OpenHarness) -> None:
    async with open_harness() as harness:
        (harness.project / "below").mkdir()
        subprocess.run(["git", "init", "-q", harness.project], check=True)
        person = shell(harness)
        lower = replace(person, directory=harness.project / "below")
        session = await harness.start_session("Mend the parser")
        chosen = [
            await each.run("sessions", *words)
            for each, words in (
                (lower, ("--project", "--search", "MEND", "--state", "working", "--since", "1h", "--agent", "build")),
                (lower, ("--in", "..", "--before", "1min")),
                (person, ("--since", "soon")),
            )
        ]
        listed, as_json = await person.run("projects"), await lower.run("projects", "--json")

    assert chosen[0].out.startswith(session) and (chosen[1].out, chosen[1].err) == ("", "No session matches.\n")
    assert chosen[2].code == 2 and "neither an age" in chosen[2].err
    (project,) = json.loads(as_json.out)
    assert "1 session " in listed.out and project["worktree"] == str(harness.project.resolve())
    assert project["vcs"] == "git" and project["id"].startswith("path-")


async def test_a_pause_of_the_provider_is_shown_wherever_one_looks(open_harness: OpenHarness) -> None:
    async with open_harness(LIMITED) as harness, harness.running_worker():
        session = await harness.start_session("hello")
        retry = await harness.until(session, lambda event: event.type == "model.retry")
        person = shell(harness)
        listed, shown, as_json = [await person.run(*words) for words in (LIST, SHOW, (*SHOW, "--json"))]
        async with person.process("watch", session) as watching:
            assert watching.stdout is not None
            watched = (await watching.stdout.readuntil(b"Rate limit reached")).decode()
        await person.run("stop", session)
        ended = await harness.ended(session)
        after = await person.run(*LIST)

    assert isinstance(retry, ModelRetry) and isinstance(ended, TurnEnded) and ended.reason == "stopped"
    when = f"retrying at {format_upcoming(datetime.fromisoformat(retry.next_at), datetime.now(UTC))}"
    assert f"{session}  {when}  " in listed.out and f"{when} (attempt 1): Rate limit" in watched
    assert f"Turn 1: {when}" in shown.out and "It said: Rate limit reached" in shown.out
    assert json.loads(as_json.out)["pause"]["attempt"] == 1 and f"{session}  stopped" in after.out


async def test_no_session_is_no_error(open_harness: OpenHarness) -> None:
    async with open_harness() as harness:
        listed, as_json = await shell(harness).run("sessions"), await shell(harness).run("sessions", "--json")

    assert (listed.code, listed.out, as_json.out) == (0, "", "[]\n")


async def test_a_stop_ends_the_turn_and_withdraws_what_waits_unless_it_is_kept(open_harness: OpenHarness) -> None:
    async with open_harness(HANGS, HELLO) as harness, harness.running_worker():
        session = await harness.start_session("hang")
        await harness.model.stalled.wait()
        await shell(harness).run("send", session, "later", "--queue")
        stopped = await shell(harness).run("stop", session, "--keep-queued")
        ended = [await harness.ended(session, turns) for turns in (1, 2)]

    assert stopped.code == 0 and stopped.out.startswith("The stop is recorded; the turn is ending.")
    assert [each.reason for each in ended if isinstance(each, TurnEnded)] == ["stopped", "done"]


async def test_a_stop_shows_the_prompts_that_it_withdraws(open_harness: OpenHarness) -> None:
    async with open_harness(HANGS) as harness, harness.running_worker():
        session = await harness.start_session("hang")
        await harness.model.stalled.wait()
        for text in ("first the tests", "then\nthe docs"):
            await shell(harness).run("send", session, text, "--queue")
        stopped = await shell(harness).run("stop", session)
        await harness.ended(session)

    first, *withdrawn = stopped.out.splitlines()
    assert "2 prompts withdrawn." in first and withdrawn == ["  > first the tests", "  > then the docs"]


async def test_a_stop_of_a_session_that_does_nothing_is_no_error(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        session = await harness.start_session("one")
        await harness.ended(session)
        stopped = await shell(harness).run("stop", "last")

    assert stopped.code == 0 and "No turn was running." in stopped.out


async def test_an_ended_session_takes_no_prompt_any_more(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        session = await harness.start_session("one")
        await harness.ended(session)
        ended = await shell(harness).run("end", session)
        late = await shell(harness).run("send", session, "two")

    assert ended.code == 0 and late.code == 6 and "has ended" in late.err


async def test_a_deleted_session_leaves_its_log(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness, harness.running_worker():
        session = await harness.start_session("a secret")
        person = shell(harness)
        await harness.ended(session)
        async with person.terminal("delete", "last") as terminal:
            await terminal.until(r"Delete 'a secret' \(ses_.*for good\? \[y/N\]: ")
            terminal.type("y\n")
            await terminal.until(rf"Deleted: a secret \({session}\)")
            assert await terminal.ended() == 0
        verified, exported = [await person.run(*words, session) for words in (("log", "--verify"), ("export",))]
        told, shown = await person.run("log", session, "--events"), await person.run("sessions", "show", session)
        listed = await person.run("sessions", "--json")

    assert verified.code == 0 and (exported.code, exported.out) == (6, "") and "was deleted" in exported.err
    assert shown.out.startswith("(deleted)\n")
    assert "session.deleted" in told.out and "a secret" not in told.out and listed.out == "[]\n"


async def test_a_fork_and_its_origin_go_on_independently(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, ScriptedAnswer(text="In the fork.")) as harness, harness.running_worker():
        origin = await harness.start_session("greet me")
        await harness.ended(origin)
        person = shell(harness)
        forked = json.loads((await person.run("fork", "last", "--json")).out)
        nonsense = await person.run("fork", origin, "--at", "ses_x")
        await person.run("send", forked["session"], "and again")
        await harness.ended(forked["session"])
        watched = await person.run("watch", forked["session"], "--until-idle")
        told = await person.run("log", forked["session"])
        verified = await person.run("log", forked["session"], "--verify")
        before = await harness.client.records.transcript(origin)

    assert (forked["title"], forked["messages"]) == ("greet me (fork #1)", 2) and len(before) == 2
    assert nonsense.code == 2 and "no message's id" in nonsense.err
    shown = (f"with messages of {origin}", "> greet me", "Hello.", "In the fork.")
    assert [each for each in shown if each not in watched.out] == []
    assert f"begun with 2 messages of {origin}" in told.out and verified.code == 0
    assert harness.model.last_request and "Hello." in json.dumps(harness.model.last_request.body["messages"])


async def test_unknown_sessions_end_with_2(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness:
        full = "ses_" + "0" * 26
        commands = [("send", full, "x"), ("stop", full), ("end", "nope"), ("watch", full), ("log", "last")]
        ended = [await shell(harness).run(*command) for command in commands]

    assert [each.code for each in ended] == [2] * 5
    assert all("session" in each.err for each in ended)


async def test_a_beginning_that_several_ids_share_is_refused(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO) as harness, harness.running_worker():
        sessions = [await harness.start_session("one"), await harness.start_session("two")]
        for session in sessions:
            await harness.ended(session)
        ended = await shell(harness).run("log", "ses_")

    assert ended.code == 2 and "could be any of" in ended.err


async def test_last_is_what_a_person_prompted_last_and_its_end_is_agreed_to_by_title(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO, HELLO) as harness:
        person = shell(harness)
        older = await harness.start_session("the older one")
        newer = await harness.start_session("the newer one")
        await harness.client.stop(older)  # which changes that one last
        refused = await person.run("end", "last")
        async with person.terminal("end", "last") as terminal:
            await terminal.until("End 'the newer one'")
            terminal.type("n\r")
            declined = await terminal.ended()
        kept = await harness.client.sessions.get(newer)
        async with person.terminal("end", "last") as terminal:
            await terminal.until("End 'the newer one'")
            terminal.type("y\r")
            await terminal.until("The session has ended: the newer one")
            agreed = await terminal.ended()
        await harness.client.prompt(older, "again")
        stopped = await person.run("stop", "last")
        by_id = await person.run("end", older)

    assert refused.code == 2 and "'the newer one'" in refused.err and newer in refused.err
    assert (declined, kept.status, agreed) == (130, "active", 0)
    assert "the older one" in stopped.out and by_id.out == f"The session has ended: the older one ({older})\n"


async def test_a_person_names_a_session_and_everything_shows_the_name(open_harness: OpenHarness) -> None:
    async with open_harness() as harness:
        person = shell(harness)
        started = await person.run("run", "--detach", "--title", "The first name", "-m", "scripted/model", "Fix it.")
        twice = await person.run("run", "--title", "No", "-c", "go")
        (session,) = await harness.client.sessions.ids()
        renamed = await person.run("title", session, "another\x1b[2J", "name")
        empty = await person.run("title", session, " ")
        listed, told = await person.run("sessions"), await person.run("log", session)
        exported = await person.run("export", session)
        named = [event for event in await harness.events(session) if event.type == "session.titled"]

    assert started.code == 0 and len(named) == 2
    assert twice.code == 2 and "holdfast title last TEXT" in twice.err
    assert renamed.out == f"another [2J name ({session})\n" and empty.code == 2 and "The title is empty" in empty.err
    assert "another [2J name" in listed.out and told.out.startswith("another [2J name\n")
    assert json.loads(exported.out)["info"]["title"] == "another [2J name"


async def test_the_model_names_a_session_when_a_person_asks_for_it(open_harness: OpenHarness) -> None:
    named = Script(answers=(HELLO,), auxiliary_answer=ScriptedAnswer(text="A greeting"))
    async with open_harness(scripts={"default": named}) as harness, harness.running_worker():
        session = await harness.start_session("hello")
        await harness.ended(session)
        asked = await shell(harness).run("title", session)
        log = await shell(harness).run("log", session, "--events")

    assert (asked.code, asked.out) == (0, f"A greeting ({session})\n")
    assert "aside.requested" in log.out and "session.titled" in log.out
