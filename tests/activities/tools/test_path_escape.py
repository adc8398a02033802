"""Nothing outside the project, protected or secret is read or written without permission, under any name."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.calls.output import outcome_of
from activities.files.workspace import Workspace
from activities.tools.registry import TOOLS
from activities.tools.tool import Output
from activities.turn_context import TurnContext
from tests import cases
from tests.activities.tools.tool_calls import make_context, project
from workflows.domain.agents.built_in import BUILD
from workflows.domain.errors import ToolError
from workflows.domain.permissions import defaults
from workflows.domain.permissions.findings import evaluate_request
from workflows.domain.permissions.rules import Action, Rule, Ruleset
from workflows.domain.permissions.rulesets import Rulesets

SECRET = "CANARY"


@pytest.fixture
def world() -> Iterator[Workspace]:
    """The project and its surroundings, in a short path: a socket's name has few characters."""
    with tempfile.TemporaryDirectory(prefix="hf-") as name:
        scratch = Path(name).resolve()
        workspace = project(scratch)
        for folder in ("outside/deep", "proj/sub", "proj-secret"):
            (scratch / "ws" / folder).mkdir(parents=True)
        for file in ("outside/secret.txt", "proj-secret/key.txt", "proj/.env"):
            (scratch / "ws" / file).write_text(f"{SECRET}\n")
        (scratch / "ws/proj/README.md").write_text("one\ntwo\n")
        yield workspace


@pytest.mark.parametrize("case", cases.load("path_escape"))
async def test_a_path_leads_nowhere_without_a_yes(case: cases.Case, world: Workspace) -> None:
    prepare(case.fields["setup"], world)
    outcome = await tried(case, world)
    expected = set(case.expected.split("|"))
    assert outcome in expected | ({"ask", "deny", "nothing"} if expected & {"ask", "deny"} else {"nothing"})
    assert (world.directory.parent / "outside/secret.txt").read_text() == f"{SECRET}\n"
    assert not (world.directory.parent / "outside/created.txt").exists()


def prepare(setup: str, world: Workspace) -> None:
    """Run the lines that prepare the world; the test itself plays a sentence instead of lines."""
    if setup.startswith(("ln ", "mkdir ", "mkfifo ", "python3 ")):
        subprocess.run(["bash", "-c", here(setup, world)], check=True)


async def tried(case: cases.Case, world: Workspace) -> str:
    """The attempt's result: `allow`, `ask`, `deny`, or `nothing` where a search reveals nothing secret."""
    path = here(case.fields["path"], world)
    rules = ruled(case, world)
    match case.tool:
        case "race-write":
            return await swapped(path, world)
        case "race-approve":
            return await changed(path, world)
        case "spool":
            return await spooled(world)
        case "root":
            everywhere = replace(world, worktree=Path(path))
            return await judged(
                "read", {"filePath": str(world.directory.parent / "outside/secret.txt")}, everywhere, rules
            )
        case tool:
            return await judged(*called(str(tool), path), world, rules)


def called(tool: str, path: str) -> tuple[str, dict[str, Any]]:
    """Tool and arguments of a case."""
    match tool:
        case "list" | "read":
            return "read", {"filePath": path}
        case "write":
            return "write", {"filePath": path, "content": "written\n"}
        case "edit":
            return "edit", {"filePath": path, "oldString": SECRET, "newString": "edited"}
        case "apply_patch":
            return "apply_patch", {"patchText": path}
        case "glob":
            return "glob", {"pattern": path}
        case "bash-workdir":
            return "bash", {"command": "ls", "workdir": path}
    return tool, json.loads(path)


async def judged(name: str, arguments: dict[str, Any], workspace: Workspace, rules: Ruleset) -> str:
    tool = TOOLS[name]
    try:
        params = tool.parse(arguments)
        plan = await tool.plan(params, TurnContext(workspace))
        actions = {evaluate_request(request, rules).action for request in plan.requests}
        if actions - {Action.ALLOW}:
            return max(actions, key=lambda action: action.strictness).value
        output = await tool.run(params, plan, make_context(workspace, turn=TurnContext(workspace, Rulesets.of(rules))))
    except ToolError:
        return "deny"
    assert isinstance(output, Output)
    told = SECRET in output.output or "outside" in output.output
    return "allow" if told or name not in ("glob", "grep") else "nothing"


async def swapped(path: str, workspace: Workspace) -> str:
    """The folder becomes a link between plan and write, and again between write and rename."""
    folder, outside = workspace.directory / "sub", workspace.directory.parent / "outside"
    tool = TOOLS["write"]
    params = tool.parse({"filePath": path, "content": "x"})

    async def swap() -> None:
        folder.rename(workspace.directory / "sub_")
        folder.symlink_to(outside)

    for before in (True, False):
        plan = await tool.plan(params, TurnContext(workspace))
        context = make_context(workspace) if before else make_context(workspace, fence=swap)
        if before:
            await swap()
        with pytest.raises(ToolError):
            await tool.run(params, plan, context)
        folder.unlink()
        (workspace.directory / "sub_").rename(folder)
    assert not (outside / "f.txt").exists()
    return "deny"


async def changed(path: str, workspace: Workspace) -> str:
    """The file changes after the person saw the diff: nothing is written, and the record differs."""
    tool = TOOLS["edit"]
    params = tool.parse({"filePath": path, "oldString": "two", "newString": "2"})
    seen = await tool.plan(params, TurnContext(workspace))
    (workspace.directory / path).write_text("zero\ntwo\n")
    with pytest.raises(ToolError, match="changed in the meantime"):
        await tool.run(params, seen, make_context(workspace))
    assert (await tool.plan(params, TurnContext(workspace))).effect.digest != seen.effect.digest
    return "ask"


async def spooled(workspace: Workspace) -> str:
    """A link stands where the complete output will be saved."""
    workspace.tool_output.mkdir(parents=True)
    (workspace.tool_output / "tool_prt_1").symlink_to(workspace.directory.parent / "outside/secret.txt")
    await outcome_of(Output(title="", output="long\n" * 3000), make_context(workspace))
    return "deny"


def ruled(case: cases.Case, workspace: Workspace) -> Ruleset:
    """The cases' defaults; edits are allowed where the path itself must raise the ask."""
    edits = Action.ALLOW if case.kind in ("protected", "encoding") else Action.ASK
    own = [Rule(permission="edit", pattern="*", action=edits)]
    if case.kind == "secret":
        own += [Rule(permission="read", pattern=pattern, action=Action.DENY) for pattern in ("*.env", "*.env.*")]
    return defaults.agent_rules(BUILD.rules, own, data=workspace.data, temporary=workspace.temporary)


def here(text: str, workspace: Workspace) -> str:
    return text.replace("/ws/", f"{workspace.directory.parent}/")
