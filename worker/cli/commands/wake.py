"""`holdfast wake`: end a session's waits."""

import click

from worker.cli import completers, id_lookup
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, open_client
from worker.settings import Settings


@click.command()
@click.argument("session", shell_complete=completers.session)
@async_command
@with_json("Print what was woken as JSON.")
async def wake(settings: Settings, session: str) -> CommandOutput:
    """Let a session that waits for a provider, or on purpose, continue now.

    A provider that is over a limit or fails says when to ask it again; an agent may wait for a moment, a file or a
    poke. `sessions show` and `watch` show until when. The waits of its subagents end, too. Ends with code 6 when none
    of them waits.

    \b
    Example:
      holdfast wake last
    """
    async with open_client(settings, with_worker=True) as client:
        woken = await client.wake(await id_lookup.find_session(client, session))
    return CommandOutput(woken, lambda: f"Continues now: {', '.join(woken.woken)}")
