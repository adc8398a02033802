"""What was used, as tables."""

from collections.abc import Iterator, Sequence
from typing import Final

from worker.api.budgets import BudgetOverview
from worker.cli.render.budget_text import describe_budget
from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.formatting import format_price, format_tokens, pluralize
from worker.cli.render.styles import Row, joined, styled
from worker.cli.render.text_table import format_table
from worker.cli.render.wrap import wrap_text
from workflows.domain.statistics import Statistics, ToolEntry, UsageEntry

_KINDS: Final = {"day": "Days", "model": "Models", "agent": "Agents", "directory": "Directories", "session": "Sessions"}
_TITLE: Final = 40  # characters


def render_statistics(known: Statistics, budgets: Sequence[BudgetOverview], max_columns: int | None) -> Iterator[Row]:
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
