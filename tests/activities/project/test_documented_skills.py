"""The skill of docs/skills.md is read, and its rules say what the page says."""

import re
from pathlib import Path

from activities.project.config_loader import Role
from tests.activities.project.project_home import ProjectHome
from workflows.domain.skills import Skill, skill_action

PAGE = (Path(__file__).parents[3] / "docs" / "skills.md").read_text("utf-8")
MARKDOWN, *_, JSON = re.findall(r"^```(?:markdown|json)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


async def test_the_example_is_read_and_ruled_as_it_says(project_home: ProjectHome) -> None:
    file = project_home.write(".opencode/skills/release/SKILL.md", MARKDOWN)
    project_home.write("opencode.json", JSON)

    turn_config = await project_home.load()
    general = await project_home.load(role=Role("general", ancestors=1))

    assert (turn_config.untrusted_fields, turn_config.warnings) == ((), ())
    (release,) = turn_config.skills
    assert release.file == str(file) and (release.description or "").startswith("Makes a release")
    named = [release, Skill(name="internal-x", file="/x"), Skill(name="other", file="/x")]
    assert [skill_action(each, turn_config.rules) for each in named] == ["ask", "deny", "allow"]
    assert {skill_action(each, general.rules) for each in named} == {"deny"}
