"""`holdfast sessions`, `stop` and `end`."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from activities.shell.left_processes import find_left
from worker.cli import completers, confirmation, filter_options, id_lookup, other_sessions
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, open_client, open_reader
from worker.cli.exit_codes import ExitCode
from worker.cli.filter_options import session_filter
from worker.cli.render.console import Row, terminal_columns
from worker.cli.render.escaping import escape_exact, escape_prose, one_line
from worker.cli.render.formatting import describe_left, format_age, pluralize
from worker.cli.render.sent_request_page import render_sent_request
from worker.cli.render.session_status import (
    describe_budget,
    describe_session,
    describe_stop,
    describe_subagent,
    status_label,
)
from worker.cli.render.text_table import format_headed, format_table
from worker.cli.render.wrap import clip_start, display_width, wrap_chars, wrap_text
from worker.release import installed_release
from worker.settings import Settings
from workflows.domain.errors import NothingYet, UsageError
from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, Prefix, is_id
from workflows.domain.sent_request import RequestChoice
from workflows.domain.session_filter import SessionFilter
from workflows.domain.views.sessions import Overview

if TYPE_CHECKING:
    from worker.session_client import SessionClient

_NAMED = 3  # sessions that share a directory
_LISTED = 30  # sessions
_SUMMARY = 1_000  # characters
_PROMPT = 96  # characters
_SESSION = click.argument("session", shell_complete=completers.session)
_STEP: Final = re.compile(r"(?:(\d{1,9})\.)?(\d{1,9})", re.ASCII)
_ASIDES: Final = {purpose.value: purpose for purpose in (Purpose.COMPACTION, Purpose.TITLE, Purpose.SUMMARY)}
_TITLE: Final = 60  # characters
_NARROWEST: Final = 12  # columns of a cut title or directory
_GAP: Final = 2
_HEADER: Final = ("STATE", "CHANGED", "SESSION")


@click.group(invoke_without_command=True)
@filter_options.listing_options
@click.option("-n", "--limit", type=click.IntRange(1), help=f"How many, subagents not counted.  [default: {_LISTED}]")
@click.option("--all", "all_", is_flag=True, help="All of them.")
@click.option("--json", "as_json", is_flag=True, help="As a JSON array.")
@click.pass_context
def sessions(context: click.Context, /, limit: int | None, all_: bool, as_json: bool, **chosen: Any) -> None:
    """List the sessions, or show one.

    The last changed stands first, and each above its subagents'. Options that choose must all hold, for one session or
    subagent of it. In a pipe there is no header, and a session's row begins with its id.

    \b
    Examples:
      holdfast sessions --here
      holdfast sessions --project --state failed --since 3d
      holdfast sessions show last
    """
    if all_ and limit is not None:
        raise UsageError("--all and --limit both say how many: give one of them.")
    if context.invoked_subcommand is None:
        context.exit(_list_sessions(session_filter(**chosen), None if all_ else limit or _LISTED, as_json))


@sessions.command(short_help="Show the state of a session.")
@_SESSION
@click.option("--summary", is_flag=True, help="The summary that its model reads in place of what was compacted.")
@click.option(
    "--prompt",
    metavar="[STEP]",
    is_flag=False,
    flag_value="",
    help="What its model was sent: at the newest step, STEP of its turn (4), or TURN.STEP (2.4); for `compaction`, "
    "`title`, `summary`, or a generation (gen_…).",
)
@click.option("--json", "as_json", is_flag=True, help="As a JSON object.")
@async_command
async def show(settings: Settings, session: str, summary: bool, prompt: str | None, as_json: bool) -> ExitCode:
    """Show the state of a session: what it does or waits for, and what can be done.

    --prompt shows what the model was sent instead, built again from the records: instructions, conversation and tools
    with their tokens by estimate, and what was left out and why. A digest that was kept before the request was sent
    tells whether it is the same.

    \b
    Examples:
      holdfast sessions show last
      holdfast sessions show last --summary
      holdfast sessions show last --prompt 2.4
    """
    if summary and (as_json or prompt is not None):
        other = "--json" if as_json else "--prompt"
        raise UsageError(f"--summary and {other} both say what to show: give one of them.")
    choice = None if prompt is None else parse_request_choice(prompt)
    async with open_reader(settings) as client:
        if choice is not None:
            sent = await client.records.sent(await id_lookup.find_session(client, session), choice)
            value = sent.model_dump(mode="json") | {"as_sent": sent.as_sent}
            release = str(installed_release())
            return CommandOutput(value, lambda: render_sent_request(sent, release, terminal_columns())).print(
                as_json=as_json
            )
        if summary:
            text = await client.records.summary(await id_lookup.find_session(client, session))
            click.echo(escape_prose(text or "Nothing of this session was compacted."))
            return ExitCode.DONE
        overview = await client.sessions.get(await id_lookup.find_session(client, session))
        asks = await client.inbox.asks(session=overview.id) if overview.asks and not as_json else []
        changes = (await client.sessions.totals(overview.id)).changes
        budgets = await client.sessions.budgets(overview.id)
        kept = overview.archive is None and overview.status != "deleted"
        summary_of_changes = await client.records.change_summary(overview.id) if kept else None
        below = await client.sessions.below(overview.id) if overview.working else []
        left = [each for each in find_left(settings.home) if each.session == overview.id]
    more = {"changes": changes, "budgets": budgets, "change_summary": summary_of_changes, "left_running": left}
    now = datetime.now(UTC)
    rows = [*describe_session(overview, changes, now, asks[0].name if asks else None)]
    rows += [f"  {describe_subagent(each, now)}" for each in below if each.working]
    rows += [f"  {describe_budget(budget)}" for budget in budgets]
    rows += [f"  {describe_left(each)}" for each in left]
    if summary_of_changes is not None:
        changed = one_line(summary_of_changes.text, _SUMMARY)
        rows.append(f"  Changes, up to turn {summary_of_changes.number}: {changed}")
    wrapped = (each for row in rows for each in wrap_text(row, terminal_columns(), 2))
    return CommandOutput(overview.model_dump(mode="json") | more, lambda: wrapped).print(as_json=as_json)


@async_command
async def _list_sessions(settings: Settings, wanted: SessionFilter, limit: int | None, as_json: bool) -> ExitCode:
    found: list[Overview] = []
    others = 0
    with suppress(NothingYet):
        async with open_reader(settings) as client:
            found = await client.sessions.list_recent(wanted, limit=limit)
            shown = sum(each.depth == 0 for each in found)
            others = await client.sessions.count(wanted) - shown if shown == limit else 0
    here = wanted.directory is not None
    return CommandOutput(
        found,
        lambda: render_session_table(found, datetime.now(UTC), terminal_columns(), same_directory=here),
        empty="There is no session yet: `holdfast run` starts one." if wanted.empty else "No session matches.",
        notes=_list_notes(found, others, "holdfast sessions --all" if wanted.empty else "the same with --all"),
    ).print(as_json=as_json)


def _list_notes(found: list[Overview], others: int, again: str) -> Iterator[str]:
    if others > 0:
        yield f"And {others:,} more: {again}"
    for group in other_sessions.find_shared_directories(found):
        named = ", ".join(each.id for each in group[:_NAMED])
        more = f" and {pluralize(len(group) - _NAMED, 'other')}" if len(group) > _NAMED else ""
        where = escape_exact(group[0].directory)
        yield f"At work in one directory, {where}: {named}{more}. They share the same files."


@click.command()
@_SESSION
@click.option("--keep-queued", is_flag=True, help="Keep the prompts that no turn has taken yet.")
@async_command
@with_json("Print what was stopped as JSON.")
async def stop(settings: Settings, session: str, keep_queued: bool) -> CommandOutput:
    """Stop a session's turn.

    Commands that run are ended with it, and so are its subagents, also in the background. Prompts that were not taken
    yet are withdrawn; the session itself stays.

    \b
    Examples:
      holdfast stop last
      holdfast stop ses_… --keep-queued
    """
    async with open_client(settings, with_worker=True) as client:
        overview = await client.sessions.get(await id_lookup.find_session(client, session))
        stopped = await client.stop(overview.id, keep_queued=keep_queued)
        withdrawn = await _withdrawn_texts(client, overview) if stopped.withdrawn else []
    described = f"{describe_stop(stopped)} {one_line(overview.title)} ({overview.id})"
    return CommandOutput(stopped, lambda: "\n".join([described, *withdrawn]))


async def _withdrawn_texts(client: "SessionClient", before: Overview) -> list[str]:
    """The beginnings of the prompts that were withdrawn since then."""
    # `sessions` alone needs no events
    from worker.cli.render.event_contents import prompt_of
    from workflows.domain.events.prompts import PromptWithdrawn

    found = [(seen, seen.record.event) async for seen in client.records.log(before.id, before.seq)]
    prompts = [prompt_of(seen, event.prompt) for seen, event in found if isinstance(event, PromptWithdrawn)]
    return [f"  > {one_line(text, _PROMPT)}" for text in prompts]


@click.command()
@_SESSION
@confirmation.yes_option
@async_command
@with_json("Print what was stopped as JSON.")
async def end(settings: Settings, session: str, yes: bool) -> CommandOutput:
    """End a session for good.

    Its turn is stopped, its grants and what its calls have left running end with it, and it takes no prompt any more.
    Its log stays. On a terminal it asks first; without one, `end last` needs --yes.

    \b
    Example:
      holdfast end ses_…
    """
    async with open_client(settings, with_worker=True) as client:
        overview = await confirmation.confirm_session(client, session, "End {} for good?", yes=yes)
        stopped = await client.end(overview.id)
    return CommandOutput(stopped, lambda: f"The session has ended: {one_line(overview.title)} ({overview.id})")


def parse_request_choice(text: str) -> RequestChoice:
    """The value of `--prompt`; empty: the newest step. Raises UsageError."""
    if not text:
        return RequestChoice()
    if text in _ASIDES:
        return RequestChoice(purpose=_ASIDES[text])
    if is_id(Prefix.GENERATION, text):
        return RequestChoice(purpose=None, generation=GenerationId(text))
    if (found := _STEP.fullmatch(text)) is None:
        names = ", ".join(f"`{name}`" for name in _ASIDES)
        raise UsageError(
            f"--prompt takes a step of the newest turn (4), a turn and a step (2.4), {names}, or a generation's id "
            f"(gen_…), not {text!r}."
        )
    turn, step = found.groups()
    return RequestChoice(turn=int(turn) if turn else None, step=int(step))


def render_session_table(
    found: Sequence[Overview], now: datetime, max_columns: int | None, *, same_directory: bool = False
) -> list[Row]:
    """The rows for a terminal of `max_columns`, None for a pipe. `same_directory`: leave the directory out."""
    stand = [(status_label(each, now), format_age(each.updated_at, now), each.id) for each in found]
    if max_columns is None:
        pairs = zip(stand, found, strict=True)
        return format_table((id_, what, when, _title(each), _where(each)) for (what, when, id_), each in pairs)
    titles = [_title(each) for each in found]
    wheres = [] if same_directory else [_where(each) for each in found]
    left = max_columns - max(map(display_width, format_table([_HEADER, *stand]))) - _GAP * (1 if same_directory else 2)
    if left < _NARROWEST * (1 if same_directory else 2):
        return list(_stacked(stand, titles, wheres, max_columns))
    longest = max(map(display_width, wheres), default=0)
    most = max(left - max(map(display_width, titles)), left // 3, _NARROWEST)  # for the directories
    titles = [_truncate_end(title, left - min(longest, most)) for title in titles]
    header = ("TITLE", *_HEADER, *(() if same_directory else ("DIRECTORY",)))
    ends = [()] * len(found) if same_directory else [(clip_start(where, most),) for where in wheres]
    columns = [(title, *each, *end) for title, each, end in zip(titles, stand, ends, strict=True)]
    return format_headed([header, *columns], None)


def _stacked(
    stand: Sequence[tuple[str, ...]], titles: Sequence[str], wheres: Sequence[str], max_columns: int
) -> Iterator[Row]:
    for title, below, where in zip(titles, format_table(stand), wheres or [""] * len(titles), strict=True):
        yield _truncate_end(title, max_columns)
        for each in filter(None, (str(below), where)):
            yield from wrap_text(f"  {each}", max_columns, 2)


def _title(overview: Overview) -> str:
    branch = f"{'  ' * (overview.depth - 1)}└ " if overview.depth else ""
    scheduled = " (scheduled)" if overview.schedule is not None else ""
    return f"{branch}{one_line(overview.title, _TITLE)}{scheduled}"


def _where(overview: Overview) -> str:
    """The session's directory; empty for a subagent, which works in its parent's."""
    return "" if overview.depth else escape_exact(overview.directory)


def _truncate_end(text: str, longest: int) -> str:
    return text if display_width(text) <= longest else f"{wrap_chars(text, longest - 1)[0]}…"
