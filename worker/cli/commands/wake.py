"""`holdfast wake`: end a session's waits."""

import click

from worker.cli import completers, id_lookup
from worker.cli.command_support import async_command, open_client
from worker.settings import Settings


@click.command()
@click.argument("session", shell_complete=completers.session)
@click.option("--json", "as_json", is_flag=True, help="Print what was woken as JSON.")
@async_command
async def wake(settings: Settings, session: str, as_json: bool) -> None:
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
    click.echo(woken.model_dump_json() if as_json else f"Continues now: {', '.join(woken.woken)}")
