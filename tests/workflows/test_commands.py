"""Slash commands: prompts that a template makes, in turns of their own."""

from typing import Any, Final

import pytest

from tests.harness import Harness
from tests.workflows.conftest import Open
from tests.workflows.delegation import DONE, FOUND, children, delegation_scripts, tasks
from worker.scripted.script import ScriptedAnswer
from workflows.domain.errors import UsageError
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.prompt import Prompt
from workflows.domain.sent_request import RequestChoice

UNASKED: Final = ScriptedAnswer(text="No model answers for a prompt's own calls.")


async def start(harness: Harness, name: str, arguments: str = "", **fields: Any) -> SessionId:
    given = Prompt(parts=(), **{"model": "scripted/model", **fields})
    prompt = await harness.client.commands.of_directory(str(harness.project), name, arguments, given)
    return (await harness.client.start(str(harness.project), prompt)).session


def texts(harness: Harness) -> list[tuple[str, str]]:
    request = harness.model.last_request
    assert request is not None
    return [(each["role"], str(each.get("content"))) for each in request.body["messages"]]


async def test_a_command_is_a_prompt_with_its_files_and_recorded_by_its_name(open_harness: Open) -> None:
    async with open_harness(UNASKED, DONE, UNASKED, DONE) as harness, harness.running_worker():
        harness.file("a.txt", "of a\n")
        harness.file(".opencode/commands/look.md", "---\nagent: plan\n---\nLook at @$1, not at: $2")
        session = await start(harness, "look", "a.txt @b.txt")
        await harness.ended(session)
        first = texts(harness)
        again = await harness.client.commands.of_session(session, "look", "a.txt")
        with pytest.raises(UsageError, match='Command not found: "nope". Available commands: init, look, review'):
            await harness.client.commands.of_session(session, "nope")
        harness.file(".opencode/commands/inline.md", "---\nagent: explore\nsubtask: false\n---\nLook")
        with pytest.raises(UsageError, match="'explore' is a subagent"):
            await harness.client.commands.of_session(session, "inline")
        await harness.client.prompt(session, again)
        await harness.ended(session, 2)
        accepted = [each for each in await harness.events(session) if isinstance(each, PromptAccepted)]
        opened: Any = [each for each in await harness.events(session) if each.type == "turn.opened"]
        overview = await harness.client.sessions.get(session)
        verified = await harness.client.records.verify(session)

    assert first[1][1].endswith("Look at @a.txt, not at: @b.txt") and "1: of a" in first[3][1] and len(first) == 4
    assert [(each.command, each.mode, each.agent) for each in accepted] == [("look", "queue", "plan")] * 2
    assert accepted[0].template == accepted[1].template is not None and verified.problem is None
    assert [each.agent for each in opened] == ["plan", "plan"] and overview.title == "/look a.txt @b.txt"


async def test_a_command_as_a_subtask_is_done_by_any_agent_and_the_model_goes_on(open_harness: Open) -> None:
    scripts = delegation_scripts(UNASKED, DONE, one=(FOUND,))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.file("a.txt", "of a")
        harness.configure(command={"find": {"template": "[[script:one]] $1", "subtask": True, "description": "find"}})
        session = await start(harness, "find", "'it all @a.txt'", agent="build")
        await harness.ended(session)
        (child,) = await children(harness, session, 1)
        (call,), found = await tasks(harness, session), texts(harness)
        opened: Any = [each for each in await harness.events(child) if each.type == "turn.opened"]
        (told,) = [each for each in await harness.events(child) if isinstance(each, PromptAccepted)]
        reads = [each.tool for each in await harness.calls(child)]

    assert (told.command, reads) == ("find", [])
    assert (call.state, call.arguments["subagent_type"], call.arguments["prompt"]) == (
        CallState.DONE,
        "build",
        "[[script:one]] it all @a.txt",
    )
    assert [each.agent for each in opened] == ["build"] and "It is in a.txt" in found[3][1] and len(found) == 5


async def test_the_commands_of_a_template_run_as_bash_does_and_their_outputs_stand_in_its_text(
    open_harness: Open,
) -> None:
    async with open_harness(DONE, DONE) as harness, harness.running_worker():
        rules = {"bash": {"*": "allow", "rm *": "deny", "touch *": "ask"}}
        harness.configure(permission=rules, agent={"build": {"steps": 1}})
        looks = "Look:\n!`echo 'a <system-reminder>'; echo b; exit 3`\nNo: !`rm x`\n"
        template = f"{looks}Asked: !`touch $1 && echo $1`\nNone: !`true`."
        harness.configure_person(model={}, command={"look": {"template": template}})
        session = await start(harness, "look", "'y z !`id`'")
        (ask,) = await harness.wait_for_asks(session)
        await harness.client.answer(ask, AskDecision(reply=Reply.ONCE))
        await harness.ended(session)
        first = texts(harness)
        await harness.client.prompt(session, "And now?")
        await harness.ended(session, 2)
        second, calls = texts(harness), await harness.calls(session)
        sent = await harness.client.records.sent(session, RequestChoice(turn=1, step=2))
        verified = await harness.client.records.verify(session)

    prompt = first[1][1]
    assert [role for role, _ in first] == ["system", "user"] and second[: len(first)] == first
    assert [call.state for call in calls] == [CallState.DONE, CallState.REFUSED, CallState.DONE, CallState.DONE]
    assert [call.arguments["command"] for call in calls][2] == "touch 'y z !`id`' && echo 'y z !`id`'"
    assert "Look:\na &lt;system-reminder>\nb\n" in prompt and "exit code 3" in prompt
    assert "No: [The command `rm x`, whose output was to stand here, has not run to its end: The user has" in prompt
    assert "Asked: y z !`id`\n" in prompt and prompt.endswith("None: .")
    assert verified.problem is None and sent is not None


async def test_a_subtask_has_the_outputs_in_its_prompt(open_harness: Open) -> None:
    scripts = delegation_scripts(DONE, DONE, one=(FOUND,))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.configure_person(
            model={}, command={"find": {"template": "[[script:one]] !`echo $1`", "agent": "explore"}}
        )
        session = await start(harness, "find", "it")
        ended: Any = await harness.ended(session)
        (call,) = await tasks(harness, session)

    assert ended.reason == "done" and call.arguments["prompt"] == "[[script:one]] it"


async def test_a_command_that_is_stopped_says_so_in_its_place(open_harness: Open) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        harness.configure_person(model={}, command={"look": {"template": "Look: !`echo begun; sleep 600`"}})
        session = await start(harness, "look")
        await harness.until(session, lambda event: event.type == "call.claimed")
        await harness.client.stop(session)
        await harness.ended(session)
        await harness.client.prompt(session, "Go on.")
        await harness.ended(session, 2)
        prompt = texts(harness)[1][1]

    why = "whose output was to stand here, has not run to its end: "
    assert f"Look: [The command `echo begun; sleep 600`, {why}" in prompt


@pytest.mark.parametrize("file", ["commands/look.md", "skills/look/SKILL.md"])
async def test_a_text_of_the_project_runs_nothing_before_a_person_has_accepted_it(
    open_harness: Open, file: str
) -> None:
    async with open_harness(DONE) as harness:
        harness.file(f".opencode/{file}", "---\nname: look\n---\nLook: !`touch ran`")

        with pytest.raises(UsageError, match="/look of .*look.* runs 'touch ran'"):
            await start(harness, "look")
