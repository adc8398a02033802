"""Starts a command's supervisor; the lease decides whether it runs the command."""

import asyncio
import os
import secrets
import sys
from pathlib import Path
from typing import Final

from activities.child_process import run_detaching
from activities.shell.lease import CallDirectory
from activities.shell.supervisor.command_spec import CommandSpec
from workflows.domain.errors import ToolError

_ROOT: Final = Path(__file__).parents[2]
_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv.pop(1)); from activities.shell.supervisor.entrypoint import main; main()"
)


async def launch(directory: CallDirectory, command_spec: CommandSpec) -> None:
    """Start a supervisor. Afterwards there is a lease: this supervisor's, or an earlier one's. Raises ToolError if none
    could start: the command has not run."""
    await asyncio.to_thread(_start, directory, command_spec)


def _start(directory: CallDirectory, command_spec: CommandSpec) -> None:
    directory.create()
    name = f"order-{secrets.token_hex(8)}"
    descriptor = os.open(directory.path / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(command_spec.text())
    program = (sys.executable, "-I", "-S", "-X", "utf8", "-c", _PROGRAM, str(_ROOT), str(directory.path), name)
    # without an environment: /proc shows that of a process as long as it runs
    errors = run_detaching(*program, directory="/", environment={})
    if directory.lease() is None:
        reason = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise ToolError(f"The command could not be started, and has not run: {reason or 'no reason given'}")
