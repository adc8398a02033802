"""Another agent for a turn: its prompt, sampling and tools, and the conversation as it was."""

from typing import Any

from tests.workflows.conftest import Open
from worker.scripted.script import Script, ScriptedAnswer
from workflows.domain.prompt import Prompt

REVIEWER = (
    "---\ndescription: Reviews: all of it\ntemperature: 0.2\npermission:\n  edit: deny\n---\nYou review {env:HOME}."
)
ANSWERS = Script(answers=tuple(ScriptedAnswer(text=text) for text in ("Written.", "Reviewed.", "Corrected.")))


async def test_a_turn_of_another_agent_has_its_prompt_and_tools_and_the_whole_history(open_harness: Open) -> None:
    asked: list[dict[str, Any]] = []
    async with open_harness(scripts=ANSWERS) as harness, harness.running_worker():
        harness.file(".opencode/agents/team/reviewer.md", REVIEWER)
        session = await harness.start_session("Write it.")
        for turn, agent in enumerate((None, "team/reviewer", "build"), start=1):
            if agent is not None:
                await harness.client.prompt(session, Prompt.of_text("Go on.", agent=agent))
            await harness.ended(session, turn)
            assert harness.model.last_request is not None
            asked.append(dict(harness.model.last_request.body))

    before, reviewing, after = asked
    systems = [str(body["messages"][0]["content"]) for body in asked]
    assert systems[1].startswith("You review {env:HOME}.\n\n") and systems[0] == systems[2] != systems[1]
    assert [body.get("temperature") for body in asked] == [None, 0.2, None]
    assert [any(tool["function"]["name"] == "write" for tool in body["tools"]) for body in asked] == [True, False, True]
    assert reviewing["messages"][1 : len(before["messages"])] == before["messages"][1:]
    assert after["messages"][1 : len(reviewing["messages"])] == reviewing["messages"][1:]
