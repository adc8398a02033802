"""Text of models, tools and strangers, made safe to show: what it does not show plainly, it shows as an escape."""

import re
import unicodedata
from datetime import datetime, timedelta
from typing import Final

from workflows.domain.emoji import JOINER
from workflows.domain.usage import Cost
from workflows.domain.value import Value

_BLANK: Final = "\N{OPEN BOX}"  # a blank where it would not be noticed
_JOINER: Final = "\N{ZERO WIDTH JOINER}"
_PADDING: Final = re.compile(r"(?<=\S) {16,}")
_HOST: Final = re.compile(r"(?://(?:[^\s/@]*@)?|[\w.+-]@)([^\s/:?#'\"]+)")
_DOTTED: Final = re.compile(r"[\w-]+(?:\.[\w-]+)+")  # what may be a host, or a file
_SCRIPTS: Final = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "MATHEMATICAL")  # whose letters look alike


class Limit(Value):
    """How much of a text is shown before its middle is hidden."""

    lines: int
    characters: int


COMMAND: Final = Limit(lines=30, characters=2000)
DIFF: Final = Limit(lines=60, characters=8000)
OUTPUT: Final = Limit(lines=10, characters=1200)


class Shown(Value):
    """A text as far as it is shown; `hidden` when some of its middle is not."""

    text: str
    hidden: bool = False


def prose(text: str) -> str:
    """`text` with control, format and other invisible characters escaped; line breaks, tabs and blanks stay."""
    return _escaped(text, "\n\t", blanks=True)


def exact(text: str, *, lines: bool = False, tabs: bool = False) -> str:
    """`text` with everything escaped that could be taken for something else, so that it is one line: a name that holds
    a line break would look like a line of ours. `lines` keeps line breaks, `tabs` those.

    Blanks are marked where they would not be noticed: at the beginning, at the end of lines, and where many of them
    could push something out of view.
    """
    first, *others = text.split("\n") if lines else [text]
    inner = first.lstrip(" ")
    lead = _BLANK * (len(first) - len(inner)) if inner else ""
    kept = "\t" if tabs else ""
    return "\n".join([lead + _marked(inner or first, kept), *(_marked(each, kept) for each in others)])


def line(text: str, longest: int = 100) -> str:
    """`text` on one line, cut in its middle when it is long."""
    flat = _escaped(" ".join(text.split()), "", blanks=True)
    if len(flat) <= longest:
        return flat
    head = longest * 2 // 3
    return f"{flat[:head]} … {flat[len(flat) - max(longest - head - 3, 1) :]}"


def size_of(size: int) -> str:
    """Bytes as a person reads them."""
    return f"{size / 2**20:,.1f} MB"


