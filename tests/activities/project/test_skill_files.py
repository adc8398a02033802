import os
from pathlib import Path

import pytest

from activities.project.config_loader import PRIMARY_ROLE, Role
from activities.project.skill_files import MAX_SKILL_FILES
from tests.activities.project.project_home import ProjectHome
from workflows.domain.description_limits import MAX_DESCRIPTION_CHARS
from workflows.domain.skills import Skill


def text(name: str = "a", description: str = "d") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\nBody"


async def skills(project_home: ProjectHome, directory: str = "", **environ: str) -> dict[str, Skill]:
    return {each.name: each for each in (await project_home.load(directory, PRIMARY_ROLE, **environ)).skills}


async def test_skills_are_read_from_every_place_and_variables_leave_places_out(project_home: ProjectHome) -> None:
    named, home, project = project_home.home / "oc", project_home.home, project_home.project
    folders = {
        "home-claude": home / ".claude/skills",
        "home-agents": home / ".agents/skills",
        "sub-claude": project / "sub/.claude/skills",
        "root-agents": project / ".agents/skills",
        "global": project_home.config / "skills",
        "near": project / "sub/.opencode/skill",
        "root": project / ".opencode/skills",
        "home": home / ".opencode/skill",
        "named": named / "skills",
        "configured": project / "team",
        "outside": home / "shared",
    }
    for name, folder in folders.items():
        project_home.write(f"deep/{name}/SKILL.md", text(name), under=folder)
    project_home.write("opencode.json", '{"skills": {"paths": ["~/shared"]}}', under=project_home.config)
    project_home.write("opencode.json", '{"skills": {"paths": ["team"]}}')

    found = await skills(project_home, "sub", OPENCODE_CONFIG_DIR=str(named))
    own = {"home-claude", "home-agents", "global", "home", "named", "outside"}

    assert found.keys() == folders.keys()
    assert {name for name, each in found.items() if each.trusted} == own
    for variable, missing in {
        "OPENCODE_DISABLE_PROJECT_CONFIG": folders.keys() - own | {"named"},
        "OPENCODE_DISABLE_CLAUDE_CODE": {"home-claude", "sub-claude", "named"},
        "OPENCODE_DISABLE_CLAUDE_CODE_SKILLS": {"home-claude", "sub-claude", "named"},
        "OPENCODE_DISABLE_EXTERNAL_SKILLS": {"home-claude", "sub-claude", "home-agents", "root-agents", "named"},
    }.items():
        assert folders.keys() - (await skills(project_home, "sub", **{variable: "1"})).keys() == missing


async def test_a_path_from_a_folder_of_the_project_is_not_judged_by_what_is_not_there(
    project_home: ProjectHome,
) -> None:
    project_home.write("skills/a/SKILL.md", text("a"))
    project_home.write("opencode.json", '{"skills": {"paths": ["../skills"]}}')

    turn_config = await project_home.load("sub")

    assert ([each.name for each in turn_config.skills], turn_config.held) == (["a"], ())


async def test_of_two_with_one_name_the_later_folder_wins_and_the_other_is_named(project_home: ProjectHome) -> None:
    first = project_home.write(".claude/skills/a/SKILL.md", text(description="claude"))
    last = project_home.write(".opencode/skills/a/SKILL.md", text(description="opencode"))
    shared = project_home.write(".claude/skills/b/SKILL.md", text("b"), under=project_home.home).parent.parent
    for other in (".claude", ".agents"):  # a copy for each tool
        project_home.write(f"{other}/skills/c/SKILL.md", text("c"))
    (project_home.home / ".agents").mkdir()
    (project_home.home / ".agents" / "skills").symlink_to(shared)  # the same file is no second one

    turn_config = await project_home.load()

    assert turn_config.skills[0] == Skill(name="a", description="opencode", file=str(last))
    assert turn_config.warnings == (f"{first}: this skill is not used: {last} has the name 'a', too, and wins.",)


