"""`holdfast log`, `export` and `archive`: what was recorded of a session."""

import json
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

import click
from pydantic import JsonValue

from activities.archive import file, verifying
from activities.archive.file import SUFFIX
from activities.project import worktree
from worker.cli import agreement, complete, door, find
from worker.cli.exits import Exit
from worker.cli.look.account import Account, page
from worker.cli.look.export import Exporter
from worker.cli.look.page import columns
from worker.cli.look.text import counted, exact, width
from worker.cli.look.wrap import flowed, folded
from worker.client import Seen, SessionClient, Verified
from worker.settings import Settings
from workflows.domain.ids import SessionId

_COLUMNS = 100  # of a page that nobody sees on a terminal, and the most on one
_LONGEST = 60  # characters of a field in the log
_DETAILS = 7  # blanks before an event's details in a row of their own: they stand below its time


@click.command()
@click.argument("session", shell_complete=complete.session)
@click.option("--verify", is_flag=True, help="Recompute the hash chain; name the first bad row, if there is one.")
@click.option("--events", "each_event", is_flag=True, help="Event by event: number, time, author, type, details.")
@click.option("--after", type=click.IntRange(0), help="The events after this one.")
@click.option("--json", "as_json", is_flag=True, help="Event by event, one JSON object on each line.")
@door.command
async def log(
    settings: Settings, session: str, verify: bool, each_event: bool, after: int | None, as_json: bool
) -> Exit:
    """Tell on one page what a session has done, or show its log, or verify it.

    Of each turn: what was done, what was asked and who has answered, what failed and was tried again, what it cost;
    with the work of its subagents. --events shows every event instead. --verify recomputes the chain over all of them
    and the seals of their contents, and ends with code 1 where something was changed, removed or added.

    An archive's file may stand for the session: its events are read and verified by themselves, with no stack.

    \b
    Examples:
      holdfast log last
      holdfast log last --events
      holdfast log ses_… --verify
    """
    if session.endswith(SUFFIX):
        return _of_file(Path(session), verify, after or 0, as_json)
    async with door.client(settings) as client:
        found = await find.session(client, session)
        if verify:
            return await _verify(client, found, as_json)
        if not (each_event or as_json or after is not None):
            return await _account(client, found)
        async for seen in client.log(found, after or 0):
            click.echo(_as_json(seen) if as_json else _event(seen))
    return Exit.DONE


@click.command()
@click.argument("session", shell_complete=complete.session)
@door.command
async def export(settings: Settings, session: str) -> None:
    """Write a session as JSON, in OpenCode's form.

    The document is {info, messages: [{info, parts}]}, on standard output.

    \b
    Example:
      holdfast export last > session.json
    """
    async with door.client(settings) as client:
        overview = await client.session(await find.session(client, session))
        directory = Path(overview.directory)
        root = worktree.root(directory)
        project = await worktree.project_id(root, directory)
        exporter = Exporter(overview, str(root or directory), await client.cut_short(overview.id))
        info = exporter.info(await client.totals(overview.id), project, version("holdfast"))
        async for piece in exporter.document(info, client.told(overview.id)):
            click.echo(piece, nl=False)


@click.command()
@click.argument("session", shell_complete=complete.session)
@agreement.yes_option
@door.command
async def archive(settings: Settings, session: str, yes: bool) -> None:
    """Move a session into a file, and out of the database.

    With its subagents. `sessions` still lists it, `log FILE` reads it, and `restore FILE` brings it back. One that is
    at work, parked or asks stays. On a terminal it asks first. HOLDFAST_ARCHIVE_AFTER_DAYS has this done by itself with
    sessions that rest.

    \b
    Example:
      holdfast archive ses_…
    """
    async with door.client(settings) as client:
        known = await agreement.session(client, session, "Move {} out of the database?", yes=yes)
        click.echo(await client.archive(known.id))


def _of_file(path: Path, verify: bool, after: int, as_json: bool) -> Exit:
    """The log of an archive, session by session, or what verifying it shows."""
    if verify:
        return _told(verifying.verify(path), as_json)
    several = len(file.manifest(path).sessions) > 1
    for session, records in groupby(verifying.records(path), key=lambda record: record.session):
        if several and not as_json:
            click.echo(f"{session}:")
        for record in records:
            if record.seq > after:
                click.echo(record.model_dump_json() if as_json else _event(Seen(record=record, contents={})))
    return Exit.DONE


async def _account(client: SessionClient, session: SessionId) -> Exit:
    account = Account(session)
    for each in await client.tree(session):
        async for seen in client.log(each):
            account.note(seen)
    room = min(columns() or _COLUMNS, _COLUMNS)
    for row in page(account, await client.session(session), datetime.now(UTC), room):
        click.echo(row)
    return Exit.DONE


async def _verify(client: SessionClient, session: SessionId, as_json: bool) -> Exit:
    """Verify the log, and those of the subagents."""
    return _told([await client.verify(each) for each in await client.tree(session)], as_json)


def _told(found: list[Verified], as_json: bool) -> Exit:
    for verified in found:
        click.echo(verified.model_dump_json() if as_json else _verified(verified))
    return Exit.DONE if all(verified.problem is None for verified in found) else Exit.FAILED


def _verified(verified: Verified) -> str:
    events = counted(verified.events, "event")
    if verified.problem is None:
        return f"{verified.session}: {events}, the chain is whole, its head is {verified.head}"
    return f"{verified.session}: {exact(verified.problem)}; {events} before it are in order"


def _as_json(seen: Seen) -> str:
    return json.dumps({**seen.record.model_dump(mode="json"), "contents": seen.contents}, separators=(",", ":"))


def _event(seen: Seen) -> str:
    """An event on one line; on a terminal that has no room for it, its details in rows below."""
    record, room = seen.record, columns()
    when = f"{datetime.fromisoformat(record.at).astimezone():%Y-%m-%d %H:%M:%S}"
    head = "  ".join((f"{record.seq:>5}", when, exact(record.actor.subject), click.style(record.event.type, bold=True)))
    fields = record.event.model_dump(mode="json", exclude={"type"}, exclude_defaults=True)
    details = " ".join(f"{name}={_short(value)}" for name, value in fields.items() if not name.endswith("seal"))
    if room is None or width(click.unstyle(f"{head}  {details}")) <= room:
        return f"{head}  {details}".rstrip()
    return "\n".join([flowed(head, room, 2), *folded(f"{' ' * _DETAILS}{details}", room)])


def _short(value: JsonValue) -> str:
    text = exact(value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
