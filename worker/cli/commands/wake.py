"""`holdfast wake`: ask a provider again before its pause ends."""

import click

from worker.cli import completers, id_lookup
from worker.cli.command_support import async_command, open_client
from worker.settings import Settings


@click.command()
@click.argument("session", shell_complete=completers.session)
@click.option("--json", "as_json", is_flag=True, help="What was woken, as JSON.")
@async_command
async def wake(settings: Settings, session: str, as_json: bool) -> None:
    """Ask a provider again now, without waiting for the end of its pause.

    A provider that is over a limit or fails says when to ask it again; `sessions show` and `watch` show until when the
    session waits. The pauses of its subagents end, too. Ends with code 6 when none of them waits.

    \b
    Example:
      holdfast wake last
    """
    async with open_client(settings, with_worker=True) as client:
        woken = await client.wake(await id_lookup.find_session(client, session))
    click.echo(woken.model_dump_json() if as_json else f"Asked again now: {', '.join(woken.woken)}")
