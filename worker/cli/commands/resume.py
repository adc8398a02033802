"""`holdfast resume`: let a suspended session continue."""

import click

from worker.cli import completers, id_lookup
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import open_client, person_command, print_note
from worker.cli.render import suspension_text
from worker.settings import Settings
from workflows.domain.suspension import SuspendReason


@click.command()
@click.argument("session", shell_complete=completers.session)
@person_command
@with_json("Print what was resumed as JSON.")
async def resume(settings: Settings, session: str) -> CommandOutput:
    """Let a suspended session continue, as things are now.

    A session is suspended when its directory has moved or is on another branch than its last turn has left, and, if
    HOLDFAST_RESUME says so, when it was at work as the stack ended. Where its database was put back or restored, it
    does again what its log does not have. `holdfast sessions show` says why. Ends with code 6 when it is not suspended.

    \b
    Example:
      holdfast resume last
    """
    async with open_client(settings, with_worker=True) as client:
        found = await id_lookup.find_session(client, session)
        suspension = (await client.sessions.get(found)).suspension
        resumed = await client.resume(found)
    if suspension is not None and suspension.reason in (SuspendReason.BEHIND, SuspendReason.RESTORED):
        print_note(suspension_text.REPEATS)
    return CommandOutput(resumed, lambda: f"Resumed: {resumed.session}")
