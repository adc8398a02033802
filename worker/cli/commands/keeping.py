"""`holdfast backup` and `restore`: what is put away, and comes back."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from worker.cli import door
from worker.cli.look.table import table
from worker.cli.look.text import counted, exact, size_of
from worker.settings import Settings
from workflows.domain.errors import UsageError

if TYPE_CHECKING:
    from worker.packing import Measured

_NAMED: Final = 20  # of what is left out


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default=".")
@click.option("--workspaces", is_flag=True, help="With the directories that sessions work in.")
@click.option(
    "--workspace",
    "named",
    multiple=True,
    metavar="DIRECTORY",
    type=click.Path(path_type=Path),
    help="With this directory; the only way to have the root directory or your home in it.",
)
@click.option("--yes", is_flag=True, help="Write these directories without being asked.")
@door.command
async def backup(settings: Settings, file: Path, workspaces: bool, named: tuple[Path, ...], yes: bool) -> None:
    """Write all sessions into one file, while they go on.

    The database as it is at one moment, outputs and archives; no keys, and nothing else of a stack's home. FILE is a
    directory, where the file gets a name with the time, or a new file that ends in .tar. Directories are shown with
    their sizes first, and asked about. `restore` makes a new home of it.

    \b
    Examples:
      holdfast backup
      holdfast backup --workspaces /mnt/backups
      holdfast backup --workspaces --yes /mnt/backups      as a timer does
    """
    from worker import backup as backups  # only these commands run PostgreSQL's programs

    backups.destination(file.absolute(), datetime.now(UTC))
    async with door.client(settings) as client:
        url = client.endpoints.postgres_url
        directories = await backups.choose(settings, url, worked_in=workspaces, named=named, say=door.say)
        if directories:
            _agreed(directories, yes=yes)
        click.echo(await backups.backup(settings, url, file.absolute(), directories=directories, say=door.say))


def _agreed(directories: "list[Measured]", *, yes: bool) -> None:
    """Show what would be written; ask on a terminal. Raises UsageError in a pipe without `yes`, Abort on a no."""
    rows = ((f"  {size_of(each.size)}", counted(each.files, "file"), exact(each.directory)) for each in directories)
    for row in table(rows, door.room()):
        click.echo(row, err=True)
    left_out = [entry for each in directories for entry in each.left_out]
    for path, why in left_out[:_NAMED]:
        click.echo(f"  Left out: {exact(path)} ({why})", err=True)
    if len(left_out) > _NAMED:
        click.echo(f"  Left out: {len(left_out) - _NAMED} more", err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("Nothing was written. Without a terminal that could be asked on, --yes is needed.")
    together = size_of(sum(each.size for each in directories))
    click.confirm(f"Write these {together} into the backup?", abort=True, err=True)


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
