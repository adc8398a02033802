"""`holdfast title`: how a session is called."""

import click

from worker.cli import completers, id_lookup
from worker.cli.command_support import async_command, open_client
from worker.cli.render.escaping import one_line
from worker.settings import Settings


@click.command()
@click.argument("session", shell_complete=completers.session)
@click.argument("words", nargs=-1, required=True, metavar="TEXT...")
@async_command
async def title(settings: Settings, session: str, words: tuple[str, ...]) -> None:
    """Name a session.

    No model changes a title that a person has given.

    \b
    Example:
      holdfast title last the slug fix
    """
    async with open_client(settings) as client:
        found = await id_lookup.find_session(client, session)
        given = await client.titles.give(found, " ".join(words))
    click.echo(f"{one_line(given)} ({found})")
