"""`holdfast down --purge`: what is removed is shown and agreed to first."""

import sys

import click

from worker.cli import door
from worker.cli.look.table import table
from worker.cli.look.text import exact
from worker.cli.look.wrap import folded
from worker.settings import Settings
from worker.stack.purge import Doomed, doomed, purge
from workflows.domain.errors import UsageError


async def agreed(settings: Settings, *, yes: bool) -> None:
    """Show what would be removed; ask on a terminal. Raises UsageError in a pipe without `yes`, Abort on a no."""
    found = doomed(settings)
    _tell(settings, found)
    if not found or yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("Nothing was removed. Without a terminal that could be asked on, --yes is needed.")
    click.confirm("Remove all of that for good?", abort=True, err=True)


async def carry_out(settings: Settings) -> None:
    """Remove it; what is not ours stays, and is named."""
    left = await purge(settings, doomed(settings))
    for path in left:
        _say(f"Left: {exact(str(path))}", 2)
    click.echo("Removed.")


def _tell(settings: Settings, found: list[Doomed]) -> None:
    if not found:
        _say(f"There is nothing of a stack in {exact(str(settings.home))}.", 2)
    for row in table(((f"  {exact(str(each.path))}", each.what) for each in found), door.room()):
        _say(row)
    if settings.postgres_url is not None:
        door.say("The database of HOLDFAST_POSTGRES_URL is not touched.")
    if settings.external_temporal is not None:
        door.say("The Temporal server that is named elsewhere is not touched.")


def _say(text: str, indent: int = 0) -> None:
    """What holds a path, which may be longer than a row: it goes on `indent` blanks further than it begins."""
    for row in folded(text, door.room(), indent):
        click.echo(row, err=True)
