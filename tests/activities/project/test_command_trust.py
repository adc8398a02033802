"""The commands in a project's templates are shown to a person, who may accept them."""

import json

from activities.project.config_loader import read_checked
from activities.project.worktree import find_workspace
from tests.activities.project.project_home import ProjectHome
from workflows.domain.config.trust_items import TrustLeaf


async def leaves(project_home: ProjectHome) -> list[TrustLeaf]:
    checked = await read_checked(project_home.workspace(), project_home.sources(), project_home.managed)
    return [*checked.content.leaves()]


async def test_what_templates_of_the_project_run_is_accepted_with_it_and_their_words_are_not(
    project_home: ProjectHome,
) -> None:
    project_home.write("look.md", "Look: !`git log $1` and !`ls`")
    table = {"json": {"template": "{file:./look.md}"}, "words": {"template": "No programs."}}
    project_home.write("opencode.json", json.dumps({"command": table}))
    project_home.write(".opencode/command/deep/notes.md", "---\ndescription: d\n---\nNotes !`cat VERSION`")
    project_home.write(".opencode/command/broken.md", "---\na: [\n---\n!`rm x`")
    project_home.write("commands/mine.md", "!`ls`", under=project_home.config)

    found = await leaves(project_home)
    before = (await project_home.load()).held_content
    project_home.write("look.md", "Other words: !`git log $1` and !`ls`")
    same = (await project_home.load()).held_content
    project_home.write("look.md", "Look: !`git log $1` and !`rm x`")
    other = (await project_home.load()).held_content

    assert [(each.field, each.value) for each in found] == [
        ("command.json.template", ["git log $1", "ls"]),
        ("command.deep/notes.template", ["cat VERSION"]),
    ]
    assert found[0].effect == 'runs ["git log $1", "ls"] where a person types /json'
    assert before == same != other


async def test_a_bolder_agent_of_a_command_is_accepted_also_one_that_follows_from_what_is_held(
    project_home: ProjectHome,
) -> None:
    project_home.write(
        "opencode.json",
        '{"permission": {"bash": "ask"}, "agent": {"bold": {"permission": {"bash": "allow"}}}}',
        under=project_home.config,
    )
    agents = {"quick": {"permission": {"bash": "allow"}}, "calm": {"permission": {"bash": "deny"}}}
    table = {name: {"template": "t", "agent": name} for name in ("bold", "quick", "calm", "build", "none")}
    project_home.write("opencode.json", json.dumps({"agent": agents, "command": table}))

    found = await leaves(project_home)

    effects = [each.effect for each in found if each.path[0] == "command"]
    assert effects == [
        f"has agent {name} do what /{name} says, which may do more than yours" for name in ("bold", "quick")
    ]
    held = [each.field for each in (await project_home.load()).untrusted_fields]
    assert held == ["agent.quick.permission.bash.*", "command.bold.agent"]


async def test_a_folder_of_commands_that_cannot_be_read_stops_no_turn(project_home: ProjectHome) -> None:
    for number in range(501):
        project_home.write(f".opencode/command/c{number}.md", "!`ls`")

    assert await leaves(project_home) == [] and (await project_home.load()).held_content is None


async def test_the_users_own_commands_are_theirs_though_home_is_the_project(project_home: ProjectHome) -> None:
    project_home.write(".git/HEAD", "ref: refs/heads/main", under=project_home.home)
    project_home.write(".opencode/commands/mine.md", "!`ls`", under=project_home.home)
    project_home.write("code/.opencode/commands/other.md", "!`pwd`", under=project_home.home)
    workspace = find_workspace(
        project_home.home / "code", data=project_home.home / "d", home=project_home.home, temporary=project_home.home
    )

    checked = await read_checked(workspace, project_home.sources(), project_home.managed)

    assert [leaf.field for leaf in checked.content.leaves()] == ["command.other.template"]
