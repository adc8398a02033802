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
from workflows.domain.prompt import Prompt

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
        harness.configure(command={"find": {"template": "[[script:one]] $1", "subtask": True, "description": "find"}})
        session = await start(harness, "find", "'it all'", agent="build")
        await harness.ended(session)
        (child,) = await children(harness, session, 1)
        (call,), found = await tasks(harness, session), texts(harness)
        opened: Any = [each for each in await harness.events(child) if each.type == "turn.opened"]

    assert (call.state, call.arguments["subagent_type"], call.arguments["prompt"]) == (
        CallState.DONE,
        "build",
        "[[script:one]] it all",
    )
    assert [each.agent for each in opened] == ["build"] and "It is in a.txt" in found[3][1] and len(found) == 5
