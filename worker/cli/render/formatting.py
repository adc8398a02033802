"""Untrusted text made safe to show; numbers and times for people."""

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from workflows.domain.emoji import EMOJI_JOINER
from workflows.domain.usage import Cost
from workflows.domain.value import Value

_BLANK: Final = "\N{OPEN BOX}"  # a blank that would go unnoticed
_JOINER: Final = "\N{ZERO WIDTH JOINER}"
_PADDING: Final = re.compile(r"(?<=\S) {16,}")
_HOST: Final = re.compile(r"(?://(?:[^\s/@]*@)?|[\w.+-]@)([^\s/:?#'\"]+)")
_DOTTED: Final = re.compile(r"[\w-]+(?:\.[\w-]+)+")  # a host, or a file
# They have letters that look Latin.
_SCRIPTS: Final = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "MATHEMATICAL")
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


class CollapseLimit(Value):
    lines: int
    characters: int


COMMAND_LIMIT: Final = CollapseLimit(lines=30, characters=2000)
DIFF_LIMIT: Final = CollapseLimit(lines=60, characters=8000)
OUTPUT_LIMIT: Final = CollapseLimit(lines=10, characters=1200)


class CollapsedText(Value):
    """A text; `hidden`: what was cut from its middle."""

    text: str
    hidden: bool = False


def escape_prose(text: str) -> str:
    """Escape control, format and invisible characters; line breaks, tabs and blanks stay."""
    return _escape_text(text, "\n\t", blanks=True)


def escape_exact(text: str, *, lines: bool = False, tabs: bool = False) -> str:
    """Escape everything ambiguous, on one line; `lines` and `tabs` keep those.

    A line break in a name would look like a line of ours. Blanks are marked where they would go unnoticed: at both ends
    of lines, and where many could push text out of view.
    """
    first, *others = text.split("\n") if lines else [text]
    inner = first.lstrip(" ")
    lead = _BLANK * (len(first) - len(inner)) if inner else ""
    kept = "\t" if tabs else ""
    return "\n".join([lead + _mark_blanks(inner or first, kept), *(_mark_blanks(each, kept) for each in others)])


def one_line(text: str, longest: int = 100) -> str:
    """Escaped text on one line, with its middle cut to keep it within `longest` characters."""
    flat = escape_prose(" ".join(text.split()))
    if len(flat) <= longest:
        return flat
    head = longest * 2 // 3
    return f"{flat[:head]} … {flat[len(flat) - max(longest - head - 3, 1) :]}"


def format_size(size: int) -> str:
    return f"{size / 2**20:,.1f} MB"