def collapsed(text: str, limit: Limit) -> Shown:
    """`text` with so much of its middle hidden that it keeps to the limit; says how much that is."""
    lines, above = text.split("\n"), limit.lines * 2 // 3
    if len(lines) <= limit.lines and len(text) <= limit.characters:
        return Shown(text=text)
    below = limit.lines - above if len(lines) > limit.lines else 0  # else there are no lines to be left out
    head = "\n".join(lines[: above if below else None])[: limit.characters * 2 // 3]
    tail = "\n".join(lines[-below:])[-(limit.characters // 3) :]
    return Shown(text=_without(text[len(head) : len(text) - len(tail)], head, tail), hidden=True)


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def tokens(number: int, steps: int) -> str:
    """The tokens that the answers of so many steps took, or that no provider has reported any."""
    return counted(number, "token") if number or not steps else "tokens unknown"


def price(cost: Cost) -> str:
    """What answers cost: an amount, the least that it can be, or that it is not known."""
    if not cost.known:
        return "price unknown"
    return f"at least ${cost.dollars:.4f}" if cost.unpriced else f"${cost.dollars:.4f}"


def behind(prompts: int, ask: str | None) -> str:
    """How many prompts wait behind an ask, in words; nothing when none does."""
    if not prompts or ask is None:
        return ""
    return f"{counted(prompts, 'prompt')} {'waits' if prompts == 1 else 'wait'} behind ask {ask}"


def foreign_letters(programs: list[str], text: str) -> list[str]:
    """What is said of letters in program names and hosts that only look familiar (security.md 4)."""
    notes = [f"The program name {name!r} holds {_letters(name)}." for name in programs if not name.isascii()]
    hosts = dict.fromkeys(host for host in _HOST.findall(text) if not host.isascii())
    hosts |= dict.fromkeys(name for name in _DOTTED.findall(text) if _mixed(name))
    return notes + [f"The host {host!r} holds {_letters(host)}; it is {_punycode(host)!r}." for host in hosts]


def age(since: datetime, now: datetime) -> str:
    """How long ago something was, in its largest unit."""
    past = max(now - since, timedelta())
    if past >= timedelta(days=1):
        return f"{past.days} d"
    minutes, seconds = divmod(past.seconds, 60)
    if minutes >= 60:
        return f"{minutes // 60} h"
    return f"{minutes} min" if minutes else f"{seconds} s"


def span(seconds: float) -> str:
    """How long something took, in its two largest units."""
    whole = max(round(seconds), 0)
    for size, unit, below, name in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            left = whole % size // below
            return f"{whole // size} {unit} {left} {name}" if left else f"{whole // size} {unit}"
    return f"{whole} s"


def moment(at: datetime, known: datetime | None = None) -> str:
    """A moment that has passed, on the clock of whoever reads: with its day unless that is the known one's."""
    here = at.astimezone()
    same = known is not None and known.astimezone().date() == here.date()
    return f"{here:%H:%M}" if same else f"{here:%a %d %b %H:%M}"


def clock(at: datetime, now: datetime) -> str:
    """A moment to come on the clock of whoever reads: with seconds if it is near, with the day if that is another."""
    here = at.astimezone()
    if at - now < timedelta(minutes=2):
        return f"{here:%H:%M:%S}"
    return f"{here:%H:%M}" if here.date() == now.astimezone().date() else f"{here:%a %d %b, %H:%M}"


def width(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.combining(character) > 0 or character == _JOINER for character in text)
    return len(text) + wide - marks


def _marked(row: str, kept: str) -> str:
    """A line without blanks at its beginning that have to be marked."""
    inner = row.rstrip(" ")
    padded = _PADDING.sub(lambda found: _BLANK * len(found[0]), _escaped(inner, kept, blanks=False))
    return padded + (_BLANK * (len(row) - len(inner)) if inner else row)


def _escaped(text: str, kept: str, *, blanks: bool) -> str:
    if text.isprintable():
        return text
    joiners = {found.start() for found in JOINER.finditer(text)}
    return "".join(
        character if character.isprintable() or character in kept or at in joiners else _escape(character, blanks)
        for at, character in enumerate(text)
    )


def _escape(character: str, blanks: bool) -> str:
    if blanks and unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")


def _without(hidden: str, head: str, tail: str) -> str:
    """What is shown of a text, with what is said of that between: whole lines, or characters of lines."""
    lines = hidden.count("\n")
    if lines > 1 and hidden[0] == hidden[-1] == "\n":
        left = counted(len(hidden) - 2, "character")
        return f"{head}\n[… {counted(lines - 1, 'line')} hidden, {left} …]\n{tail}"
    over = f" and {counted(lines, 'line break')}" if lines else ""
    return f"{head} [… {counted(len(hidden) - lines, 'character')}{over} hidden …] {tail}"


def _letters(text: str) -> str:
    strange = dict.fromkeys(character for character in text if not character.isascii())
    return ", ".join(f"{exact(each)} ({unicodedata.name(each, f'U+{ord(each):04X}').lower()})" for each in strange)


def _mixed(name: str) -> bool:
    """Whether Latin letters stand beside those of a script that has the same shapes."""
    latin = any(each.isascii() and each.isalpha() for each in name)
    return latin and any(unicodedata.name(each, "").startswith(_SCRIPTS) for each in name if not each.isascii())


def _punycode(host: str) -> str:
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host.encode("punycode", "replace").decode("ascii")
