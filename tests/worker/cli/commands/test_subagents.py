"""Subagents at the command line: asks with their path, the tree of sessions, one view, the logs verified together."""

import asyncio
import json
from pathlib import Path

from tests.harness import wait_for_file
from tests.worker.cli.conftest import CTRL_D, OpenHarness, shell
from tests.workflows.delegation import DONE, FOUND, LOOK, delegates, delegation_scripts
from worker.scripted.script import Hold, ScriptedAnswer

FOUND_BY_ONE = delegation_scripts(delegates("one"), DONE, one=(LOOK, FOUND))


async def test_a_subagents_ask_is_listed_with_its_path_and_answered_like_any_other(open_harness: OpenHarness) -> None:
    async with open_harness(scripts=FOUND_BY_ONE) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"})
        session = await harness.start_session("Find it.")
        await harness.until(session, lambda event: event.type == "task.started")
        child = (await harness.client.sessions.tree(session))[1]
        (ask,) = await harness.wait_for_asks(child)
        listed = await shell(harness).run("asks", "--session", session)
        exported = await shell(harness).run("export", session)
        answered = await shell(harness).run("answer", ask, "once")
        await harness.ended(session)

    assert "build › explore › bash wants to run in " in listed.out
    assert answered.code == 0
    state = json.loads(exported.out)["messages"][1]["parts"][1]["state"]
    assert (state["status"], state["title"]) == ("running", "look for one")
    model = {"providerID": "scripted", "modelID": "model"}
    assert state["metadata"] == {"parentSessionId": session, "sessionId": child, "model": model}


async def test_the_story_of_a_session_has_its_subagents_in_the_margin(open_harness: OpenHarness) -> None:
    async with open_harness(scripts=FOUND_BY_ONE) as harness, harness.running_worker():
        harness.file("a.txt", "here\n")
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        watched = await shell(harness).run("watch", session, "--until-idle")
        as_json = await shell(harness).run("watch", session, "--until-idle", "--json")
        child = (await harness.client.sessions.tree(session))[1]

    lines = watched.out.splitlines()
    begin = lines.index(f"  @explore works on it ({child})")
    end = next(place for place, each in enumerate(lines) if each.startswith("✓ task  look for one · "))
    assert "explore │ ✓ bash  cat a.txt" in lines[begin:end] and "explore │ It is in a.txt, line 1." in lines[begin:end]
    assert not any("resumed" in each for each in lines)
    assert {json.loads(each)["sessionID"] for each in as_json.out.splitlines()} == {session, child}


async def test_a_question_of_a_subagent_is_put_to_the_person_who_follows_the_task(open_harness: OpenHarness) -> None:
    async with open_harness(scripts=FOUND_BY_ONE) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"})
        harness.file("a.txt", "here\n")
        async with shell(harness).terminal("run", "--exit", "-m", "scripted/model", "Find it.") as terminal:
            await terminal.until("build › explore › bash wants to run")
            await terminal.until_shown("once / always / project / reject > $")
            terminal.type("once\n")
            await terminal.until("All is done.")
            code = await terminal.ended()

    assert code == 0


async def test_subagents_stand_below_the_session_that_started_them(open_harness: OpenHarness) -> None:
    async with open_harness(scripts=FOUND_BY_ONE) as harness, harness.running_worker():
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        child = (await harness.client.sessions.tree(session))[1]
        listed = await shell(harness).run("sessions")
        last = await shell(harness).run("sessions", "show", "last")

    own, below = listed.out.splitlines()
    assert own.startswith(session) and below.startswith(child) and "└ look for one (@explore subagent)" in below
    assert session in last.out


async def test_a_log_is_verified_together_with_those_of_its_subagents(open_harness: OpenHarness) -> None:
    async with open_harness(scripts=FOUND_BY_ONE) as harness, harness.running_worker():
        session = await harness.start_session("Find it.")
        await harness.ended(session)
        child = (await harness.client.sessions.tree(session))[1]
        whole = await shell(harness).run("log", session, "--verify")
        async with harness.database.transaction() as connection:
            await connection.execute("ALTER TABLE event DISABLE TRIGGER event_append_only")
            await connection.execute("DELETE FROM event WHERE session = %s AND seq > 3", [child])
            await connection.execute(
                "UPDATE session_head h SET seq = e.seq, head = e.hash FROM event e "
                "WHERE h.session = %s AND e.session = h.session AND e.seq = 3",
                [child],
            )
        cut = await shell(harness).run("log", session, "--verify")

    assert whole.code == 0 and len(whole.out.splitlines()) == 2
    assert cut.code == 1 and f"of {child} is not the one" in cut.out


