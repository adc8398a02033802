"""What a project's command runs, and with whose rights, is exactly what a person has accepted."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from worker.command_prompts import expand_command
from worker.project_config import Role, check_project_trust, load_project_config
from worker.settings import Settings
from workflows.domain.config.accepted_trust import AcceptedStart, AcceptedTrust
from workflows.domain.config.trust_items import TrustContent
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.messages import ShellPart
from workflows.domain.prompt import Prompt

TEMPLATE = "Look: !`ls $1`"


@pytest.fixture
def command(tmp_path: Path) -> Path:
    (tmp_path / "shop/.git").mkdir(parents=True)
    file = tmp_path / "shop/.opencode/command/look.md"
    file.parent.mkdir(parents=True)
    file.write_text(TEMPLATE)
    return file


def settings_of(command: Path) -> Settings:
    home = command.parents[3]
    return Settings.read({"HOME": str(home), "HOLDFAST_MANAGED_CONFIG": str(home / "none")})


def accept(content: TrustContent) -> AcceptedTrust:
    starts = content.start_digests.items()
    known = tuple(AcceptedStart(digest=digest, file=each.file, field=each.field) for digest, each in starts)
    return AcceptedTrust(record=1, read_to=1, author="me", at=datetime.now(UTC), starts=known)


async def run(command: Path, changed: str = "", named: str = "look") -> list[str]:
    """The programs of a prompt, where the file was `changed` since a turn's configuration was read as accepted."""
    project, settings = command.parents[2], settings_of(command)
    content = (await check_project_trust(settings, project)).content
    turn_config: TurnConfig = await load_project_config(settings, project)
    accepted = accept(content)
    if changed:
        command.write_text(changed)
    prompt = await expand_command(settings, turn_config.model_copy(update={"accepted": accepted}), named, "src")
    return [part.command for part in prompt.parts if isinstance(part, ShellPart)]


async def test_what_was_accepted_runs_whatever_other_words_say(command: Path) -> None:
    assert await run(command) == ["ls src"]
    assert await run(command, "Other words. !`ls $1`") == ["ls src"]


@pytest.mark.parametrize("changed", ["Look: !`rm $1`", "Look: !`ls $1` !`ls $1`", "Look: !`ls`"])
async def test_nothing_else_runs(command: Path, changed: str) -> None:
    with pytest.raises(UsageError, match=r"/look of .*look.md runs .*: nobody has accepted exactly that"):
        await run(command, changed)


async def test_a_projects_skill_runs_nothing_although_its_files_are_accepted(command: Path) -> None:
    skill = command.parents[1] / "skills/how/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: how\n---\n!`ls`")

    with pytest.raises(UsageError, match="a project's skill runs nothing as a command"):
        await run(command, named="how")


def own_configuration(command: Path) -> None:
    """The user's own: `bold` runs what it likes, which is asked about otherwise."""
    tree = {
        "permission": {"bash": "ask"},
        "agent": {"bold": {"mode": "primary", "permission": {"bash": "allow"}}},
        "command": {"other": {"template": "Look.", "agent": "bold"}},
    }
    file = command.parents[3] / ".config/opencode/opencode.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(tree))


async def typed(command: Path, name: str, agent: str | None = None, *, accepted: bool = False) -> Prompt:
    """The prompt of a command that is typed where the agent works."""
    project, settings = command.parents[2], settings_of(command)
    record = accept((await check_project_trust(settings, project)).content) if accepted else None
    turn_config = await load_project_config(settings, project, Role(agent))
    given = Prompt(parts=(), agent=agent)
    return await expand_command(settings, turn_config.model_copy(update={"accepted": record}), name, "", given)


@pytest.mark.parametrize("fields", ["agent: bold", "agent: bold\nsubtask: true"])
async def test_a_projects_command_is_for_a_bolder_agent_once_a_person_has_seen_that(command: Path, fields: str) -> None:
    own_configuration(command)
    command.write_text(f"---\n{fields}\n---\nLook.")

    with pytest.raises(UsageError, match=r"/look of .*look.md is for the agent 'bold', .* more than 'build': .*trust"):
        await typed(command, "look")
    chosen, accepted = await typed(command, "look", "bold"), await typed(command, "look", accepted=True)

    assert chosen.subagents == accepted.subagents and accepted.agent == (None if accepted.subagents else "bold")


async def test_a_projects_command_does_not_lead_out_of_a_chosen_agent(command: Path) -> None:
    command.write_text("---\nagent: build\n---\nLook.")

    assert (await typed(command, "look")).agent == "build"
    command.write_text("---\nagent: mine\n---\nLook.")
    (command.parents[2] / "opencode.json").write_text('{"agent": {"mine": {}}}')
    assert (await typed(command, "look")).agent == "mine"
    with pytest.raises(UsageError, match=r"more than 'plan': choose it yourself \(`--agent mine`, or Tab\)\."):
        await typed(command, "look", "plan")


async def test_a_projects_file_gives_no_command_of_the_users_a_bolder_agent(command: Path) -> None:
    own_configuration(command)
    own = command.parents[3] / ".opencode/command/own.md"  # it comes behind the project's
    own.parent.mkdir(parents=True)
    own.write_text("Look.")
    (command.parents[2] / "opencode.json").write_text('{"command": {"own": {"template": "t", "agent": "bold"}}}')

    assert (await typed(command, "other")).agent == "bold"
    with pytest.raises(UsageError, match="is for the agent 'bold'"):
        await typed(command, "own")


@pytest.mark.parametrize(
    ("fields", "model"),
    [
        ("model: opus", "scripted/claude-opus-5"),
        ("model: opus[1m]\nsubtask: true", "scripted/claude-opus-5"),
        ("model: haiku", "scripted/model"),  # there is none: that of the session
        ("model: other/model", "other/model"),
    ],
)
async def test_a_family_in_the_place_of_a_commands_model_is_its_newest_of_the_sessions_provider(
    command: Path, fields: str, model: str
) -> None:
    models: dict[str, dict[str, str]] = {"model": {}, "claude-opus-5": {}, "claude-opus-4-1": {}}
    scripted = {"options": {"baseURL": "http://127.0.0.1:9/v1"}, "models": models}
    file = command.parents[3] / ".config/opencode/opencode.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"provider": {"scripted": scripted}, "model": "other/model"}))
    command.write_text(f"---\n{fields}\n---\nLook.")
    settings = settings_of(command)
    turn_config = await load_project_config(settings, command.parents[2])

    given = Prompt(parts=(), model="scripted/model")
    prompts = [
        await expand_command(settings, turn_config, "look", "", given),
        await expand_command(settings, turn_config, "look", "", session_model="scripted/model"),
    ]
    chosen = [prompt.subtasks[0].model if prompt.subtasks else prompt.model for prompt in prompts]
    assert chosen == [model, None if model == "scripted/model" else model]
