"""skill loads what a file says when the call runs, and names files beside it."""

from dataclasses import replace
from pathlib import Path

import pytest

from activities.files.workspace import Workspace
from activities.tools.skill import MAX_FILES, SkillParams, SkillTool
from activities.turn_context import TurnContext
from tests.activities.tools.tool_calls import make_context
from workflows.domain.errors import ToolError
from workflows.domain.permissions.findings import evaluate_request
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.skills import Skill

KEYS = Rule(permission="read", pattern="*.key", action=Action.DENY)


def skill_file(workspace: Workspace, name: str = "a", body: str = "Do it") -> Path:
    file = workspace.directory / ".claude" / "skills" / "x" / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\n---\n{body}\n")
    return file


def turn_with(workspace: Workspace, *rules: Rule, trusted: bool = False) -> TurnContext:
    skill = Skill(name="a", file=str(skill_file(workspace)), trusted=trusted)
    return TurnContext(workspace, Rulesets.of(rules), skills=(skill, Skill(name="b", file="/b/SKILL.md")))


async def load(turn: TurnContext, name: str = "a") -> str:
    params = SkillParams(name=name)
    plan = await SkillTool().plan(params, turn)
    output = await SkillTool().run(params, plan, make_context(turn.workspace, turn=turn))
    assert output.metadata == {"name": name, "dir": str(turn.workspace.directory / ".claude/skills/x")}
    return output.output


async def test_the_text_is_that_of_the_moment_and_the_files_are_few_and_readable(workspace: Workspace) -> None:
    turn = turn_with(workspace, Rule(permission="*", pattern="*", action=Action.ALLOW), KEYS)
    folder = skill_file(workspace, body="Changed meanwhile").parent
    (folder / ".git").mkdir()
    (folder / "deep").mkdir()
    (folder / "loop").symlink_to(folder)
    (folder / "out").symlink_to("/etc/passwd")
    for name in ("b.key", ".git/c", "deep/d", "e\nf", *(f"{number:02}" for number in range(MAX_FILES - 1))):
        (folder / name).touch()

    output = await load(turn)
    (folder / "more").touch()

    assert "# Skill: a\n\nChanged meanwhile\n\nBase directory" in output
    files = [
        *(f"<file>{folder}/{number:02}</file>" for number in range(MAX_FILES - 1)),
        f"<file>{folder}/deep/d</file>",
    ]
    assert output.partition("<skill_files>\n")[2].partition("\n</skill_files>")[0].split("\n") == files
    assert "deep/d" not in await load(turn)


async def test_an_unknown_skill_is_answered_with_those_that_may_be_used(workspace: Workspace) -> None:
    denied = Rule(permission="skill", pattern="b", action=Action.DENY)

    for rules, known in ((), "a, b"), ((Rule(permission="*", pattern="*", action=Action.ALLOW), denied), "a"):
        with pytest.raises(ToolError, match=f'^Skill "c" not found. Available skills: {known}$'):
            await load(turn_with(workspace, *rules), "c")
    with pytest.raises(ToolError, match="Available skills: none$"):
        await load(TurnContext(workspace), "c")


async def test_a_rule_is_about_the_name_and_so_is_an_always(workspace: Workspace) -> None:
    turn = turn_with(workspace)
    (request,) = (await SkillTool().plan(SkillParams(name="a"), turn)).requests

    assert (request.permission, request.patterns, request.always) == ("skill", ("a",), ("a",))
    denied = evaluate_request(request, (Rule(permission="skill", pattern="a", action=Action.DENY),))
    assert denied.action is Action.DENY


async def test_a_file_that_is_another_one_now_is_not_loaded(workspace: Workspace, tmp_path: Path) -> None:
    turn = turn_with(workspace)
    file = skill_file(workspace, "other")
    with pytest.raises(ToolError, match='holds the skill "other" now'):
        await load(turn)
    file.unlink()
    with pytest.raises(ToolError, match="cannot be loaded any more: .*SKILL.md: it cannot be read"):
        await load(turn)
    (outside := tmp_path / "SKILL.md").write_text("---\nname: a\n---\nSecret")
    file.symlink_to(outside)
    with pytest.raises(ToolError, match="a link that leads out of the project"):
        await load(turn)
    own = replace(turn, skills=(turn.skills[0].model_copy(update={"trusted": True}),))
    assert "Secret" in await load(own)
