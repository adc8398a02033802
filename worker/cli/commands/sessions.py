"""`holdfast sessions`, `stop` and `end`: sessions as a whole."""

import json
from datetime import UTC, datetime

import click

from worker.cli import agreement, complete, door, find, neighbours
from worker.cli.current import current_directory
from worker.cli.look.page import columns, fitted
from worker.cli.look.standing import sentences, state
from worker.cli.look.table import table
from worker.cli.look.text import age, counted, exact, line, width
from worker.cli.look.wrap import folded
from worker.client import Overview, Stopped
from worker.settings import Settings

_TITLE = 60  # characters
_NAMED = 3  # sessions of a directory where many are at work
_NARROWEST = 12  # of what is cut on a narrow terminal
_SESSION = click.argument("session", shell_complete=complete.session)


@click.group(invoke_without_command=True)
@click.option("--here", is_flag=True, help="Only those of the current directory.")
@click.option("-n", "--limit", type=click.IntRange(1), default=30, show_default=True, help="How many.")
@click.option("--json", "as_json", is_flag=True, help="As a JSON array.")
@click.pass_context
def sessions(context: click.Context, here: bool, limit: int, as_json: bool) -> None:
    """List the sessions, or show one.

    The last changed stands first, and each above its subagents'.

    \b
    Examples:
      holdfast sessions --here
      holdfast sessions show last
    """
    if context.invoked_subcommand is None:
        context.exit(_listed(here, limit, as_json))


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
async def _listed(settings: Settings, here: bool, limit: int, as_json: bool) -> None:
    async with door.client(settings) as client:
        found = await client.sessions(str(current_directory()) if here else None, limit=limit)
    if as_json:
        click.echo(json.dumps([each.model_dump(mode="json") for each in found], indent=2))
    elif not found:
        door.say("There is no session yet: `holdfast run` starts one.")
    for row in [] if as_json else _rows(found):
        click.echo(row)
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


def _rows(found: list[Overview]) -> list[str]:
    """The sessions as a table; a terminal without room for it shows the beginning of titles, the end of directories,
    and one without room for these what a session is about below how it stands."""
    now, room = datetime.now(UTC), columns()
    stand = [(each.id, state(each, now), age(each.updated_at, now)) for each in found]
    about = [(_title(each), _where(each)) for each in found]
    whole = table((*first, *second) for first, second in zip(stand, about, strict=True))
    if room is None or all(width(row) <= room for row in whole):
        return whole
    left = room - max(map(width, table((*first, "", "|") for first in stand))) + 1
    if left < 2 * _NARROWEST:
        below = zip(table(stand), about, strict=True)
        return [row for first, second in below for row in (*folded(first, room, 2), *folded(_below(*second), room, 2))]
    where = min(max(width(each) for _, each in about), max(left // 3, _NARROWEST))
    titles = [_begun(_title(each), left - where) for each in found]
    where = left - max(map(width, titles))
    return table((*first, title, _where(each, where)) for first, title, each in zip(stand, titles, found, strict=True))


def _below(title: str, where: str) -> str:
    return f"  {title}  {where}".rstrip()


def _title(seen: Overview) -> str:
    """A subagent's below that of its session."""
    branch = f"{'  ' * (seen.depth - 1)}└ " if seen.depth else ""
    return f"{branch}{line(seen.title, _TITLE)}"


def _begun(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _where(seen: Overview, longest: int | None = None) -> str:
    """The directory, or its end; a subagent works in that of its session."""
    named = "" if seen.depth else exact(seen.directory)
    return named if longest is None or len(named) <= longest else f"…{named[1 - longest :]}"


def _stopped(stopped: Stopped) -> str:
    withdrawn = f" {counted(len(stopped.withdrawn), 'prompt')} withdrawn." if stopped.withdrawn else ""
    if stopped.turn is None:
        return f"No turn was running.{withdrawn}"
    return f"The stop is recorded; the turn is ending.{withdrawn}"
