"""Discovery and loading of skills, case by case."""

import json
from typing import Any

import pytest

from activities.tools.skill import SkillTool
from activities.turn_context import TurnContext
from tests.activities.project.project_home import ProjectHome
from tests.activities.tools.tool_calls import make_context
from tests.cases import Case, assert_matches, load

EMPTY = json.dumps("Note: file list is sampled.\n\n<skill_files>\n\n</skill_files>")[1:-1]  # a list of no files


@pytest.mark.parametrize("case", load("skills"))
async def test_skills_are_as_in_opencode(case: Case, project_home: ProjectHome) -> None:
    for folder, files in ((project_home.project, "files"), (project_home.home, "home")):
        for name, text in case.input[files].items():
            project_home.write(name, text, under=folder)
    project_home.write("opencode.json", json.dumps(case.input["config"]))
    turn_config = await project_home.load()
    found = [(each.name, each.description, _shown(each.file, project_home)) for each in turn_config.skills]

    actual: dict[str, Any] = {"skills_besides_builtin": [list(each) for each in found]}
    if name := case.input["skill_tool_call"]:
        turn = TurnContext.from_config(project_home.workspace(), turn_config)
        actual["skill_tool"] = await _load(name, turn, project_home)

    expected = json.dumps(case.expected)
    if case.holdfast is not None:
        expected = expected.replace(EMPTY, "")
    assert_matches(actual, json.loads(expected))


async def _load(name: str, turn: TurnContext, project_home: ProjectHome) -> dict[str, Any]:
    tool = SkillTool()
    params = tool.parse({"name": name})
    output = await tool.run(params, await tool.plan(params, turn), make_context(turn.workspace, turn=turn))
    shown = _shown(output.output, project_home)
    head, _, rest = shown.partition("<skill_files>\n")
    files, _, tail = rest.partition("\n</skill_files>")
    return {
        "status": "completed",
        "title": output.title,
        "output": shown,
        "output_without_file_list": f"{head}<skill_files>…</skill_files>{tail}",
        "files": [each.removeprefix("<file>").removesuffix("</file>") for each in files.splitlines()],
    }


def _shown(text: str, project_home: ProjectHome) -> str:
    return text.replace(str(project_home.project), "<P>")
