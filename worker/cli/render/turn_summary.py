"""A turn in a session's summary."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from worker.cli.render.console import Row, joined, styled
from worker.cli.render.escaping import one_line
from worker.cli.render.formatting import format_duration, format_past, format_price, format_tokens, pluralize
from worker.cli.render.wrap import wrap_text
from workflows.domain.answer_text import join_pieces
from workflows.domain.usage import Cost, Tokens

_CALLS: Final = 8  # named calls of a turn; the others are counted
_FILES: Final = 8
_QUESTIONS: Final = 12
_TROUBLES: Final = 8
_CONTEXT: Final = 3
_LABEL: Final = 9  # columns
_FURTHER: Final = 2  # blanks before continuation rows


@dataclass
class AskSummary:
    at: datetime
    what: str
    ask: str  # its name
    text: str = ""  # the answer
    author: str | None = ""  # who answered it; none: it was closed
    rule: str = ""


@dataclass
class Outage:
    """A provider's failures in a row, until it answers."""

    since: datetime
    kind: str
    text: str
    times: int = 0
    until: datetime | None = None


@dataclass
class TurnSummary:
    """What came of a turn, with its subagents' work."""

    number: int
    started_at: datetime
    ended: datetime | None = None
    reason: str = ""
    prompts: list[str] = field(default_factory=list)
    trust: str | None = None  # by whom the files of the project count
    calls: Counter[str] = field(default_factory=Counter)
    added: Counter[str] = field(default_factory=Counter)  # lines of each changed file
    removed: Counter[str] = field(default_factory=Counter)
    named: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))  # commands, and edits
    # that were not made; each with how it ended, if not well
    changed: dict[str, None] = field(default_factory=dict)  # by commands, as these were understood
    asked: dict[str, AskSummary] = field(default_factory=dict)
    outages: list[Outage] = field(default_factory=list)
    troubles: list[tuple[datetime, str]] = field(default_factory=list)
    context: list[tuple[datetime, str]] = field(default_factory=list)  # how it became shorter
    result: str = ""  # by its schema, as JSON
    text: str = ""
    pieces: list[list[str]] = field(default_factory=list)  # of that text, each with its texts
    is_cut: bool = False  # the next answer continues it
    steps: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    cost: Cost = field(default_factory=Cost)

    def add_answer(self, texts: list[str], *, cut: bool) -> None:
        self.pieces = [*(self.pieces if self.is_cut else ()), texts]
        self.text, self.is_cut = join_pieces(self.pieces).strip(), cut

    def add_failure(self, at: datetime, kind: str, text: str) -> None:
        if not self.outages or self.outages[-1].until is not None or self.outages[-1].kind != kind:
            self.end_outage(at)
            self.outages.append(Outage(at, kind, text))
        self.outages[-1].times += 1

    def end_outage(self, at: datetime) -> None:
        """End the outage: the provider has answered."""
        if self.outages and self.outages[-1].until is None:
            self.outages[-1].until = at


def describe_usage(steps: int, spent: Tokens, cost: Cost) -> str:
    number = spent.prompt + spent.output + spent.reasoning
    return f"{pluralize(steps, 'step')} · {format_tokens(number, steps)} · {format_price(cost)}"


def render_turn_line(turn: TurnSummary, columns: int) -> str:
    content = f"{_headline(turn)} · {pluralize(turn.steps, 'step')} · {format_price(turn.cost)}"
    max_columns = columns - len(content) - 6
    return f"{content} · {one_line(turn.prompts[0], max_columns)}" if turn.prompts and max_columns > 0 else content


def render_turn(turn: TurnSummary, columns: int) -> Iterator[Row]:
    """The rows of a turn; only a name may be wider than `columns`."""
    yield styled(_headline(turn), "bold")
    max_columns = columns - _LABEL - 2
    for each in turn.prompts:
        yield f"  > {one_line(each, columns - 4)}"
    yield from _render_section("trust", [turn.trust] if turn.trust else [], max_columns)
    yield from _render_section("did", _activity_rows(turn, max_columns), max_columns)
    yield from _render_section("asked", _ask_rows(turn, max_columns), max_columns)
    yield from _render_section("trouble", _trouble_rows(turn, max_columns), max_columns)
    yield from _render_section("context", _context_rows(turn), max_columns)
    yield from _render_section("said", [one_line(turn.text, max_columns * 2)] if turn.text else [], max_columns)
    yield from _render_section("gave", [one_line(turn.result, max_columns * 2)] if turn.result else [], max_columns)
    yield from _render_section("used", [describe_usage(turn.steps, turn.tokens, turn.cost)], max_columns)


