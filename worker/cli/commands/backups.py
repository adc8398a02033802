"""`holdfast backup` and `restore`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from worker import backup as backups
from worker.cli.command_support import (
    async_command,
    find_endpoints,
    open_client,
    person_command,
    print_note,
    start_stack,
)
from worker.settings import Settings


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=".")
@async_command
async def backup(settings: Settings, file: Path) -> None:
    """Write all sessions into one file while they continue.

    The database as it is at one moment, outputs and archives; no keys, and not the directories that sessions work in.
    FILE is a directory, where the file gets a name with the time, or a new file that ends in .tar. `restore` makes a
    new home of it.

    \b
    Examples:
      holdfast backup
      holdfast backup /mnt/backups
    """
    backups.destination(file.absolute(), datetime.now(UTC))
    endpoints = find_endpoints(settings) or await start_stack(settings)
    click.echo(await backups.backup(settings, endpoints.postgres_url, file.absolute(), print_note))


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@person_command
async def restore(settings: Settings, file: Path) -> None:
    """Restore an archive or a backup.

    An archive's session comes back into the database, where it was. A backup needs a home without sessions (name a new
    one by HOLDFAST_HOME): its stack is started, and sessions that were at work are suspended. The file is checked
    first, and stays where it is.

    \b
    Examples:
      holdfast restore ses_….jsonl.gz
      holdfast restore holdfast-20261121T030000Z.tar
    """
    if backups.is_backup(file):
        manifest = await backups.restore(settings, file.absolute(), print_note)
        click.echo(f"The backup of {manifest.at:%Y-%m-%d %H:%M} UTC is restored in {settings.home}.")
        return
    async with open_client(settings) as client:
        session = await client.archives.restore(file.absolute())
    click.echo(f"The session is back: {session}")
