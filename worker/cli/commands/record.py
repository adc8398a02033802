"""`holdfast log`, `export`, `import`, `fork`, `archive` and `delete`: a session's records."""

import json
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

import click
from pydantic import JsonValue

from activities.archive import archive_file, verification
from activities.archive.archive_file import SUFFIX
from activities.project import worktree
from activities.shell.environment import session_environment
from worker.archives_client import verify_archive
from worker.cli import completers, confirmation, id_lookup
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, current_directory, open_client, open_reader, person_command
from worker.cli.exit_codes import ExitCode
from worker.cli.render.console import Row, joined, print_rows, styled, terminal_columns
from worker.cli.render.escaping import escape_exact, escape_prose, one_line
from worker.cli.render.formatting import pluralize
from worker.cli.render.session_summary import SessionSummary, render_session_summary
from worker.cli.render.wrap import display_width, wrap_text
from worker.opencode.export import Exporter
from worker.session_client import SessionClient
from worker.settings import Settings
from workflows.domain.errors import UsageError
from workflows.domain.ids import MessageId, Prefix, SessionId, is_id
from workflows.domain.views.accepted import DeletedMessage, DeletedSessions
from workflows.domain.views.events import EventWithContents
from workflows.domain.views.sessions import Verification

_COLUMNS = 100  # of a summary: in a pipe, and at most on a terminal
_LONGEST = 60  # characters of a field in the log
_DETAILS = 7  # blanks before an event's details in their own row


