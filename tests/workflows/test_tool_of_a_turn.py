"""A tool of one turn, with its own name, schema and process, unknown to other files."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from activities.model.step_request import offer_tools
from activities.tools.registry import TOOLS
from activities.tools.tool import Output, Plan, Tool, ToolContext, Toolset
from activities.turn_context import TurnContext
from tests.harness import wait_for_file
from tests.workflows.conftest import Open
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.call_display import CallDisplay
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Recovery
from workflows.domain.errors import ToolError
from workflows.domain.messages import CallState
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.tool_offer import ToolOffer

NAME: Final = "tracker_create_issue"
SCHEMA: Final[dict[str, JsonValue]] = {
    "type": "object",
    "properties": {"subject": {"type": "string"}},
    "required": ["subject"],
}
PROGRAM: Final = """
import pathlib, sys, time
while not pathlib.Path("published").exists():
    time.sleep(0.02)
with open("issues", "a") as file:
    file.write(sys.argv[1])
"""
CREATE: Final = ScriptedAnswer(tools=(ScriptedCall(name=NAME, arguments={"subject": "It leaks."}),))
WRONG: Final = ScriptedAnswer(tools=(ScriptedCall(name=NAME, arguments={"subject": 7}),))
DONE: Final = ScriptedAnswer(text="Done.")


class CreateIssue(Tool[str]):
    """A program writes the issue down, then the tool fails: the second attempt finds the issue."""

    name = NAME
    recovery = Recovery.REATTACHABLE
    display = CallDisplay(verb="create an issue", subject="subject")

    def __init__(self) -> None:
        self.called: list[str] = []

    def offer(self, turn_config: TurnConfig) -> ToolOffer | None:
        return ToolOffer(name=self.name, description="Creates an issue.", parameters=SCHEMA)

    def parse(self, arguments: Mapping[str, JsonValue]) -> str:
        subject = arguments.get("subject")
        if not isinstance(subject, str):
            raise ToolError("subject has to be a string")
        return subject

    async def plan(self, params: str, turn: TurnContext) -> Plan:
        request = PermissionRequest(permission=self.name, patterns=(params,))
        effect = Effect(tool=self.name, arguments={"subject": params}, directory=str(turn.workspace.directory))
        return Plan(requests=(request,), effect=effect)

    async def run(self, params: str, plan: Plan, context: ToolContext) -> Output:
        self.called.append("run")
        await context.fence()
        arguments = [sys.executable, "-c", PROGRAM, params]
        await asyncio.create_subprocess_exec(*arguments, cwd=plan.effect.directory, start_new_session=True)
        raise KeyError("the connection to the program broke")

    async def recover(self, params: str, claimed: Plan, context: ToolContext) -> Output:
        self.called.append("recover")
        directory = Path(claimed.effect.directory)
        directory.joinpath("published").touch()
        await wait_for_file(directory / "issues", suffix="")
        return Output(title=f"Issue: {params}", output="Issue 1 was created.")


class TrackerTools:
    """Offers the tool where the project's rules mention it."""

    def __init__(self, tool: CreateIssue) -> None:
        self.tool = tool
        self.offered: set[bool] = set()

    def of(self, turn: TurnConfig) -> Toolset:
        known = any(rule.permission == NAME for rule in turn.rules.flat)
        tools: Toolset = {**TOOLS, NAME: self.tool} if known else TOOLS
        self.offered.add(known)
        assert (NAME in {offer.name for offer in offer_tools(tools, turn, "own/m")}) == known
        return tools


async def test_a_tool_of_one_turn_is_offered_asked_about_run_recovered_and_shown(open_harness: Open) -> None:
    tool = CreateIssue()
    toolsets = TrackerTools(tool)
    answers = (WRONG, CREATE, DONE, CREATE, DONE)
    async with open_harness(*answers) as harness, harness.running_worker(toolsets=toolsets):
        harness.configure(permission={NAME: "ask"})
        session = await harness.start_session("Create an issue.")
        (ask,) = await harness.wait_for_asks(session)
        (entry,) = await harness.client.inbox.asks(session=session)
        await harness.answer(ask)
        await harness.ended(session)
        harness.configure()
        await harness.client.prompt(session, "Another one.")
        await harness.ended(session, 2)
        wrong, created, unavailable = await harness.calls(session)
    assert isinstance(entry.request, PermissionAsk)
    assert [(each.permission, each.patterns) for each in entry.request.requests] == [(NAME, ("It leaks.",))]
    assert (entry.display.verb, entry.arguments[str(entry.display.subject)]) == ("create an issue", "It leaks.")
    assert wrong.outcome is not None and wrong.outcome.output == "subject has to be a string"
    assert created.outcome is not None and created.state is CallState.DONE
    assert (created.outcome.title, created.outcome.output) == ("Issue: It leaks.", "Issue 1 was created.")
    assert tool.called == ["run", "recover"] and harness.project.joinpath("issues").read_text() == "It leaks."
    assert unavailable.tool == "invalid" and toolsets.offered == {True, False}