def _headline(turn: TurnSummary) -> str:
    duration = f" · {format_duration((turn.ended - turn.started_at).total_seconds())}" if turn.ended else ""
    return f"Turn {turn.number} · {format_past(turn.started_at)}{duration} · {turn.reason or 'at work'}"


def _render_section(label: str, content: Iterator[str] | list[str], max_columns: int) -> Iterator[Row]:
    for number, each in enumerate(row for entry in content for row in wrap_text(entry, max_columns, _FURTHER)):
        yield joined("  ", styled((label if number == 0 else "").ljust(_LABEL), "dim"), each)


def _activity_rows(turn: TurnSummary, max_columns: int) -> Iterator[str]:
    if turn.calls:
        yield ", ".join(f"{tool} {times}" if times > 1 else tool for tool, times in turn.calls.most_common())
    for name, added in list(turn.added.items())[:_FILES]:
        yield f"changed {one_line(name, max_columns - 24)} (+{added} −{turn.removed[name]})"
    yield from _overflow_row(len(turn.added) - _FILES, "changed file")
    if turn.changed:
        yield one_line(f"changed by commands: {', '.join(turn.changed)}", max_columns * 2)
    # Failed ones first: they must not be among the counted ones.
    ordered = sorted(turn.named.items(), key=lambda each: not any(each[1]))
    for call, ends in ordered[:_CALLS]:
        yield f"{one_line(call, max_columns - 24)}{_describe_ends(ends)}"
    yield from _overflow_row(len(turn.named) - _CALLS, "call")


def _describe_ends(ends: Counter[str]) -> str:
    times = ends.total()
    bad = [f"{number}× {end}" if times > 1 else end for end, number in ends.items() if end]
    content = [f"{times} times", *bad] if times > 1 and (len(ends) > 1 or not bad) else bad
    return f" ({', '.join(content)})" if content else ""


def _ask_rows(turn: TurnSummary, max_columns: int) -> Iterator[str]:
    asked = list(turn.asked.values())
    open_first = sorted(asked, key=lambda each: bool(each.text))
    shown = sorted(open_first[:_QUESTIONS], key=lambda each: each.at)
    for each in shown:
        text = each.text or f"no answer yet ({each.ask})"
        what = one_line(each.what, max(max_columns - len(text) - 10, 20))
        yield f"{format_past(each.at, turn.started_at)} {what} → {text}"
        if each.rule:
            yield f"      from then on allowed: {one_line(each.rule, max_columns * 2)}"
    yield from _overflow_row(len(asked) - _QUESTIONS, "question")


def _trouble_rows(turn: TurnSummary, max_columns: int) -> Iterator[str]:
    content = [*turn.troubles, *((outage.since, _describe_outage(outage, turn.started_at)) for outage in turn.outages)]
    for at, what in sorted(content)[:_TROUBLES]:
        yield f"{format_past(at, turn.started_at)} {one_line(what, max(max_columns - 8, 20) * 2)}"
    yield from _overflow_row(len(content) - _TROUBLES, "trouble")


def _context_rows(turn: TurnSummary) -> Iterator[str]:
    for at, what in turn.context[-_CONTEXT:]:
        yield f"{format_past(at, turn.started_at)} {what}"
    if (before := len(turn.context) - _CONTEXT) > 0:
        yield f"… and {pluralize(before, 'time')} before"


def _describe_outage(outage: Outage, started_at: datetime) -> str:
    times = f", {outage.times} times" if outage.times > 1 else ""
    after = f", answered at {format_past(outage.until, started_at)}" if outage.until else ""
    return f"the provider failed ({outage.kind}{times}{after}): {outage.text}"


def _overflow_row(number: int, noun: str) -> Iterator[str]:
    if number > 0:
        yield f"… and {pluralize(number, noun)} more"
