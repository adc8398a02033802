"""`holdfast backup` and `restore`: what is put away, and comes back."""

from pathlib import Path

import click

from worker.cli import door
from worker.settings import Settings


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=".")
@click.option("--workspaces", is_flag=True, help="With the directories that sessions work in.")
@door.command
async def backup(settings: Settings, file: Path, workspaces: bool) -> None:
    """Write all sessions into one file, while they go on.

    The database as it is at one moment, outputs and archives; no keys. In a directory the file gets a name with the
    time. `restore` makes a new home of it.

    \b
    Examples:
      holdfast backup
      holdfast backup --workspaces /mnt/backups
    """
    from worker.backup import backup as written  # only these commands run PostgreSQL's programs

    async with door.client(settings) as client:
        url = client.endpoints.postgres_url
        click.echo(await written(settings, url, file.absolute(), workspaces=workspaces, say=door.say))


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@door.command
async def restore(settings: Settings, file: Path) -> None:
    """Bring back what an archive or a backup holds.

    An archive's session comes back into the database, where it was. A backup needs a home without sessions (name a new
    one by HOLDFAST_HOME): its stack is started, and sessions that were at work are parked. The file is checked first,
    and stays where it is.

    \b
    Examples:
      holdfast restore ses_….jsonl.gz
      holdfast restore holdfast-20261121T030000Z.tar
    """
    from worker import backup as backups  # as above

    if backups.is_backup(file):
        manifest = await backups.restore(settings, file.absolute(), door.say)
        click.echo(f"The backup of {manifest.at:%Y-%m-%d %H:%M} UTC is restored in {settings.home}.")
        return
    async with door.client(settings) as client:
        session = await client.restore(file.absolute())
    click.echo(f"The session is back: {session}")
