"""Untrusted text made safe to show."""

import re
import unicodedata
from typing import Final

from workflows.domain.emoji import EMOJI_JOINER

_BLANK: Final = "\N{OPEN BOX}"  # a blank that would go unnoticed
_JOINER: Final = "\N{ZERO WIDTH JOINER}"
_PADDING: Final = re.compile(r"(?<=\S) {16,}")
_HOST: Final = re.compile(r"(?://(?:[^\s/@]*@)?|[\w.+-]@)([^\s/:?#'\"]+)")
_DOTTED: Final = re.compile(r"[\w-]+(?:\.[\w-]+)+")  # a host, or a file
# They have letters that look Latin.
_SCRIPTS: Final = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "MATHEMATICAL")


def escape_prose(text: str) -> str:
    """Escape control, format and invisible characters; line breaks, tabs and blanks stay."""
    return _escape_text(text, "\n\t", blanks=True)


class GrowingProse:
    """Escapes a text that comes in pieces as `escape_prose` does the whole."""

    def __init__(self) -> None:
        self._before = ""  # what decides about a joiner after it
        self._joiner = ""  # whose right side is still to come

    def append(self, piece: str) -> str:
        text = self._joiner + piece
        self._joiner = _JOINER if text.endswith(_JOINER) and len(self._before + text) > 1 else ""
        text = text.removesuffix(self._joiner)
        escaped = escape_prose(self._before + text)[len(escape_prose(self._before)) :]
        self._before = (self._before + text)[-2:]
        return escaped


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


def find_foreign_letters(programs: list[str], text: str) -> list[str]:
    """Warnings about lookalike letters in program names and hosts (security.md 4)."""
    notes = [f"The program name {name!r} holds {_letters(name)}." for name in programs if not name.isascii()]
    hosts = dict.fromkeys(host for host in _HOST.findall(text) if not host.isascii())
    hosts |= dict.fromkeys(name for name in _DOTTED.findall(text) if _mixed(name))
    return notes + [f"The host {host!r} holds {_letters(host)}; it is {_punycode(host)!r}." for host in hosts]


def _mark_blanks(row: str, kept: str) -> str:
    inner = row.rstrip(" ")
    padded = _PADDING.sub(lambda found: _BLANK * len(found[0]), _escape_text(inner, kept, blanks=False))
    return padded + (_BLANK * (len(row) - len(inner)) if inner else row)


def _escape_text(text: str, kept: str, *, blanks: bool) -> str:
    if text.isprintable():
        return text
    joiners = {found.start() for found in re.finditer(EMOJI_JOINER, text)}
    return "".join(
        character if character.isprintable() or character in kept or at in joiners else _escape(character, blanks)
        for at, character in enumerate(text)
    )


def _escape(character: str, blanks: bool) -> str:
    if blanks and unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")


def _letters(text: str) -> str:
    foreign = dict.fromkeys(each for each in text if not each.isascii())
    named = ((each, unicodedata.name(each, f"U+{ord(each):04X}").lower()) for each in foreign)
    return ", ".join(f"{escape_exact(each)} ({name})" for each, name in named)


def _mixed(name: str) -> bool:
    latin = any(each.isascii() and each.isalpha() for each in name)
    return latin and any(unicodedata.name(each, "").startswith(_SCRIPTS) for each in name if not each.isascii())


def _punycode(host: str) -> str:
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host.encode("punycode", "replace").decode("ascii")
