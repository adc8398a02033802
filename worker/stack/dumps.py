"""Dumps of the database by PostgreSQL's own programs, which know how."""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from pathlib import Path
from typing import Final

from activities.store import server
from worker.settings import Settings
from worker.stack.binaries import postgres
from worker.stack.cluster import environment_of
from workflows.domain.errors import Unavailable

_WHAT: Final = ("--schema=holdfast", "--no-owner", "--no-privileges")
_LEFT_OUT: Final = ("--no-unlogged-table-data", "--exclude-table-data=holdfast.engine")  # another one may take it over


async def dump(settings: Settings, url: str, file: Path) -> None:
    """Write all rows as they are at one moment; whoever works goes on. Raises Unavailable, UsageError."""
    await _run(settings, url, "pg_dump", *_WHAT, *_LEFT_OUT, "--format=custom", f"--file={file}")


async def load(settings: Settings, url: str, file: Path) -> None:
    """Read a dump into a database that has no schema of ours: all of it, or nothing. Raises as `dump`."""
    options = ("--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error")
    await _run(settings, url, "pg_restore", *options, str(file))


async def _run(settings: Settings, url: str, program: str, *arguments: str) -> None:
    """Run one of the programs; a password goes by the environment, which other users do not see."""
    found = await postgres.clients(settings, (await server.look(url)).major)
    address, password = server.without_password(url)
    environment = environment_of(settings.environment) | ({"PGPASSWORD": password} if password else {})
    process = await asyncio.create_subprocess_exec(
        *(found.program(program), *arguments, f"--dbname={address}"),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        env=environment,
    )
    said = (await process.communicate())[0].decode(errors="replace").strip()
    if process.returncode != 0:
        raise Unavailable(f"{program} could not do its work:\n{said}")
