"""`holdfast sessions`, `stop` and `end`: sessions as a whole."""

import json
from datetime import UTC, datetime

import click

from worker.cli import agreement, complete, door, find, neighbours
from worker.cli.current import current_directory
from worker.cli.look import session_table
from worker.cli.look.page import columns, fitted
from worker.cli.look.standing import sentences
from worker.cli.look.text import counted, exact, line
from worker.client import Stopped
from worker.settings import Settings
from workflows.domain.errors import UsageError

_NAMED = 3  # sessions of a directory where many are at work
_LISTED = 30  # sessions
_SESSION = click.argument("session", shell_complete=complete.session)


@click.group(invoke_without_command=True)
@click.option("--here", is_flag=True, help="Only those of the current directory.")
@click.option("-n", "--limit", type=click.IntRange(1), help=f"How many, subagents not counted.  [default: {_LISTED}]")
@click.option("--all", "all_", is_flag=True, help="All of them.")
@click.option("--json", "as_json", is_flag=True, help="As a JSON array.")
@click.pass_context
def sessions(context: click.Context, here: bool, limit: int | None, all_: bool, as_json: bool) -> None:
    """List the sessions, or show one.

    The last changed stands first, and each above its subagents'. In a pipe there is no header, and a session's row
    begins with its id.

    \b
    Examples:
      holdfast sessions --here
      holdfast sessions show last
    """
    if all_ and limit is not None:
        raise UsageError("--all and --limit both say how many: give one of them.")
    if context.invoked_subcommand is None:
        context.exit(_listed(here, None if all_ else limit or _LISTED, as_json))


@sessions.command(short_help="Show how a session stands.")
@_SESSION
@click.option("--json", "as_json", is_flag=True, help="As a JSON object.")
@door.command
async def show(settings: Settings, session: str, as_json: bool) -> None:
    """Show how a session stands: what it does or waits for, and what can be done.

    \b
    Example:
      holdfast sessions show last
    """
    async with door.client(settings) as client:
        seen = await client.session(await find.session(client, session))
        asks = await client.asks(session=seen.id) if seen.asks and not as_json else []
    if as_json:
        click.echo(seen.model_dump_json(indent=2))
        return
    for row in sentences(seen, datetime.now(UTC), asks[0].id if asks else None):
        click.echo(fitted(row))


@door.command
async def _listed(settings: Settings, here: bool, limit: int | None, as_json: bool) -> None:
    directory = str(current_directory()) if here else None
    async with door.client(settings) as client:
        found = await client.sessions(directory, limit=limit)
        shown = sum(each.depth == 0 for each in found)
        others = await client.session_count(directory) - shown if shown == limit else 0
    if as_json:
        click.echo(json.dumps([each.model_dump(mode="json") for each in found], indent=2))
    elif not found:
        door.say("There is no session yet: `holdfast run` starts one.")
    else:
        for row in session_table.rows(found, datetime.now(UTC), columns(), here=here):
            click.echo(row)
    if others > 0:
        door.say(f"And {others:,} more: holdfast sessions {'--here ' if here else ''}--all")
    for group in neighbours.crowded(found):
        named = ", ".join(each.id for each in group[:_NAMED])
        more = f" and {counted(len(group) - _NAMED, 'other')}" if len(group) > _NAMED else ""
        where = exact(group[0].directory)
        door.say(f"At work in one directory, {where}: {named}{more}. They share the same files.")


@click.command()
@_SESSION
@click.option("--keep-queued", is_flag=True, help="Keep the prompts that no turn has taken yet.")
@click.option("--json", "as_json", is_flag=True, help="What was stopped, as JSON.")
@door.command
async def stop(settings: Settings, session: str, keep_queued: bool, as_json: bool) -> None:
    """Stop a session's turn.

    Commands that run are ended with it. Prompts that were not taken yet are withdrawn; the session itself stays.

    \b
    Examples:
      holdfast stop last
      holdfast stop ses_… --keep-queued
    """
    async with door.client(settings, working=True) as client:
        known = await client.session(await find.session(client, session))
        stopped = await client.stop(known.id, keep_queued=keep_queued)
    click.echo(stopped.model_dump_json() if as_json else f"{_stopped(stopped)} {line(known.title)} ({known.id})")


@click.command()
@_SESSION
@agreement.yes_option
@click.option("--json", "as_json", is_flag=True, help="What was stopped, as JSON.")
@door.command
async def end(settings: Settings, session: str, yes: bool, as_json: bool) -> None:
    """End a session for good.

    Its turn is stopped, its grants end with it, and it takes no prompt any more. Its log stays. On a terminal it asks
    first; without one, `end last` needs --yes.

    \b
    Example:
      holdfast end ses_…
    """
    async with door.client(settings, working=True) as client:
        known = await agreement.session(client, session, "End {} for good?", yes=yes)
        stopped = await client.end(known.id)
    click.echo(stopped.model_dump_json() if as_json else f"The session has ended: {line(known.title)} ({known.id})")


def _stopped(stopped: Stopped) -> str:
    withdrawn = f" {counted(len(stopped.withdrawn), 'prompt')} withdrawn." if stopped.withdrawn else ""
    if stopped.turn is None:
        return f"No turn was running.{withdrawn}"
    return f"The stop is recorded; the turn is ending.{withdrawn}"
