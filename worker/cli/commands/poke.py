"""`holdfast poke`: tell an agent that what it waits for has come."""

import click

from worker.cli import completers, id_lookup
from worker.cli.command_support import async_command, open_client, print_note
from worker.settings import Settings


@click.command()
@click.argument("token", shell_complete=completers.token)
@click.option("-m", "--message", metavar="TEXT", help="The text that the agent gets.")
@click.option("--session", metavar="SESSION", shell_complete=completers.session, help="The session, if several wait.")
@click.option("--json", "as_json", is_flag=True, help="Print what was accepted as JSON.")
@async_command
async def poke(settings: Settings, token: str, message: str | None, session: str | None, as_json: bool) -> None:
    """Tell an agent that waits for TOKEN to continue.

    The agent has named the token when it began to wait; `sessions` and `watch` show it. It is no secret: who may send
    prompts may poke. Ends with code 6 while nothing waits for it: a script may try again.

    \b
    Examples:
      holdfast poke deploy-done
      holdfast poke deploy-done -m "version 1.4 is live"
    """
    async with open_client(settings, with_worker=True) as client:
        named = await id_lookup.find_session(client, session) if session else None
        poked = await client.waits.poke(token, message, session=named)
    click.echo(poked.model_dump_json() if as_json else f"Poked: {poked.session}")  # it may wait for more
    if not poked.delivered:
        print_note("The engine cannot be reached at the moment; the poke is recorded, and counts when it is back.")
