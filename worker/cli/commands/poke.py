"""`holdfast poke`: tell an agent that what it waits for has come."""

import click

from worker.cli import completers, id_lookup
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, open_client
from worker.settings import Settings


@click.command()
@click.argument("token", shell_complete=completers.token)
@click.option("-m", "--message", metavar="TEXT", help="The text that the agent gets.")
@click.option("--session", metavar="SESSION", shell_complete=completers.session, help="The session, if several wait.")
@async_command
@with_json("Print what was accepted as JSON.")
async def poke(settings: Settings, token: str, message: str | None, session: str | None) -> CommandOutput:
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
    late = "The engine cannot be reached at the moment; the poke is recorded, and counts when it is back."
    return CommandOutput(poked, lambda: f"Poked: {poked.session}", notes=[] if poked.delivered else [late])
