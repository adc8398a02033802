"""What cannot simply be taken back is asked about, by the title of the session that it happens to."""

import sys
from typing import Final

import click

from worker.cli import find
from worker.cli.look.text import line
from worker.client import Overview, SessionClient
from workflows.domain.errors import UsageError

yes_option: Final = click.option("--yes", is_flag=True, help="Do not ask first.")


async def session(client: SessionClient, typed: str, question: str, *, yes: bool) -> Overview:
    """The session, once it is agreed to: on a terminal the `question` is asked; without one an id is enough, and `last`
    is not, for it may be another session than the one that is meant. Raises UsageError, NotFound, Abort on a no.
    """
    known = await client.session(await find.session(client, typed))
    if yes:
        return known
    named = f"{line(known.title)!r} ({known.id})"
    if sys.stdin.isatty():
        click.confirm(question.format(named), abort=True, err=True)
    elif typed == find.LAST:
        raise UsageError(f"`last` is {named}: without a terminal to ask on, name the session by its id, or add --yes.")
    return known
