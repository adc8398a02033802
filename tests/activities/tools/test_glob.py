"""glob lists the newest files first, and none that may not be read."""

import os

import pytest

from activities.files.workspace import Workspace
from activities.tools.glob import GlobParams, GlobTool
from activities.turn_context import TurnContext
from tests.activities.tools.tool_calls import call, make_context
from workflows.domain.errors import ToolError
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.permissions.rulesets import Rulesets

KEYS = Rule(permission="read", pattern="*.key", action=Action.DENY)


async def test_the_newest_come_first_and_equals_by_path(workspace: Workspace) -> None:
    for name, changed in (("old.py", 1), ("b.py", 2), ("a.py", 2), ("new.py", 3)):
        (workspace.directory / name).touch()
        os.utime(workspace.directory / name, (changed, changed))
    output = await call(GlobTool(), workspace, pattern="*.py")
    assert output.output.split("\n") == ["new.py", "a.py", "b.py", "old.py"]
    assert output.metadata == {"count": 4, "truncated": False}


async def test_more_than_a_hundred_are_cut(workspace: Workspace) -> None:
    for number in range(101):
        (workspace.directory / f"{number}.py").touch()
    output = await call(GlobTool(), workspace, pattern="*.py")
    assert output.output.endswith(
        "\n\n(Results are truncated: showing first 100 results. Consider using a more specific path or pattern.)"
    )
    assert (output.output.count(".py"), output.metadata) == (100, {"count": 100, "truncated": True})


async def test_what_a_rule_denies_to_read_is_left_out(workspace: Workspace) -> None:
    (workspace.directory / "secret.key").touch()
    params = GlobParams(pattern="*.key")
    plan = await GlobTool().plan(params, TurnContext(workspace))
    ruled = TurnContext(workspace, Rulesets.of((KEYS,)))
    output = await GlobTool().run(params, plan, make_context(workspace, turn=ruled))
    assert output.output == "No files found"


async def test_a_pattern_with_control_characters_is_an_error(workspace: Workspace) -> None:
    for pattern in ("a\0b", "\ud800"):
        with pytest.raises(ToolError, match="pattern holds a character"):
            await call(GlobTool(), workspace, pattern=pattern)


async def test_a_directory_outside_is_asked_for(workspace: Workspace) -> None:
    plan = await GlobTool().plan(GlobParams(pattern="*", path=".."), TurnContext(workspace))
    assert [request.permission for request in plan.requests] == ["external_directory", "glob"]
    assert plan.requests[1].metadata == {"pattern": "*", "path": ".."}


@pytest.mark.parametrize("pattern", ["*", "**", "**/*"])
async def test_a_pattern_that_fits_all_finds_hidden_files_but_none_of_a_repository_or_ignored(
    workspace: Workspace, pattern: str
) -> None:
    for name in (".git/objects/a.py", ".hg/b.py", "sub/.git", "node_modules/c.py", ".hidden/d.py", "e.py"):
        (workspace.directory / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace.directory / name).touch()
    (workspace.directory / ".gitignore").write_text("node_modules\n")
    output = await call(GlobTool(), workspace, pattern=pattern)
    assert set(output.output.split("\n")) == {".gitignore", ".hidden/d.py", "e.py"}


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*", "build", "build/a.log"),
        ("*.log", "build", "build/a.log"),
        ("*.log", None, "b.log\nbuild/a.log"),
        (".git*", None, ".gitignore"),
        ("*", ".git", ".git/config"),
    ],
)
async def test_ignored_files_and_repositories_are_found_by_their_names(
    workspace: Workspace, pattern: str, path: str | None, found: str
) -> None:
    for name in ("build/a.log", "b.log", ".git/config"):
        (workspace.directory / name).parent.mkdir(exist_ok=True)
        (workspace.directory / name).touch()
    (workspace.directory / ".gitignore").write_text("build/*\n*.log\n")
    assert (await call(GlobTool(), workspace, pattern=pattern, path=path)).output == found


async def test_an_empty_path_is_none(workspace: Workspace) -> None:
    (workspace.directory / "a.py").touch()
    assert (await call(GlobTool(), workspace, pattern="*.py", path="")).output == "a.py"


async def test_nothing_found_names_a_link_in_the_pattern(workspace: Workspace) -> None:
    (workspace.directory.parent / "elsewhere").mkdir()
    (workspace.directory / "dl").symlink_to("../elsewhere")
    output = await call(GlobTool(), workspace, pattern="dl/*")
    assert output.output == "No files found. 'dl' is a link, and a search follows none: give it as `path`."
