"""Starts a command's supervisor; the lease decides whether it runs the command."""

import asyncio
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Final

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
    _write_private(directory.path / name, command_spec.text())
    supervisor = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", _PROGRAM, str(_ROOT), str(directory.path), name],
        env={},  # /proc shows the environment of a process as long as it runs
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if directory.lease() is None:
        reason = supervisor.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ToolError(f"The command could not be started, and has not run: {reason or 'no reason given'}")


def _write_private(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
