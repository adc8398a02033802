"""Refuses decisions to agents: every command that loosens, decides or erases something checks here whether an agent's
call has started it."""

import os
from pathlib import Path

from activities.shell.environment import CALL_VARIABLE
from worker.settings import Settings
from workflows.domain.errors import UsageError


def require_person(settings: Settings) -> None:
    """Raises UsageError within a call of an agent. It keeps an agent from doing this by mistake or by instruction; one
    that hides where it comes from is not kept from it (docs/operation.md)."""
    if (call := agents_call(settings)) is not None:
        raise UsageError(f"Only a person may decide this, but call {call!r} of an agent has started the command.")


def agents_call(settings: Settings) -> str | None:
    """The call that has started this process, by its environment or that of a process above it."""
    if call := settings.environment.get(CALL_VARIABLE):
        return call
    process = os.getppid()
    while process > 1:
        try:
            variables = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
            stat = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
        except OSError:  # of another user, or no such folder here
            return None
        mark = f"{CALL_VARIABLE}=".encode()
        if (found := next((each for each in variables if each.startswith(mark)), None)) is not None:
            return found.removeprefix(mark).decode("utf-8", "replace")
        process = int(stat.rpartition(")")[2].split()[1])
    return None
