"""Reading: a command's words, told apart by its program's table into what is understood and what has to be named."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from activities.shell.programs import awk, jq, sed
from activities.shell.programs.table import Entry, Kind, entries, subcommand
from workflows.domain.permissions.overlap import meet

_PRINTS_ONLY: Final[dict[str, Callable[[str], bool]]] = {"sed": sed.prints, "awk": awk.prints, "jq": jq.prints}
_ALWAYS: Final = "*"
_NEUTRAL: Final = frozenset({"--cached", "--staged", "--color", "--no-color", "-z"})  # do not say what is shown


@dataclass
class Reading:
    """What a command's words come to.

    `marks` are the words that an allow has to name, because breadth does not imply them (security.md 2.4).
    `written` are the files that options write. `only_reads` says that the whole command is known to change nothing.
    `recursive` says that it reads directories with all below them, `hidden` and `follows` that hidden files, and what
    links lead to, are among that. `tracked` says that it shows what is in files that git
    tracks.
    """

    marks: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    changes: bool = True
    recursive: bool = False
    hidden: bool = False
    follows: bool = False
    tracked: bool = False
    alias: str | None = None

    @property
    def only_reads(self) -> bool:
        return not (self.changes or self.marks or self.written)


def read(program: str, words: Iterable[str]) -> Reading | None:
    """The words of a program by its table; None for a program that has none."""
    entry = entries().get(program)
    if entry is None:
        return None
    words = list(words)
    if not entry.subcommands:
        return _Reader(entry).read(words)
    return _with_subcommand(program, entry, words)


def _with_subcommand(program: str, entry: Entry, words: list[str]) -> Reading:
    marks, rest = _before_subcommand(entry, words)
    name = subcommand(program, rest)
    if name is not None:
        found = _Reader(entries()[name], name.split()[-1]).read(rest[len(name.split()) - 1 :])
    elif rest:
        found = Reading(marks=[rest[0]], alias=None if rest[0] in entry.known_subcommands else rest[0])
    else:
        found = Reading(changes=False)
    found.marks = [*marks, *found.marks]
    return found


def _before_subcommand(entry: Entry, words: list[str]) -> tuple[list[str], list[str]]:
    """The options before a sub-command that have to be named (all but plain flags that are known), and the rest."""
    marks, rest = list[str](), list(words)
    while rest and rest[0].startswith("-"):
        name, attached, _ = rest.pop(0).partition("=")
        kind = entry.kinds.get(name)
        if kind is not Kind.FLAG:
            marks.append(name)
        if kind is Kind.VALUE and not attached:
            del rest[:1]
    return marks, rest


class _Reader:
    """Reads words by one entry; `named` is the sub-command that the entry is about."""

    def __init__(self, entry: Entry, named: str | None = None) -> None:
        self.entry = entry
        self.named = named
        self.found = Reading(changes=entry.changes)

    def read(self, words: list[str]) -> Reading:
        rest = list(words)
        if self.entry.bundle and rest and not rest[0].startswith("-"):
            for letter in rest.pop(0):
                self.take(f"-{letter}", None, rest)
        while rest:
            word = rest.pop(0)
            if word == "--":
                self.found.operands += rest
                break
            if word.startswith("-") and word != "-":
                self.option(word, rest)
            else:
                self.found.operands.append(word)
        self.judge_operands()
        self.found.recursive = self.has(self.entry.recursive)
        self.found.hidden = self.has(self.entry.hidden)
        self.found.follows = self.has(self.entry.follows)
        self.found.tracked = self.has(self.entry.tracked) and not self.shows_names()
        return self.found

    def has(self, listed: str) -> bool:
        return listed == _ALWAYS or not set(listed.split()).isdisjoint(self.found.options)

    def shows_names(self) -> bool:
        """Whether the options are such that only names are shown."""
        options = set(self.found.options) - _NEUTRAL
        return bool(options) and options <= set(self.entry.names.split())

    def option(self, word: str, rest: list[str]) -> None:
        name, attached, value = word.partition("=")
        if self.entry.words or word.startswith("--"):
            self.take(name, value if attached else None, rest)
        elif word in self.entry.kinds:
            self.take(word, None, rest)
        elif not ("-#" in self.entry.kinds and word[1:].isdigit()):
            self.bundle(word[1:], rest)

    def bundle(self, letters: str, rest: list[str]) -> None:
        """Short options in one word; one that takes a value takes the rest of it."""
        for at, letter in enumerate(letters):
            kind = self.kind(f"-{letter}")
            behind = letters[at + 1 :]
            if kind in (Kind.FLAG, Kind.RAISES, None):
                self.take(f"-{letter}", None, rest)
            else:
                self.take(f"-{letter}", behind or None, rest)
                return

    def kind(self, name: str) -> Kind | None:
        """What is known of an option; a shortened long one may be any that it begins."""
        if name in self.entry.kinds or self.entry.closed:
            return self.entry.kinds.get(name)
        longer = [kind for option, kind in self.entry.kinds.items() if len(name) > 2 and option.startswith(name)]
        return Kind.RAISES if Kind.RAISES in longer or Kind.WRITES in longer else Kind.FLAG

    def take(self, name: str, value: str | None, rest: list[str]) -> None:
        kind = self.kind(name)
        self.found.options.append(name)
        if kind is None or kind is Kind.RAISES:
            self.mark(name)
            return
        if kind in (Kind.FLAG, Kind.ATTACHED):
            if value is not None and kind is Kind.FLAG and self.entry.closed:
                self.mark(name)
            return
        if value is None:
            value = rest.pop(0) if rest else ""
        if kind is Kind.TWO_VALUES:
            del rest[:1]
        self.value(name, kind, value)

    def value(self, name: str, kind: Kind, value: str) -> None:
        if kind is Kind.WRITES:
            self.mark(name)
            self.found.written.append(value)
        elif kind is Kind.SCRIPT:
            self.found.options.append(_ALWAYS)
            self.script(value)
        elif kind is Kind.NAMES and _may_name_secrets(value):
            self.mark(value)

    def script(self, text: str) -> None:
        if self.entry.script is None or not _PRINTS_ONLY[self.entry.script](text):
            self.mark(text)

    def judge_operands(self) -> None:
        operands = list(self.found.operands)
        if self.entry.script is not None and _ALWAYS not in self.found.options and operands:
            self.script(operands.pop(0))
        for operand in operands:
            if self.entry.operands is not None and not re.fullmatch(self.entry.operands, operand, re.DOTALL):
                self.mark(operand)
        if operands and self.entry.first is not None and not re.fullmatch(self.entry.first, operands[0]):
            self.mark(operands[0])
        if self.entry.most is not None and len(operands) > self.entry.most:
            self.mark(self.named or operands[self.entry.most])

    def mark(self, word: str) -> None:
        if word not in self.found.marks:
            self.found.marks.append(word)


def _may_name_secrets(glob: str) -> bool:
    """Whether a glob of names looks for files like `.env`; one that leaves names out does not."""
    return not glob.startswith("!") and any(_finds_secrets(each.rpartition("/")[2]) for each in _alternatives(glob))


def _finds_secrets(glob: str) -> bool:
    if meet(glob, "*.env") or "env" in glob.casefold():
        return True
    return not glob.startswith(("*", "?")) and meet(glob, ".env.*")


def _alternatives(glob: str) -> Iterator[str]:
    """A glob with `{a,b}` lists as the globs that it stands for; a `[…]` may be any character."""
    hit = re.search(r"\{([^{}]*)\}", glob)
    if hit is None:
        yield re.sub(r"\[[^\]]*\]", "?", glob)
        return
    for part in hit[1].split(","):
        yield from _alternatives(glob[: hit.start()] + part + glob[hit.end() :])
