"""Nothing outside the project, protected or secret is read or written without a yes, whatever it is called."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.files.place import Place
from activities.tools.arguments import validated
from activities.tools.output import shortened
from activities.tools.table import TOOLS
from activities.tools.tool import Output
from tests import cases
from tests.activities.tools.calling import project, surroundings
from workflows.domain.errors import ToolError
from workflows.domain.permissions import defaults
from workflows.domain.permissions.findings import finding
from workflows.domain.permissions.rules import Action, Rule, Ruleset

SECRET = "CANARY"


@pytest.fixture
def world() -> Iterator[Place]:
    """The project and its neighbours; in a short path, since the name of a socket has few characters."""
    with tempfile.TemporaryDirectory(prefix="hf-") as name:
        scratch = Path(name).resolve()
        place = project(scratch)
        for folder in ("outside/deep", "proj/sub", "proj-secret"):
            (scratch / "ws" / folder).mkdir(parents=True)
        for file in ("outside/secret.txt", "proj-secret/key.txt", "proj/.env"):
            (scratch / "ws" / file).write_text(f"{SECRET}\n")
        (scratch / "ws/proj/README.md").write_text("one\ntwo\n")
        yield place


@pytest.mark.parametrize("case", cases.load("path_escape"))
async def test_a_path_leads_nowhere_without_a_yes(case: cases.Case, world: Place) -> None:
    prepare(case.fields["setup"], world)
    outcome = await tried(case, world)
    expected = set(case.expected.split("|"))
    assert outcome in expected | ({"ask", "deny", "nothing"} if expected & {"ask", "deny"} else {"nothing"})
    assert (world.directory.parent / "outside/secret.txt").read_text() == f"{SECRET}\n"
    assert not (world.directory.parent / "outside/created.txt").exists()


def prepare(setup: str, world: Place) -> None:
    """Run the lines that prepare the world; a sentence instead of lines is played by the test itself."""
    if setup.startswith(("ln ", "mkdir ", "mkfifo ", "python3 ")):
        subprocess.run(["bash", "-c", here(setup, world)], check=True)


async def tried(case: cases.Case, world: Place) -> str:
    """What comes of the attempt: `allow`, `ask`, `deny`, or `nothing` where a search tells nothing secret."""
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
        case "glob":
            return "glob", {"pattern": path}
        case "bash-workdir":
            return "bash", {"command": "ls", "workdir": path}
    return tool, json.loads(path)


async def judged(name: str, arguments: dict[str, Any], place: Place, rules: Ruleset) -> str:
    tool = TOOLS[name]
    try:
        params = validated(tool, arguments)
        plan = await tool.plan(params, place)
        actions = {finding(request, rules).action for request in plan.requests}
        if actions - {Action.ALLOW}:
            return max(actions, key=lambda action: action.strictness).value
        output = await tool.run(params, plan, surroundings(replace(place, rules=rules)))
    except ToolError:
        return "deny"
    assert isinstance(output, Output)
    told = SECRET in output.output or "outside" in output.output
    return "allow" if told or name not in ("glob", "grep") else "nothing"


async def swapped(path: str, place: Place) -> str:
    """The folder becomes a link between the look and the write, and again between the write and the rename."""
    folder, outside = place.directory / "sub", place.directory.parent / "outside"
    tool = TOOLS["write"]
    params = validated(tool, {"filePath": path, "content": "x"})

    async def swap() -> None:
        folder.rename(place.directory / "sub_")
        folder.symlink_to(outside)

    for before in (True, False):
        plan = await tool.plan(params, place)
        around = surroundings(place) if before else surroundings(place, fence=swap)
        if before:
            await swap()
        with pytest.raises(ToolError):
            await tool.run(params, plan, around)
        folder.unlink()
        (place.directory / "sub_").rename(folder)
    assert not (outside / "f.txt").exists()
    return "deny"


async def changed(path: str, place: Place) -> str:
    """The file changes after a person has seen the difference: nothing is written, and the record is another one."""
    tool = TOOLS["edit"]
    params = validated(tool, {"filePath": path, "oldString": "two", "newString": "2"})
    seen = await tool.plan(params, place)
    (place.directory / path).write_text("zero\ntwo\n")
    with pytest.raises(ToolError, match="changed meanwhile"):
        await tool.run(params, seen, surroundings(place))
    assert (await tool.plan(params, place)).effect.digest != seen.effect.digest
    return "ask"


async def spooled(place: Place) -> str:
    """Somebody has put a link where the complete output is going to be saved."""
    place.tool_output.mkdir(parents=True)
    (place.tool_output / "tool_prt_1").symlink_to(place.directory.parent / "outside/secret.txt")
    await shortened(Output(title="", output="long\n" * 3000), surroundings(place))
    return "deny"


def ruled(case: cases.Case, place: Place) -> Ruleset:
    """The defaults of the cases; edits are allowed where asking has to come from the path itself."""
    edits = Action.ALLOW if case.kind in ("protected", "encoding") else Action.ASK
    own = [Rule(permission="edit", pattern="*", action=edits)]
    if case.kind == "secret":
        own += [Rule(permission="read", pattern=pattern, action=Action.DENY) for pattern in ("*.env", "*.env.*")]
    return defaults.agent("build", own, data=place.data, temporary=place.temporary)


def here(text: str, place: Place) -> str:
    return text.replace("/ws/", f"{place.directory.parent}/")