@click.command()
@click.argument("session", shell_complete=completers.session)
@click.option("--verify", is_flag=True, help="Recompute the hash chain; name the first bad row, if there is one.")
@click.option("--events", "each_event", is_flag=True, help="Print each event: number, time, author, type, details.")
@click.option("--after", type=click.IntRange(0), help="Only the events after this one.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as a JSON object on a line of its own.")
@async_command
async def log(
    settings: Settings, session: str, verify: bool, each_event: bool, after: int | None, as_json: bool
) -> ExitCode:
    """Summarize what a session has done on one page, show its log, or verify it.

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
        return _log_of_archive(Path(session), verify, after or 0, as_json)
    async with open_reader(settings) as client:
        found = await id_lookup.find_session(client, session)
        if verify:
            tree = await client.sessions.tree(found)
            return _print_verified([await client.records.verify(each) for each in tree], as_json)
        if not (each_event or as_json or after is not None):
            return await _print_summary(client, found)
        async for seen in client.records.log(found, after or 0):
            if as_json:
                fields = {**seen.record.model_dump(mode="json"), "contents": seen.contents}
                click.echo(json.dumps(fields, separators=(",", ":")))
            else:
                print_rows(_event_rows(seen))
    return ExitCode.DONE


@click.command()
@click.argument("session", shell_complete=completers.session)
@click.option("--sanitize", is_flag=True, help="Put placeholders in place of texts, arguments, results and paths.")
@async_command
async def export(settings: Settings, session: str, sanitize: bool) -> None:
    """Write a session as JSON, in OpenCode's form.

    The document is {info, messages: [{info, parts}]}, on standard output.

    \b
    Examples:
      holdfast export last > session.json
      holdfast export last --sanitize > for-a-bug-report.json
    """
    async with open_reader(settings) as client:
        overview = await client.sessions.require_contents(await id_lookup.find_session(client, session))
        directory = Path(overview.directory)
        root = worktree.find_root(directory)
        project = await worktree.project_id(root, directory)
        records = client.records
        unfinished, changes = await records.unfinished_turns(overview.id), await records.change_summary(overview.id)
        summaries, failures = await records.summaries(overview.id), await records.failures(overview.id)
        exporter = Exporter(overview, str(root or directory), unfinished, summaries, changes, failures)
        origin, totals = await client.sessions.origin(overview.id), await client.sessions.totals(overview.id)
        compacting = await client.sessions.compacting_since(overview.id)
        info = exporter.info(origin, totals, project, version("holdfast"), compacting)
        async for piece in exporter.document(info, records.messages(overview.id), sanitized=sanitize):
            click.echo(piece, nl=False)


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@async_command
@with_json("The session, as JSON.")
async def import_(settings: Settings, file: Path) -> CommandOutput:
    """Start a session from an export of OpenCode or Holdfast.

    It works in the current directory, with the texts, thoughts, calls and files of the messages; what else they hold is
    kept as a note. Ids stay, unless one of them is taken here: then all are new. Nothing in the file runs, and its cost
    is not counted again.

    \b
    Example:
      holdfast import session.json
    """
    directory = str(current_directory())
    async with open_client(settings) as client:
        environment = session_environment(client.settings.environment)
        imported = await client.copies.import_session(file, directory, environment=environment)
    ids = "" if imported.same_ids else ", under new ids"
    text = f"{imported.session}  {one_line(imported.title)}: {pluralize(imported.messages, 'message')}{ids}"
    return CommandOutput(imported, lambda: text)


@click.command()
@click.argument("session", shell_complete=completers.session)
@confirmation.yes_option
@async_command
async def archive(settings: Settings, session: str, yes: bool) -> None:
    """Move a session into a file, and out of the database.

    With its subagents. `sessions` still lists it, `log FILE` reads it, and `restore FILE` brings it back. One that is
    at work, suspended or asks stays. On a terminal it asks first. HOLDFAST_ARCHIVE_AFTER_DAYS archives idle sessions by
    itself.

    \b
    Example:
      holdfast archive ses_…
    """
    async with open_client(settings) as client:
        overview = await confirmation.confirm_session(client, session, "Move {} out of the database?", yes=yes)
        click.echo(await client.archives.archive(overview.id))


def _log_of_archive(path: Path, verify: bool, after: int, as_json: bool) -> ExitCode:
    if verify:
        return _print_verified(verify_archive(path), as_json)
    several = len(archive_file.read_manifest(path).sessions) > 1
    for session, records in groupby(verification.read_records(path), key=lambda record: record.session):
        if several and not as_json:
            click.echo(f"{session}:")
        for record in records:
            seen = EventWithContents(record=record, contents={})
            if record.seq > after:
                print_rows([record.model_dump_json()] if as_json else _event_rows(seen))
    return ExitCode.DONE


async def _print_summary(client: SessionClient, session: SessionId) -> ExitCode:
    summary = SessionSummary(session)
    for each in await client.sessions.tree(session):
        async for seen in client.records.log(each):
            summary.on_event(seen)
    room = min(terminal_columns() or _COLUMNS, _COLUMNS)
    print_rows(render_session_summary(summary, await client.sessions.get(session), datetime.now(UTC), room))
    return ExitCode.DONE


def _print_verified(found: list[Verification], as_json: bool) -> ExitCode:
    for verified in found:
        click.echo(verified.model_dump_json() if as_json else _describe_verified(verified))
    return ExitCode.DONE if all(verified.problem is None for verified in found) else ExitCode.FAILED


def _describe_verified(verified: Verification) -> str:
    events = pluralize(verified.events, "event")
    if verified.problem is None:
        return f"{verified.session}: {events}, the chain is whole, its head is {verified.head}"
    return f"{verified.session}: {escape_exact(verified.problem)}; {events} before it are in order"


def _event_rows(seen: EventWithContents) -> list[Row]:
    record, room = seen.record, terminal_columns()
    when = f"{datetime.fromisoformat(record.at).astimezone():%Y-%m-%d %H:%M:%S}"
    start = f"{record.seq:>5}  {when}  {escape_exact(record.actor.subject)}  "
    head = joined(start, styled(record.event.type, "bold"))
    fields = record.event.model_dump(mode="json", exclude={"type"}, exclude_defaults=True)
    details = " ".join(f"{name}={_truncate(value)}" for name, value in fields.items() if not name.endswith("seal"))
    if room is None or display_width(head) + display_width(f"  {details}") <= room:
        return [joined(head, f"  {details}" if details else "")]
    heads = [head] if display_width(head) <= room else wrap_text(str(head), room, 2)
    return [*heads, *wrap_text(f"{' ' * _DETAILS}{details}", room)]


def _truncate(value: JsonValue) -> str:
    raw = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    text = escape_exact(raw)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


@click.command()
@click.argument("session", shell_complete=completers.session)
@click.option("--at", "before", metavar="MESSAGE", help="Copy only what is before this message (`export` has the ids).")
@async_command
@with_json("Print the new session as JSON.")
async def fork(settings: Settings, session: str, before: str | None) -> CommandOutput:
    """Start a new session with the messages of another one.

    Both go on independently. Nothing that the messages tell of runs again: calls that have not ended are interrupted in
    the copy. Grants and to-dos stay with the origin, and files are as they are now.

    \b
    Examples:
      holdfast fork last
      holdfast fork ses_… --at msg_…
    """
    if before is not None and not is_id(Prefix.MESSAGE, before):
        raise UsageError(f"{before!r} is no message's id (msg_…): `holdfast export {session}` has them.")
    async with open_client(settings) as client:
        origin = await id_lookup.find_session(client, session)
        forked = await client.copies.fork_session(origin, before=MessageId(before) if before else None)
    copied = pluralize(forked.messages, "message")
    return CommandOutput(forked, lambda: f"{forked.session}  {one_line(forked.title)}: {copied} of {origin}")


@click.command()
@click.argument("session", shell_complete=completers.session)
@click.option("--message", metavar="MESSAGE", help="Only what this prompt, answer or summary holds.")
@confirmation.yes_option
@person_command
@with_json("Print what was deleted as JSON.")
async def delete(settings: Settings, session: str, message: str | None, yes: bool) -> CommandOutput:
    """Delete a session: erase all that it holds.

    With its subagents' sessions, the files of its calls, and its archive. What remains is its log of events, without
    contents, which still verifies and names you. A session at work must be stopped first. On a terminal it asks;
    without one, `delete last` needs --yes. Backups, other copies of its archive, and forks still hold what they hold.

    With --message only one prompt, answer or summary is erased, and models read that it was deleted. A summary or a
    title that was made of it, and a subagent's session, keep what they say.

    \b
    Examples:
      holdfast delete ses_…
      holdfast delete ses_… --message msg_…
    """
    if message is not None and not is_id(Prefix.MESSAGE, message):
        raise UsageError(f"{message!r} is no message's id (msg_…): `holdfast export {session}` has them.")
    what = "{} and all that it holds" if message is None else "the message of {}, with its calls,"
    async with open_client(settings) as client:
        overview = await confirmation.confirm_session(client, session, f"Delete {what} for good?", yes=yes)
        report: DeletedMessage | DeletedSessions
        if message is not None:
            report = await client.deletions.delete_message(overview.id, MessageId(message))
            rows = [f"Deleted: message {report.message} of {overview.id}"]  # the title may quote it
        else:
            report = await client.deletions.delete(overview.id)
            below = len(report.deleted) - 1
            others = f", with {pluralize(below, 'session')} of subagents" if below else ""
            deleted = f"Deleted: {one_line(overview.title)} ({overview.id}){others}"
            rows = [deleted] if overview.id in report.deleted else []
    notes = [f"Not deleted: {escape_prose(each)}" for each in report.failures]
    if report.host is not None:
        host = one_line(report.host)
        notes.insert(0, f"The files of its calls are on host {host}; its worker removes them within an hour.")
    return CommandOutput(report, lambda: rows, notes=notes, code=ExitCode.FAILED if report.failures else ExitCode.DONE)
