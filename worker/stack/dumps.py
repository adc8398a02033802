"""Dumps and loads the database with PostgreSQL's own programs."""

from pathlib import Path
from typing import Final

from activities.store import pg_server
from worker.settings import Settings
from worker.stack import child_programs
from worker.stack.binaries import postgres
from worker.stack.cluster import environment_of
from workflows.domain.errors import Unavailable

_DUMP_OPTIONS: Final = ("--schema=holdfast", "--no-owner", "--no-privileges")
# Another engine may take a restored database over.
_EXCLUDED_DATA: Final = ("--no-unlogged-table-data", "--exclude-table-data=holdfast.engine")


async def dump(settings: Settings, url: str, file: Path) -> None:
    """Write all rows as of one moment, while sessions run. Raises Unavailable, UsageError."""
    await _run(settings, url, "pg_dump", *_DUMP_OPTIONS, *_EXCLUDED_DATA, "--format=custom", f"--file={file}")


async def load(settings: Settings, url: str, file: Path) -> None:
    """Load a dump, atomically, into a database without our schema. Raises as `dump`."""
    options = ("--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error")
    await _run(settings, url, "pg_restore", *options, str(file))


async def _run(settings: Settings, url: str, program: str, *arguments: str) -> None:
    """The password goes by the environment, hidden from other users."""
    found = await postgres.client_binaries(settings, (await pg_server.inspect_server(url)).major)
    address, password = pg_server.split_password(url)
    environment = environment_of(settings.environment) | ({"PGPASSWORD": password} if password else {})
    argv = (found.program(program), *arguments, f"--dbname={address}")
    code, output = await child_programs.run(*argv, environment=environment)
    if code != 0:
        raise Unavailable(f"{program} could not do its work:\n{output}")
