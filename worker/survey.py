"""What a directory says to whoever starts or continues a session there."""

import tempfile
from pathlib import Path

from activities.project import load, worktree
from activities.project.load import PRIMARY
from activities.project.load import Role as Role
from worker.settings import Settings
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.ids import SessionId


async def survey(settings: Settings, directory: Path, role: Role = PRIMARY) -> ProjectSnapshot:
    """The configuration of a directory, as a turn that began now would find it.

    Raises UsageError: for a file that is wrong, and for an agent that cannot work there.
    """
    home = Path(settings.environment.get("HOME") or Path.home())
    temporary = Path(tempfile.gettempdir())
    place = worktree.place(directory, data=settings.home, home=home, temporary=temporary)
    return await load.load(place, settings.config, settings.environment, role)


def role(agent: str, parent: SessionId | None) -> Role:
    """As what a session works that is there already; its agent is only a subagent's below another session."""
    return Role(agent, ancestors=0 if parent is None else 1)
