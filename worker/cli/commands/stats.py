"""`holdfast stats`."""

from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click

from worker.api.budgets import BudgetOverview
from worker.cli import completers, filter_options, id_lookup
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, open_reader
from worker.cli.filter_options import session_filter
from worker.cli.render.console import terminal_columns
from worker.cli.render.usage_table import render_statistics
from worker.settings import Settings
from workflows.domain.errors import NothingYet, UsageError
from workflows.domain.statistics import NO_STATISTICS

_DAYS: Final = 30
_LISTED: Final = 7


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
    return CommandOutput(value, lambda: render_statistics(known, budgets, terminal_columns()))
