"""skill: the text of a skill, and the files beside it (opencode.md 9)."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from activities.files.real_paths import real_path
from activities.project.folder_scan import FolderScan
from activities.project.skill_files import FILE_NAME, read_skill
from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from prompts import render_prompt
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Recovery, Target
from workflows.domain.errors import ConfigError, ToolError
from workflows.domain.permissions import permission_keys
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.skills import Skill, usable_skills

MAX_FILES: Final = 10  # named beside a skill (opencode.md 9)
_SKIPPED: Final = frozenset({".git", "node_modules", "__pycache__"})


class SkillParams(Params):
    name: str


class SkillTool(BuiltInTool[SkillParams]):
    """Reads it when the call runs: its outcome holds what the model has read."""

    name = "skill"
    recovery = Recovery.REPEATABLE
    quick = True
    params = SkillParams
    display = CallDisplay(kind=DisplayKind.READ, verb="load skill", subject="name")

    def description_values(self, turn_config: TurnConfig) -> dict[str, str] | None:
        return {} if usable_skills(turn_config.skills, turn_config.rules) else None

    async def plan(self, params: SkillParams, turn: TurnContext) -> Plan:
        skill = _select_skill(params, turn)
        request = PermissionRequest(
            permission=permission_keys.SKILL,
            patterns=(skill.name,),
            always=(skill.name,),
            metadata={"file": skill.file},
        )
        return Plan(
            requests=(request,),
            effect=Effect(
                tool=self.name,
                arguments=params.model_dump(),
                directory=str(turn.workspace.directory),
                targets=(Target(path=str(real_path(Path(skill.file))), before=None),),
            ),
        )

    async def run(self, params: SkillParams, plan: Plan, context: ToolContext) -> Output:
        return await asyncio.to_thread(_load, _select_skill(params, context.turn), context.turn)


def _select_skill(params: SkillParams, turn: TurnContext) -> Skill:
    """Raises ToolError."""
    for skill in turn.skills:
        if skill.name == params.name:
            return skill
    usable = ", ".join(each.name for each in usable_skills(turn.skills, turn.rules)) or "none"
    raise ToolError(f'Skill "{params.name}" not found. Available skills: {usable}')


def _load(skill: Skill, turn: TurnContext) -> Output:
    file = Path(skill.file)
    try:
        name, _, body = read_skill(file, None if skill.trusted else turn.workspace.root)
    except ConfigError as error:
        raise ToolError(f'Skill "{skill.name}" cannot be loaded any more: {error}') from error
    if name != skill.name:
        raise ToolError(f'Skill "{skill.name}" cannot be loaded any more: {file} holds the skill "{name}" now.')
    others = islice((path for path in _other_files(file) if turn.may_read(path)), MAX_FILES)
    files = "\n".join(f"<file>{path}</file>" for path in others)
    output = render_prompt(
        "tools/skill_content",
        name=name,
        body=body,
        directory=str(file.parent),
        files=render_prompt("tools/skill_files", files=files) if files else "",
    )
    return Output(title=f"Loaded skill: {name}", output=output, metadata={"name": name, "dir": str(file.parent)})


def _other_files(file: Path) -> Iterator[Path]:
    """Nearest first; links could lead anywhere."""
    scan, visited, folders = FolderScan(), set[tuple[int, int]](), [file.parent]
    for folder in folders:
        printable = (entry for entry in scan.read(folder, visited) if entry.name.isprintable())  # others no row takes
        for entry in printable:
            if entry.is_dir(follow_symlinks=False):
                folders += [Path(entry.path)] if entry.name not in _SKIPPED else []
            elif entry.is_file(follow_symlinks=False) and entry.name != FILE_NAME:
                yield Path(entry.path)
