"""A chapter of a session's account: what came of one turn, gathered from events, and how it reads."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import click

from worker.cli.look.text import counted, line, moment, price, span, tokens
from worker.cli.look.wrap import folded
from workflows.domain.ids import AskId
from workflows.domain.messages import CallState
from workflows.domain.usage import Cost, Tokens

_COMMANDS: Final = 8  # that are named of a turn; the others are counted
_FILES: Final = 8
_QUESTIONS: Final = 12
_TROUBLES: Final = 8
_LABEL: Final = 9  # columns
_FURTHER: Final = 2  # blanks before the rows that an entry goes on in
_NOT_DONE: Final = {
    CallState.FAILED: "failed",
    CallState.UNKNOWN: "unknown",
    CallState.CANCELLED: "cancelled",
    CallState.REFUSED: "refused",
}


@dataclass
class Asked:
    """A question of the turn, and what was said to it."""

    at: datetime
    what: str
    ask: AskId
    said: str = ""
    rule: str = ""


@dataclass
class Outage:
    """Failures of a provider, one after the other, until it has answered."""

    since: datetime
    kind: str
    said: str
    times: int = 1
    until: datetime | None = None


@dataclass
class Chapter:
    """What came of a turn; its subagents' work is its own."""

    number: int
    begun: datetime
    who: str = ""
    ended: datetime | None = None
    reason: str = ""
    prompts: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    commands: dict[str, Counter[CallState]] = field(default_factory=dict)
    asked: dict[str, Asked] = field(default_factory=dict)
    outages: list[Outage] = field(default_factory=list)
    troubles: list[tuple[datetime, str]] = field(default_factory=list)
    said: str = ""
    steps: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    cost: Cost = field(default_factory=Cost)

    def changed(self, name: str, more: int, less: int) -> None:
        """A file was changed: so many lines came, so many went."""
        before = self.files.get(name, (0, 0))
        self.files[name] = (before[0] + more, before[1] + less)

    def ran(self, command: str, ended: CallState) -> None:
        """A command has come to an end; one that ended with another status than 0 has failed."""
        self.commands.setdefault(command, Counter())[ended] += 1

    def trouble(self, at: datetime, what: str) -> None:
        self.troubles.append((at, what))

    def failed(self, at: datetime, kind: str, said: str) -> None:
        """A provider has failed: again, or for the first time since it has answered."""
        last = self.outages[-1] if self.outages else None
        if last is not None and last.until is None and last.kind == kind:
            last.times += 1
        else:
            self.went_on(at)
            self.outages.append(Outage(at, kind, said))

    def went_on(self, at: datetime) -> None:
        """A provider has answered."""
        if self.outages and self.outages[-1].until is None:
            self.outages[-1].until = at


def used(steps: int, spent: Tokens, cost: Cost) -> str:
    """What was used, in words."""
    number = spent.prompt + spent.output + spent.reasoning
    return f"{counted(steps, 'step')} · {tokens(number, steps)} · {price(cost)}"


def short(chapter: Chapter, columns: int) -> str:
    """A chapter on one line."""
    told = f"{_headline(chapter)} · {counted(chapter.steps, 'step')} · {price(chapter.cost)}"
    room = columns - len(told) - 6
    return f"{told} · {line(chapter.prompts[0], room)}" if chapter.prompts and room > 0 else told


def lines(chapter: Chapter, columns: int) -> Iterator[str]:
    """A chapter as people read it, no line wider than `columns` unless a name is."""
    yield click.style(_headline(chapter), bold=True)
    room = columns - _LABEL - 2
    for each in chapter.prompts:
        yield f"  > {line(each, columns - 4)}"
    yield from _section("did", _did(chapter, room), room)
    yield from _section("asked", _asked(chapter, room), room)
    yield from _section("trouble", _troubles(chapter, room), room)
    yield from _section("said", [line(chapter.said, room * 2)] if chapter.said else [], room)
    yield from _section("used", [used(chapter.steps, chapter.tokens, chapter.cost)], room)


def _headline(chapter: Chapter) -> str:
    lasted = f" · {span((chapter.ended - chapter.begun).total_seconds())}" if chapter.ended else ""
    return f"Turn {chapter.number} · {moment(chapter.begun)}{lasted} · {chapter.reason or 'at work'}"


def _section(label: str, told: Iterator[str] | list[str], room: int) -> Iterator[str]:
    for number, each in enumerate(row for entry in told for row in folded(entry, room, _FURTHER)):
        yield f"  {click.style((label if number == 0 else '').ljust(_LABEL), dim=True)}{each}"


def _did(chapter: Chapter, room: int) -> Iterator[str]:
    if chapter.calls:
        yield ", ".join(f"{tool} {times}" if times > 1 else tool for tool, times in chapter.calls.most_common())
    for name, (more, less) in list(chapter.files.items())[:_FILES]:
        yield f"changed {line(name, room - 24)} (+{more} −{less})"
    yield from _more(len(chapter.files) - _FILES, "changed file")
    # Those that came to a bad end are what somebody looks for: they are never among the ones that are only counted.
    ordered = sorted(chapter.commands.items(), key=lambda each: not _bad(each[1]))
    for command, ends in ordered[:_COMMANDS]:
        yield f"ran {line(command, room - 28)}{_ends(ends)}"
    yield from _more(len(chapter.commands) - _COMMANDS, "command")


def _bad(ends: Counter[CallState]) -> int:
    return sum(ends[state] for state in _NOT_DONE)


def _ends(ends: Counter[CallState]) -> str:
    times = ends.total()
    bad = [f"{ends[state]} {word}" if times > 1 else word for state, word in _NOT_DONE.items() if ends[state]]
    told = [*([f"{times} times"] if times > 1 else []), *bad]
    return f" ({', '.join(told)})" if told else ""


def _asked(chapter: Chapter, room: int) -> Iterator[str]:
    asked = list(chapter.asked.values())
    open_first = sorted(asked, key=lambda each: bool(each.said))
    shown = sorted(open_first[:_QUESTIONS], key=lambda each: each.at)
    for each in shown:
        said = each.said or f"no answer yet ({each.ask})"
        what = line(each.what, max(room - len(said) - 10, 20))
        yield f"{moment(each.at, chapter.begun)} {what} → {said}"
        if each.rule:
            yield f"      from then on allowed: {line(each.rule, room * 2)}"
    yield from _more(len(asked) - _QUESTIONS, "question")


def _troubles(chapter: Chapter, room: int) -> Iterator[str]:
    told = [*chapter.troubles, *((outage.since, _outage(outage, chapter.begun)) for outage in chapter.outages)]
    for at, what in sorted(told)[:_TROUBLES]:
        yield f"{moment(at, chapter.begun)} {line(what, max(room - 8, 20) * 2)}"
    yield from _more(len(told) - _TROUBLES, "trouble")


def _outage(outage: Outage, begun: datetime) -> str:
    times = f", {outage.times} times" if outage.times > 1 else ""
    after = f", answered at {moment(outage.until, begun)}" if outage.until else ""
    return f"the provider failed ({outage.kind}{times}{after}): {outage.said}"


def _more(number: int, noun: str) -> Iterator[str]:
    if number > 0:
        yield f"… and {counted(number, noun)} more"
