"""`holdfast resume`: let a parked session go on."""

import click

from worker.cli import complete, door, find
from worker.settings import Settings


@click.command()
@click.argument("session", shell_complete=complete.session)
@click.option("--json", "as_json", is_flag=True, help="What was resumed, as JSON.")
@door.command
async def resume(settings: Settings, session: str, as_json: bool) -> None:
    """Let a parked session go on, as things are now.

    A session is parked when its directory has moved or is on another branch than its last turn has left, and, if
    HOLDFAST_RESUME says so, when it was at work as the stack ended. `holdfast sessions show` says why. Ends with code 6
    when it is not parked.

    \b
    Example:
      holdfast resume last
    """
    async with door.client(settings, working=True) as client:
        resumed = await client.resume(await find.session(client, session))
    click.echo(resumed.model_dump_json() if as_json else f"It goes on: {resumed.session}")