@pytest.mark.parametrize(
    ("content", "where", "problem"),
    [
        ("Only text", ":", "it has no field 'name'"),
        ("---\ndescription: d\n---\n", ":", "it has no field 'name'"),
        ("---\ndescription: d\nname: '*'\n---\n", ":", "the field 'name' is wrong: a skill's name has"),
        ("---\nname: [a]\n---\n", ":", "the field 'name' is wrong"),
        ("---\nname: a\ndescription: {b: c}\n---\n", ":", "the field 'description' is wrong"),
        ('---\nname: a\ndescription: "\\uD800"\n---\n', ":3:", "half of a character"),
        ("---\nname: [a\n---\n", ":3:", "this is not YAML"),
    ],
)
async def test_a_file_that_is_no_skill_is_left_out_and_named(
    project_home: ProjectHome, content: str, where: str, problem: str
) -> None:
    file = project_home.write(".opencode/skills/bad/SKILL.md", content)
    project_home.write(".opencode/skills/good/SKILL.md", text("good"))
    project_home.write(".opencode/skills/good/MY-SKILL.md", content)

    turn_config = await project_home.load()

    assert [each.name for each in turn_config.skills] == ["good"]
    (warning,) = turn_config.warnings
    assert warning.startswith(f"{file}{where}") and problem in warning


async def test_hostile_folders_hold_nothing_up_and_lead_nowhere(project_home: ProjectHome) -> None:
    outside = project_home.write("secret/SKILL.md", text("secret"), under=project_home.home).parent
    folder = project_home.write(".claude/skills/a/SKILL.md", text()).parent.parent
    (folder / "loop").symlink_to(folder)
    (folder / "out").symlink_to(outside)
    for name in ("pipe", "device", "nul"):
        (folder / name).mkdir()
    os.mkfifo(folder / "pipe" / "SKILL.md")
    (folder / "device" / "SKILL.md").symlink_to("/dev/zero")
    (folder / "gone").symlink_to("/nowhere/skills")
    (folder / "nul" / "SKILL.md").write_bytes(text("nul").encode() + b"\0")
    project_home.write("opencode.json", f'{{"skills": {{"paths": ["{outside}", "../../.."]}}}}')

    turn_config = await project_home.load()

    assert [each.name for each in turn_config.skills] == ["a"]
    assert [each.field for each in turn_config.held] == [f"skills.paths {outside}", "skills.paths ../../.."]
    problems = ("device", "out of the project"), ("nul", "NUL"), ("out", "out of the project"), ("pipe", "regular file")
    *warnings, gone = turn_config.warnings
    for warning, (name, problem) in zip(sorted(warnings), problems, strict=True):
        assert warning.startswith(f"{folder / name}/SKILL.md: ") and problem in warning
    assert gone == f"{folder}/gone: this folder of skills cannot be read, or links to nothing."


async def test_there_are_limits_for_a_projects_skills_and_they_leave_the_users_alone(project_home: ProjectHome) -> None:
    long = "x" * MAX_DESCRIPTION_CHARS
    for number in range(MAX_SKILL_FILES + 1):
        project_home.write(f".opencode/skills/{number:03}/SKILL.md", text(f"s{number:03}", long + "y" * (number == 0)))
    project_home.write(".opencode/skill/mine/SKILL.md", text("mine"), under=project_home.home)
    project_home.write("opencode.json", '{"skills": {"paths": ["missing"]}}')

    turn_config = await project_home.load()

    assert len(turn_config.skills) == MAX_SKILL_FILES + 1 and turn_config.skills[0].name == "mine"
    assert {len(each.description or "") for each in turn_config.skills[1:]} == {MAX_DESCRIPTION_CHARS}
    for problem in ("1,024 characters", f"{MAX_SKILL_FILES:03}/SKILL.md: only the first", "there is no such folder"):
        assert any(problem in each for each in turn_config.warnings)


async def test_the_users_folders_are_read_without_a_question_and_changed_with_one(project_home: ProjectHome) -> None:
    kept = project_home.write("kept/a/SKILL.md", text(), under=project_home.home).parent
    project_home.write("kept/SKILL.md", text("wide"), under=project_home.home)
    (project_home.home / ".claude" / "skills").mkdir(parents=True)
    (project_home.home / ".claude" / "skills" / "a").symlink_to(kept)
    settings = '{"skills": {"paths": ["~"]}, "permission": {"skill": {"wide": "deny"}}}'
    project_home.write("opencode.json", settings, under=project_home.config)
    project_home.write("SKILL.md", text("everything"), under=project_home.home)

    rules = (await project_home.load()).rules
    scout = (await project_home.load(role=Role("explore", ancestors=1))).rules

    def outside(path: Path) -> str:
        return rules.action("external_directory", f"{path}/*")

    assert [outside(kept), outside(kept / "scripts"), outside(project_home.home)] == ["allow", "allow", "ask"]
    edited = os.path.relpath(kept / "x", project_home.project)
    assert [each.action("edit", edited) for each in (rules, scout)] == ["ask", "deny"]
    assert rules.action("skill", "wide") == "deny"