async def test_a_subtask_begins_without_a_question_and_an_unknown_agent_begins_nothing(
    open_harness: OpenHarness,
) -> None:
    scripts = delegation_scripts(DONE, DONE, one=(FOUND,))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.configure(permission={"task": "ask"})
        person = shell(harness)
        named = ("-m", "scripted/model", "--subtask")
        unknown = await person.run("run", *named, "scout", "Where is it?")
        two = await person.run("run", *named, "explore", "--subtask", "general", "Where is it?")
        ran = await person.run("run", *named, "explore", "[[script:one]] Where is it? Say the line.")
        sent = await person.run("send", "last", *named, "scout", "Where is it?")
        (session, _) = await harness.client.sessions.list_recent()
        exported = json.loads((await person.run("export", session.id)).out)["messages"]
        log = await person.run("log", session.id, "--events")

    assert unknown.code == sent.code == two.code == 2 and "for one subagent: give it once" in two.err
    assert "There is no subagent 'scout'. Subagents here: explore, general." in unknown.err + sent.err
    assert ran.code == 0, ran.err
    assert "> [[script:one]] Where is it? Say the line." in ran.out and "All is done." in ran.out
    assert session.title == "[[script:one]] Where is it? Say the line." and '"by":"prompt"' in log.out
    (part,) = exported[0]["parts"]
    assert part["type"] == "subtask" and part["description"] == "[[script:one]] Where is it? Say"
    assert exported[1]["parts"][1]["tool"] == "task" and exported[1]["info"]["finish"] == "tool-calls"


async def test_run_follows_a_task_in_the_background_to_the_turn_that_its_result_begins(
    open_harness: OpenHarness, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    held = FOUND.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    later = ScriptedAnswer(text="It comes later.")
    scripts = delegation_scripts(delegates("one", background=True), later, DONE, one=(held,))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        person = shell(harness)
        following = asyncio.create_task(person.run("run", "-m", "scripted/model", "Find it."))
        await wait_for_file(gate)
        (session, child) = await harness.client.sessions.list_recent()
        await harness.ended(session.id)
        shown = await person.run("sessions", "show", session.id)
        gate.touch()
        ran = await following

    assert "1 background task at work: the session goes on when it ends. Ctrl-C leaves, and nothing is lost." in ran.err
    assert f"  look for one (@explore subagent): step 1  {child.id}" in shown.out and "in background (1)" in shown.out
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert f"  @explore works on it in the background ({child.id})" in lines
    begin = lines.index("It comes later.")
    woken = lines.index(f"> Background task ended: look for one (@explore, {child.id})")
    assert "explore │ It is in a.txt, line 1." in lines[begin:woken] and "All is done." in lines[woken:]


async def test_a_typed_stop_ends_what_works_in_the_background_of_an_idle_session(
    open_harness: OpenHarness, tmp_path: Path
) -> None:
    held = FOUND.model_copy(update={"faults": {1: Hold(path=str(tmp_path / "gate"))}})
    scripts = delegation_scripts(delegates("one", background=True), DONE, one=(held,))
    async with (
        open_harness(scripts=scripts) as harness,
        harness.running_worker(),
        shell(harness).terminal("run", "-m", "scripted/model", "Find it.") as terminal,
    ):
        await terminal.until("1 background task at work")
        await terminal.until("Type the next prompt")
        terminal.type("/stop\r")
        await terminal.until(r"No turn was running\. 1 background task stopped\.")
        (_, child) = await harness.client.sessions.list_recent()
        await harness.ended(child.id)
        terminal.type("/stop\r")
        await terminal.until(r"No turn was running\.")
        terminal.type(CTRL_D)
        code = await terminal.ended()

    assert code == 0
