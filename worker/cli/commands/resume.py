"""`holdfast resume`, `wake` and `poke`: let a session continue."""

import click

from worker.cli import completers, id_lookup
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, open_client, person_command, print_note
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
