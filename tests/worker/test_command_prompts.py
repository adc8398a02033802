"""What a project's command runs is exactly what a person has accepted."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from worker.command_prompts import expand_command
from worker.project_config import check_project_trust, load_project_config
from worker.settings import Settings
from workflows.domain.config.accepted_trust import AcceptedTrust
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.messages import ShellPart

TEMPLATE = "Look: !`ls $1`"


@pytest.fixture
def command(tmp_path: Path) -> Path:
    (tmp_path / "shop/.git").mkdir(parents=True)
    file = tmp_path / "shop/.opencode/command/look.md"
    file.parent.mkdir(parents=True)
    file.write_text(TEMPLATE)
    return file


async def run(command: Path, changed: str = "", named: str = "look") -> list[str]:
    """The programs of a prompt, where the file was `changed` since a turn's configuration was read as accepted."""
    project = command.parents[2]
    settings = Settings.read({"HOME": str(project.parent), "HOLDFAST_MANAGED_CONFIG": str(project.parent / "none")})
    content = (await check_project_trust(settings, project)).content
    turn_config: TurnConfig = await load_project_config(settings, project)
    accepted = AcceptedTrust(record=1, digest=content.digest, author="me", at=datetime.now(UTC))
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
