"""The slash commands of a directory."""

import asyncio
import json
import os

import pytest

from activities.project.command_files import MAX_COMMAND_FILES
from activities.project.command_loader import FoundCommands, find_commands
from activities.project.config_loader import PRIMARY_ROLE
from tests.activities.project.project_home import ProjectHome
from tests.polling import WAIT_TIMEOUT
from workflows.domain.commands.slash_command import CommandSource, SlashCommand
from workflows.domain.config.config import Config
from workflows.domain.errors import ConfigError, UsageError
from workflows.domain.skills import usable_skills

BUILT_IN = {"init", "review"}


async def found(project_home: ProjectHome, directory: str = "", **environ: str) -> FoundCommands:
    config = await project_home.load(directory, PRIMARY_ROLE, **environ)
    skills = usable_skills(config.skills, config.rules)
    return find_commands(
        project_home.workspace(directory), project_home.sources(**environ), project_home.managed, skills
    )


async def commands(project_home: ProjectHome, directory: str = "", **environ: str) -> dict[str, SlashCommand]:
    return dict((await found(project_home, directory, **environ)).commands)


async def test_commands_are_read_from_every_directory_of_configuration(project_home: ProjectHome) -> None:
    named = project_home.home / "oc"
    for name, folder in {
        "global": project_home.config,
        "home": project_home.home / ".opencode",
        "named": named,
        "near": project_home.project / "sub/.opencode",
        "root": project_home.project / ".opencode",
    }.items():
        project_home.write(f"command/{name}.md", name, under=folder)
    project_home.write(".opencode/commands/git/commit.md", "---\ndescription: commits: well\n---\nCommit $1 $ARGUMENTS")
    project_home.write(".opencode/commands/c.md", "---\nname: other\n---\nP")

    every = await commands(project_home, "sub", OPENCODE_CONFIG_DIR=str(named))
    without = await commands(project_home, "sub", OPENCODE_DISABLE_PROJECT_CONFIG="1")

    assert every.keys() == {"global", "home", "named", "near", "root", "git/commit", "other", *BUILT_IN}
    assert without.keys() == {"global", "home", *BUILT_IN}
    commit = every["git/commit"]
    assert (commit.description, commit.hints, commit.trusted) == ("commits: well", ("$1", "$ARGUMENTS"), False)
    assert commit.files == (str(project_home.project / ".opencode/commands/git/commit.md"),)
    assert every["global"].trusted


async def test_files_are_merged_and_replace_what_is_built_in(project_home: ProjectHome) -> None:
    tree = {"review": {"template": "own", "agent": "plan"}, "doc": {"template": "{file:doc.md}", "subtask": False}}
    project_home.write("opencode.json", json.dumps({"command": tree}), under=project_home.config)
    project_home.write("doc.md", "Write docs.\n", under=project_home.config)
    project_home.write(".opencode/command/review.md", "---\nmodel: a/b\nvariant: high\n---\nReview it.")

    known = await commands(project_home)

    review, doc, init = known["review"], known["doc"], known["init"]
    assert (review.template, review.agent, review.model, review.subtask) == ("Review it.", "plan", "a/b", None)
    assert (review.source, len(review.files), review.trusted) == (CommandSource.CONFIGURATION, 2, False)
    assert (doc.template, doc.subtask, doc.trusted) == ("Write docs.", False, True)
    assert (init.source, init.files, init.hints) == (CommandSource.BUILT_IN, (), ("$ARGUMENTS",))
    assert (await project_home.load()).config == Config()  # no turn holds them


async def test_a_file_that_cannot_be_used_is_refused_alone_with_its_place(project_home: ProjectHome) -> None:
    bad = project_home.write(".opencode/command/review.md", "---\ndescription: x\nsubtask: perhaps\n---\nP")
    empty = project_home.write(".opencode/command/empty.md", "---\ndescription: x\n---\n")
    odd = project_home.write(".opencode/command/odd.md", "---\ndescription: x\nallowed-tools: Bash\n---\nP")

    known = await found(project_home)

    assert known.commands.keys() == {"init", "odd"}
    assert [each.why for each in known.refused] == [
        f"{empty}: this command has no text behind its fields.",
        f"{bad}: the field 'subtask' is wrong: Input should be a valid boolean.",
    ]
    assert known.warnings == (f"{odd}: a command has no field 'allowed-tools': it has no effect.",)
    with pytest.raises(UsageError, match=r"/review cannot be used\. .*review\.md: the field 'subtask'"):
        known.named("review")
    with pytest.raises(UsageError, match=r'Command not found: "nope"\. Available commands: init, odd\.'):
        known.named("nope")


async def test_pipes_devices_and_loops_of_links_hold_nothing_up(project_home: ProjectHome) -> None:
    folder = project_home.write(".opencode/command/a.md", "A").parent
    os.mkfifo(folder / "b.md")
    (folder / "d.md").symlink_to("/dev/zero")
    for number in range(30):
        (folder / f"link{number}").symlink_to("." if number % 2 else "..")
    project_home.write(".opencode/command/a/b/c/d/e/x.md", "X")

    async with asyncio.timeout(WAIT_TIMEOUT):
        known = await found(project_home)

    assert known.commands.keys() >= {"a", "a/b/c/d/e/x", *BUILT_IN}
    assert [each.name for each in known.refused] == ["b", "d"]


async def test_a_folder_behind_a_link_to_nothing_is_named(project_home: ProjectHome) -> None:
    folder = project_home.write(".opencode/command/team/a.md", "A").parent
    (folder / "shared").symlink_to("/nowhere/commands")

    with pytest.raises(ConfigError, match=f"^{folder}/shared: this folder of commands cannot be read, or links to"):
        await found(project_home)


async def test_a_file_that_emacs_edits_is_read_without_its_lock(project_home: ProjectHome) -> None:
    folder = project_home.write(".opencode/command/a.md", "A").parent
    for name in (".#a.md", ".#notes"):
        (folder / name).symlink_to("me@here.4711:1")

    known = await found(project_home)

    assert known.commands.keys() == {"a", *BUILT_IN} and known.refused == ()


async def test_skills_are_commands_unless_one_has_their_name_or_a_rule_denies_them(project_home: ProjectHome) -> None:
    for name in ("deploy", "init", "secret"):
        project_home.write(f".claude/skills/{name}/SKILL.md", f"---\nname: {name}\ndescription: D\n---\nHow to {name}.")
    project_home.write("opencode.json", json.dumps({"permission": {"skill": {"secret": "deny"}}}))

    known = await commands(project_home)

    assert known.keys() == {"deploy", *BUILT_IN} and known["init"].source is CommandSource.BUILT_IN
    deploy = known["deploy"]
    assert (deploy.source, deploy.description, deploy.trusted) == (CommandSource.SKILL, "D", False)
    folder = project_home.project / ".claude/skills/deploy"
    assert deploy.template == f"How to deploy.\n\nPaths that these instructions name are relative to {folder}."


async def test_too_many_files_and_files_outside_of_a_project_are_named(project_home: ProjectHome) -> None:
    project_home.write("opencode.json", json.dumps({"command": {"x": {"template": "{file:/etc/hostname}"}}}))
    known = await found(project_home)
    assert "x" not in known.commands
    assert [each.partition(": ")[2] for each in known.warnings] == [
        "command.x.template has no effect: it counts once a person has accepted it."
    ]
    for number in range(MAX_COMMAND_FILES + 1):
        project_home.write(f".opencode/command/{number}.md", "P")
    with pytest.raises(ConfigError, match=f"at most {MAX_COMMAND_FILES} files of commands"):
        await found(project_home)