def collapse(text: str, limit: CollapseLimit) -> CollapsedText:
    """Cut the middle of a text that is over the limit, and say how much is hidden."""
    lines, above = text.split("\n"), limit.lines * 2 // 3
    if len(lines) <= limit.lines and len(text) <= limit.characters:
        return CollapsedText(text=text)
    below = limit.lines - above if len(lines) > limit.lines else 0  # else only characters are left out
    head = "\n".join(lines[: above if below else None])[: limit.characters * 2 // 3]
    tail = "\n".join(lines[-below:])[-(limit.characters // 3) :]
    return CollapsedText(text=_join_around_hidden(text[len(head) : len(text) - len(tail)], head, tail), hidden=True)


def pluralize(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_rule(permission: str, patterns: Iterable[str]) -> str:
    return f"{escape_exact(permission)}: {escape_exact(', '.join(patterns))}"


def format_tokens(number: int, steps: int) -> str:
    """The tokens of `steps` answers; "unknown" if no provider reports them."""
    return pluralize(number, "token") if number or not steps else "tokens unknown"


def format_price(cost: Cost) -> str:
    if not cost.known:
        return "price unknown"
    return f"at least ${cost.dollars:.4f}" if cost.unpriced else f"${cost.dollars:.4f}"


def format_queued_prompts(prompts: int, ask: str | None) -> str:
    """How many prompts wait behind an ask; empty if none."""
    if not prompts or ask is None:
        return ""
    return f"{pluralize(prompts, 'prompt')} {'waits' if prompts == 1 else 'wait'} behind ask {ask}"


def find_foreign_letters(programs: list[str], text: str) -> list[str]:
    """Warnings about lookalike letters in program names and hosts (security.md 4)."""
    notes = [f"The program name {name!r} holds {_letters(name)}." for name in programs if not name.isascii()]
    hosts = dict.fromkeys(host for host in _HOST.findall(text) if not host.isascii())
    hosts |= dict.fromkeys(name for name in _DOTTED.findall(text) if _mixed(name))
    return notes + [f"The host {host!r} holds {_letters(host)}; it is {_punycode(host)!r}." for host in hosts]


def format_age(since: datetime, now: datetime) -> str:
    """The time since then, in its largest unit."""
    return " ".join(format_duration(int((now - since).total_seconds())).split()[:2])


def format_duration(seconds: float) -> str:
    """A duration in its two largest units."""
    whole = max(round(seconds), 0)
    for (size, unit), (smaller, its_unit) in pairwise(_UNITS):
        if whole >= size:
            left = whole % size // smaller
            return f"{whole // size} {unit} {left} {its_unit}" if left else f"{whole // size} {unit}"
    return f"{whole} s"


def format_past(at: datetime, known: datetime | None = None) -> str:
    """A past moment in local time, with its day unless `known` is on that day."""
    here = at.astimezone()
    same = known is not None and known.astimezone().date() == here.date()
    return f"{here:%H:%M}" if same else f"{here:%a %d %b %H:%M}"


def format_upcoming(at: datetime, now: datetime) -> str:
    """A coming moment in local time: with seconds if near, with its day if that is another."""
    here = at.astimezone()
    if at - now < timedelta(minutes=2):
        return f"{here:%H:%M:%S}"
    return f"{here:%H:%M}" if here.date() == now.astimezone().date() else f"{here:%a %d %b, %H:%M}"


def display_width(text: str) -> int:
    """The most columns that `text` takes on any terminal.

    Not rich's `cell_len`: it counts joined emoji as one, which many terminals show as several. Such a row would go on
    at the left edge, and could look like a line of ours.
    """
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.combining(character) > 0 or character == _JOINER for character in text)
    return len(text) + wide - marks


def _mark_blanks(row: str, kept: str) -> str:
    inner = row.rstrip(" ")
    padded = _PADDING.sub(lambda found: _BLANK * len(found[0]), _escape_text(inner, kept, blanks=False))
    return padded + (_BLANK * (len(row) - len(inner)) if inner else row)


def _escape_text(text: str, kept: str, *, blanks: bool) -> str:
    if text.isprintable():
        return text
    joiners = {found.start() for found in EMOJI_JOINER.finditer(text)}
    return "".join(
        character if character.isprintable() or character in kept or at in joiners else _escape(character, blanks)
        for at, character in enumerate(text)
    )


def _escape(character: str, blanks: bool) -> str:
    if blanks and unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")


def _join_around_hidden(hidden: str, head: str, tail: str) -> str:
    lines = hidden.count("\n")
    if lines > 1 and hidden[0] == hidden[-1] == "\n":
        left = pluralize(len(hidden) - 2, "character")
        return f"{head}\n[… {pluralize(lines - 1, 'line')} hidden, {left} …]\n{tail}"
    over = f" and {pluralize(lines, 'line break')}" if lines else ""
    return f"{head} [… {pluralize(len(hidden) - lines, 'character')}{over} hidden …] {tail}"


def _letters(text: str) -> str:
    foreign = dict.fromkeys(each for each in text if not each.isascii())
    named = ((each, unicodedata.name(each, f"U+{ord(each):04X}").lower()) for each in foreign)
    return ", ".join(f"{escape_exact(each)} ({name})" for each, name in named)


def _mixed(name: str) -> bool:
    """Whether a name mixes Latin letters with lookalikes of another script."""
    latin = any(each.isascii() and each.isalpha() for each in name)
    return latin and any(unicodedata.name(each, "").startswith(_SCRIPTS) for each in name if not each.isascii())


def _punycode(host: str) -> str:
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host.encode("punycode", "replace").decode("ascii")
