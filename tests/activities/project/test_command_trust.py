"""The commands in a project's templates are shown to a person, who may accept them."""

import json

from activities.project.config_loader import read_checked
from activities.project.worktree import find_workspace
from tests.activities.project.project_home import ProjectHome
from workflows.domain.config.trust_items import TrustContent


async def content(project_home: ProjectHome) -> TrustContent:
    return (await read_checked(project_home.workspace(), project_home.sources(), project_home.managed)).content


async def test_what_templates_of_the_project_run_is_accepted_with_it_and_their_words_are_not(
    project_home: ProjectHome,
) -> None:
    project_home.write("look.md", "Look: !`git log $1` and !`ls`")
    table = {"json": {"template": "{file:./look.md}"}, "words": {"template": "No programs."}}
    project_home.write("opencode.json", json.dumps({"command": table}))
    project_home.write(".opencode/command/deep/notes.md", "---\ndescription: d\n---\nNotes !`cat VERSION`")
    project_home.write(".opencode/command/broken.md", "---\na: [\n---\n!`rm x`")
    project_home.write("commands/mine.md", "!`ls`", under=project_home.config)

    found = (await content(project_home)).starts
    before = (await content(project_home)).digest
    project_home.write("look.md", "Other words: !`git log $1` and !`ls`")
    same = (await content(project_home)).digest
    project_home.write("look.md", "Look: !`git log $1` and !`rm x`")
    other = (await content(project_home)).digest

    assert [(each.field, each.value) for each in found] == [
        ("command.json.template", ["git log $1", "ls"]),
        ("command.deep/notes.template", ["cat VERSION"]),
    ]
    assert found[0].effect == 'runs where a person types /json: ["git log $1", "ls"]'
    assert before == same != other


async def test_an_agent_of_a_command_is_accepted_where_ones_own_files_know_it(project_home: ProjectHome) -> None:
    """Not a subagent, which any model may hand work to, nor an agent that works under the rules of one's own."""
    own = {"agent": {"bold": {"permission": {"bash": "allow"}}, "helper": {"mode": "subagent"}}}
    project_home.write("opencode.json", json.dumps(own | {"permission": {"bash": "ask"}}), under=project_home.config)
    table = {name: {"template": "t", "agent": name} for name in ("bold", "helper", "quick", "build", "plan", "none")}
    project_home.write("opencode.json", json.dumps({"agent": {"quick": {}}, "command": table}))

    found = await content(project_home)

    assert [each.effect for each in found.starts] == ["has an agent that your own files know do what /bold says: bold"]
    assert [each.field for each in (await project_home.load()).held] == ["command.bold.agent"]


async def test_a_folder_of_commands_that_cannot_be_read_stops_no_turn(project_home: ProjectHome) -> None:
    for number in range(501):
        project_home.write(f".opencode/command/c{number}.md", "!`ls`")

    assert (await content(project_home)).items == () and (await project_home.load()).held == ()


async def test_the_users_own_commands_are_theirs_though_home_is_the_project(project_home: ProjectHome) -> None:
    project_home.write(".git/HEAD", "ref: refs/heads/main", under=project_home.home)
    project_home.write(".opencode/commands/mine.md", "!`ls`", under=project_home.home)
    project_home.write("code/.opencode/commands/other.md", "!`pwd`", under=project_home.home)
    workspace = find_workspace(
        project_home.home / "code", data=project_home.home / "d", home=project_home.home, temporary=project_home.home
    )

    checked = await read_checked(workspace, project_home.sources(), project_home.managed)

    assert [each.field for each in checked.content.starts] == ["command.other.template"]
