"""`holdfast stats` and `projects`."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

from worker.cli import completers, filter_options, id_lookup
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, open_reader
from worker.cli.filter_options import session_filter
from worker.cli.render.console import Row, joined, styled, terminal_columns
from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.formatting import format_age, format_price, format_tokens, pluralize
from worker.cli.render.session_status import describe_budget
from worker.cli.render.text_table import format_table
from worker.cli.render.wrap import wrap_text
from worker.settings import Settings
from workflows.domain.budgets import BudgetOverview
from workflows.domain.errors import NothingYet, UsageError
from workflows.domain.statistics import NO_STATISTICS, Statistics, ToolEntry, UsageEntry
from workflows.domain.views.sessions import Project

_DAYS: Final = 30
_LISTED: Final = 7
_KINDS: Final = {"day": "Days", "model": "Models", "agent": "Agents", "directory": "Directories", "session": "Sessions"}
_TITLE: Final = 40  # characters


@click.command()
@click.option("-s", "--session", metavar="SESSION", shell_complete=completers.session, help="With its subagents'.")
@filter_options.place_options
@click.option(
    "-n", "--limit", type=click.IntRange(1, 100_000), default=_LISTED, show_default=True, help="Rows of each."
)
@click.option("--all", "all_", is_flag=True, help=f"Of all time, instead of the last {_DAYS} days.")
@async_command
@with_json("As a JSON object.")
async def stats(settings: Settings, /, session: str | None, limit: int, all_: bool, **chosen: Any) -> CommandOutput:
    """Show what was used: tokens, cost, models and tools.

    By day, model, agent, directory and session, the most expensive first, of the last days or, with --session, of one.
    The cost of answers without a known price is unknown, and called so. What a fork has copied counts for its origin.

    \b
    Examples:
      holdfast stats --project
      holdfast stats -s last
      holdfast stats --since 12h --json
    """
    wanted = session_filter(**chosen)
    if all_ and wanted.since is not None:
        raise UsageError("--all and --since both say from when on: give one of them.")
    if not (all_ or session or wanted.since):
        wanted = wanted.model_copy(update={"since": datetime.now(UTC) - timedelta(days=_DAYS)})
    offset = datetime.now().astimezone().utcoffset() or timedelta()
    known = NO_STATISTICS
    budgets: list[BudgetOverview] = []
    with nullcontext() if session else suppress(NothingYet):
        async with open_reader(settings) as client:
            found = await id_lookup.find_session(client, session) if session else None
            known = await client.sessions.statistics(wanted, session=found, offset=offset, limit=limit)
            budgets = await client.sessions.budgets_of_day()
    value = known.model_dump(mode="json") | {"budgets": budgets}
    return CommandOutput(value, lambda: _rows(known, budgets, terminal_columns()))


def _rows(known: Statistics, budgets: Sequence[BudgetOverview], max_columns: int | None) -> Iterator[Row]:
    (total,) = known.of("all")
    tokens = total.tokens
    yield f"{pluralize(total.sessions, 'session')} · {pluralize(total.steps, 'step')} · {_price(total)}"
    yield from wrap_text(
        f"{format_tokens(_all(total), total.steps)}: input {tokens.input:,}, cache read {tokens.cache_read:,} and "
        f"written {tokens.cache_write:,}, output {tokens.output:,}, reasoning {tokens.reasoning:,}",
        max_columns,
    )
    for kind, heading in _KINDS.items():
        if entries := known.of(kind):
            yield from _section(heading, [_usage_row(each) for each in entries], entries[-1].others, max_columns)
    if known.tools:
        yield from _section("Tools", [_tool_row(each) for each in known.tools], 0, max_columns)
    yield from _budget_rows(budgets, max_columns)
    uncounted = {"archived session": known.archived, "deleted session": known.deleted}
    if named := [pluralize(number, noun) for noun, number in uncounted.items() if number]:
        yield ""
        yield f"Not counted: {' and '.join(named)}."


def _budget_rows(budgets: Sequence[BudgetOverview], max_columns: int | None) -> Iterator[Row]:
    if budgets:
        yield ""
        yield styled("Budgets", "bold")
    for budget in budgets:
        where = "" if budget.worktree is None else f"{escape_exact(budget.worktree)}: "
        yield from wrap_text(f"  {where}{describe_budget(budget)}", max_columns, 2)


def _section(heading: str, rows: Sequence[tuple[str, ...]], others: int, max_columns: int | None) -> Iterator[Row]:
    yield ""
    yield styled(heading, "bold")
    yield from (joined("  ", row) for row in format_table(rows, None if max_columns is None else max_columns - 2))
    if others:
        yield f"  … and {others:,} more"


def _usage_row(entry: UsageEntry) -> tuple[str, ...]:
    share = entry.cache_share
    cached = "" if share is None else f"{share:.0%} cached"
    tokens = format_tokens(_all(entry), entry.steps)
    title = f" {one_line(entry.title or '', _TITLE)}" if entry.kind == "session" else ""
    return _price(entry), tokens, cached, pluralize(entry.steps, "step"), escape_exact(entry.name) + title


def _tool_row(entry: ToolEntry) -> tuple[str, ...]:
    ends = {"done": entry.done, "failed": entry.failed, "refused": entry.refused}
    described = ", ".join(f"{number:,} {end}" for end, number in ends.items() if number)
    return pluralize(entry.calls, "call"), escape_exact(entry.tool), described


def _all(entry: UsageEntry) -> int:
    return entry.tokens.prompt + entry.tokens.output + entry.tokens.reasoning


def _price(entry: UsageEntry) -> str:
    return format_price(entry.cost)


@click.command()
@async_command
@with_json("As a JSON array, with the projects' ids.")
async def projects(settings: Settings) -> CommandOutput:
    """List the projects in which sessions were started.

    A project is a git work tree, or a directory outside of any. The last changed stands first. Work trees of one
    repository have one id: that of its first commit.

    \b
    Examples:
      holdfast projects
      holdfast sessions --project
    """
    found: list[Project] = []
    with suppress(NothingYet):
        async with open_reader(settings) as client:
            found = await client.sessions.projects()
    none = "There is no project yet: `holdfast run` starts a session, and with it one."
    return CommandOutput(found, lambda: _project_rows(found), empty=none)


def _project_rows(found: list[Project]) -> list[Row]:
    now = datetime.now(UTC)
    rows = [
        (
            f"{pluralize(each.sessions, 'session')}",
            format_age(each.updated_at, now),
            each.vcs or "no git",
            escape_exact(each.worktree) + (f" on {escape_exact(each.host)}" if each.host else ""),
        )
        for each in found
    ]
    return format_table(rows, terminal_columns())
