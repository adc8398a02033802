"""`holdfast backup` and `restore`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from worker.cli.command_support import (
    async_command,
    confirm,
    find_endpoints,
    open_client,
    person_command,
    print_note,
    start_stack,
)
from worker.cli.render.console import print_rows, terminal_columns
from worker.cli.render.escaping import escape_exact
from worker.cli.render.formatting import format_size, pluralize
from worker.cli.render.text_table import format_table
from worker.settings import Settings

if TYPE_CHECKING:
    from worker.backup_tree import DirectoryEstimate

_NAMED: Final = 20  # files that are left out
_REFUSAL: Final = "Nothing was written. Without a terminal to ask on, --yes is needed."


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
@async_command
async def backup(settings: Settings, file: Path, workspaces: bool, named: tuple[Path, ...], yes: bool) -> None:
    """Write all sessions into one file while they continue.

    The database as it is at one moment, outputs and archives; no keys, and nothing else of a stack's home. FILE is a
    directory, where the file gets a name with the time, or a new file that ends in .tar. Directories are shown with
    their sizes first, and asked about. `restore` makes a new home of it.

    \b
    Examples:
      holdfast backup
      holdfast backup --workspaces /mnt/backups
      holdfast backup --workspaces --yes /mnt/backups      as a timer does
    """
    from worker import backup as backups  # start-up time

    backups.destination(file.absolute(), datetime.now(UTC))
    endpoints = find_endpoints(settings) or await start_stack(settings)
    directories = await backups.select_directories(
        settings, endpoints.postgres_url, include_used=workspaces, named=named, report=print_note
    )
    if directories:
        _confirm_directories(directories, yes=yes)
    click.echo(
        await backups.backup(
            settings, endpoints.postgres_url, file.absolute(), directories=directories, report=print_note
        )
    )


def _confirm_directories(directories: "list[DirectoryEstimate]", *, yes: bool) -> None:
    """Raises UsageError in a pipe without `yes`, Abort on a no."""
    rows = (
        (f"  {format_size(each.size)}", pluralize(each.files, "file"), escape_exact(each.directory))
        for each in directories
    )
    print_rows(format_table(rows, terminal_columns(err=True)), err=True)
    skipped = [entry for each in directories for entry in each.skipped]
    for path, why in skipped[:_NAMED]:
        click.echo(f"  Left out: {escape_exact(path)} ({why})", err=True)
    if len(skipped) > _NAMED:
        click.echo(f"  Left out: {len(skipped) - _NAMED} more", err=True)
    together = format_size(sum(each.size for each in directories))
    confirm(f"Write these {together} into the backup?", yes=yes, refusal=_REFUSAL)


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
    from worker import backup as backups  # as above

    if backups.is_backup(file):
        manifest = await backups.restore(settings, file.absolute(), print_note)
        click.echo(f"The backup of {manifest.at:%Y-%m-%d %H:%M} UTC is restored in {settings.home}.")
        return
    async with open_client(settings) as client:
        session = await client.archives.restore(file.absolute())
    click.echo(f"The session is back: {session}")
