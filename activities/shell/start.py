"""Starts the supervisor of a command; the lease decides whether it is the one that runs it."""

import asyncio
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Final

from activities.shell.lease import CallDirectory
from activities.shell.supervisor.order import Order
from workflows.domain.errors import ToolError

_ROOT: Final = Path(__file__).parents[2]
_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv.pop(1)); from activities.shell.supervisor.supervise import main; main()"
)


async def start(directory: CallDirectory, order: Order) -> None:
    """Have the command run by a supervisor, unless one has the lease already; then there is a lease.

    Raises `ToolError` when no supervisor could begin: then nothing has run.
    """
    await asyncio.to_thread(_start, directory, order)


def _start(directory: CallDirectory, order: Order) -> None:
    directory.create()
    name = f"order-{secrets.token_hex(8)}"
    _write_private(directory.path / name, order.text())
    supervisor = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", _PROGRAM, str(_ROOT), str(directory.path), name],
        env={},  # what runs for hours beside a command shows it nothing of ours
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
