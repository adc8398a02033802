"""How a call has ended, for people: a mark, a remark, and rows."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from worker.cli.render.ask_preview import format_diff
from worker.cli.render.call_arguments import format_todo
from worker.cli.render.collapse import DIFF_LIMIT, OUTPUT_LIMIT, collapse, diff_line_colour, number_diff_lines
from worker.cli.render.console import Row, styled
from worker.cli.render.escaping import escape_prose, one_line
from worker.cli.render.event_contents import CallContent
from worker.cli.render.formatting import format_price, pluralize
from worker.cli.render.wrap import add_bar, wrap_text
from workflows.domain.call_display import DisplayKind
from workflows.domain.messages import CallState
from workflows.domain.usage import Cost

_MARKS: Final = {
    CallState.DONE: ("✓", "green"),
    CallState.FAILED: ("✗", "red"),
    CallState.UNKNOWN: ("?", "bold yellow"),
    CallState.CANCELLED: ("–", "dim"),
    CallState.REFUSED: ("✗", "red"),
}
_LISTED: Final = 50  # todos, files


def mark_of(call: CallContent | None, state: str) -> Row:
    return styled(*_MARKS[CallState.FAILED if _failure(call, state) else CallState(state)])


def result_suffix(call: CallContent | None, state: str) -> str:
    """Whether its arguments were mended; its failure, subagent's cost, or the files of instructions with a read."""
    mended = " · arguments mended" if call is not None and call.display.mended else ""
    if (failure := _failure(call, state)) or state != CallState.DONE:
        return f"{mended} ({failure or state})"
    metadata = call.outcome.metadata if call and call.outcome else {}
    loaded = metadata.get("loaded")
    if isinstance(loaded, list) and loaded:
        return f"{mended} · with {', '.join(one_line(str(each)) for each in loaded[:_LISTED])}"
    if call is None or call.display.kind is not DisplayKind.DELEGATE or "cost" not in metadata:
        return mended
    cost = Cost(dollars=Decimal(str(metadata["cost"] or 0)), unpriced=int(str(metadata.get("unpriced", 0))))
    return f"{mended} · {format_price(cost)}"


def result_rows(call: CallContent, state: str, *, diff_shown: bool, columns: int | None) -> Iterator[Row]:
    """`diff_shown`: the question has shown the diff already."""
    outcome = call.outcome
    if outcome is None:
        return
    diff, todos = format_diff(outcome.metadata), outcome.metadata.get("todos")
    if state != CallState.DONE or call.display.kind is DisplayKind.EXECUTE:
        shown = collapse(escape_prose(call.output.strip("\n")), OUTPUT_LIMIT).text
        yield from add_bar(shown, columns) if shown else []
    elif diff:
        if not diff_shown:
            shown = collapse(number_diff_lines(escape_prose(diff)), DIFF_LIMIT).text
            yield from add_bar(shown, columns, diff_line_colour)
    elif isinstance(todos, list):
        for each in todos[:_LISTED]:
            yield from wrap_text(f"  {one_line(format_todo(each))}", columns, 2) if isinstance(each, dict) else []
        yield from [f"  … and {pluralize(len(todos) - _LISTED, 'task')} more"] if len(todos) > _LISTED else []


def _failure(call: CallContent | None, state: str) -> str | None:
    return call.failure if call is not None and state == CallState.DONE else None
