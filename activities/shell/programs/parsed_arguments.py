"""Splits a command's words by its program's rules."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from activities.shell.programs.program_rules import ArgumentKind, ProgramRule, find_subcommand, program_rules
from activities.shell.programs.small_languages import awk_only_prints, jq_only_prints, sed_only_prints
from workflows.domain.permissions.overlap import overlaps

_PRINTS_ONLY: Final[dict[str, Callable[[str], bool]]] = {
    "sed": sed_only_prints,
    "awk": awk_only_prints,
    "jq": jq_only_prints,
}
_ALWAYS: Final = "*"
_NEUTRAL: Final = frozenset({"--cached", "--staged", "--color", "--no-color", "-z"})  # do not choose what is shown


@dataclass
class ParsedArguments:
    """`required_words`: what a rule must contain to allow the command (security.md 2.4). `written`: files that options
    write. `recursive`: reads whole trees, with `hidden` files, and `follows` links. `tracked`: shows tracked contents.
    `alias`: a sub-command unknown to git."""

    required_words: list[str] = field(default_factory=list)
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
        return not (self.changes or self.required_words or self.written)


def parse_arguments(program: str, words: Iterable[str]) -> ParsedArguments | None:
    """The arguments parsed by the program's rules; None without rules."""
    entry = program_rules().get(program)
    if entry is None:
        return None
    words = list(words)
    if not entry.subcommands:
        return _ArgumentParser(entry).read(words)
    return _with_subcommand(program, entry, words)


def _with_subcommand(program: str, entry: ProgramRule, words: list[str]) -> ParsedArguments:
    required_words, rest = _before_subcommand(entry, words)
    name = find_subcommand(program, rest)
    if name is not None:
        found = _ArgumentParser(program_rules()[name], name.split()[-1]).read(rest[len(name.split()) - 1 :])
    elif rest:
        found = ParsedArguments(required_words=[rest[0]], alias=None if rest[0] in entry.known_subcommands else rest[0])
    else:
        found = ParsedArguments(changes=False)
    found.required_words = [*required_words, *found.required_words]
    return found


def _before_subcommand(entry: ProgramRule, words: list[str]) -> tuple[list[str], list[str]]:
    """The options before a sub-command that a rule must name, and the rest."""
    required_words, rest = list[str](), list(words)
    while rest and rest[0].startswith("-"):
        name, attached, _ = rest.pop(0).partition("=")
        kind = entry.kinds.get(name)
        if kind is not ArgumentKind.FLAG:
            required_words.append(name)
        if kind is ArgumentKind.VALUE and not attached:
            del rest[:1]
    return required_words, rest


class _ArgumentParser:
    """`named`: the sub-command."""

    def __init__(self, entry: ProgramRule, named: str | None = None) -> None:
        self.entry = entry
        self.named = named
        self.found = ParsedArguments(changes=entry.changes)

    def read(self, words: list[str]) -> ParsedArguments:
        rest = list(words)
        if self.entry.bundle and rest and not rest[0].startswith("-"):
            for letter in rest.pop(0):
                self.add_option(f"-{letter}", None, rest)
        while rest:
            word = rest.pop(0)
            if word == "--":
                self.found.operands += rest
                break
            if word.startswith("-") and word != "-":
                self.option(word, rest)
            else:
                self.found.operands.append(word)
        self.check_operands()
        self.found.recursive = self.has(self.entry.recursive)
        self.found.hidden = self.has(self.entry.hidden)
        self.found.follows = self.has(self.entry.follows)
        self.found.tracked = self.has(self.entry.tracked) and not self.shows_names()
        return self.found

    def has(self, listed: str) -> bool:
        return listed == _ALWAYS or not set(listed.split()).isdisjoint(self.found.options)

    def shows_names(self) -> bool:
        options = set(self.found.options) - _NEUTRAL
        return bool(options) and options <= set(self.entry.names.split())

    def option(self, word: str, rest: list[str]) -> None:
        name, attached, value = word.partition("=")
        if self.entry.words or word.startswith("--"):
            self.add_option(name, value if attached else None, rest)
        elif word in self.entry.kinds:
            self.add_option(word, None, rest)
        elif not ("-#" in self.entry.kinds and word[1:].isdigit()):
            self.bundle(word[1:], rest)

    def bundle(self, letters: str, rest: list[str]) -> None:
        """An option with a value takes the rest of the word."""
        for at, letter in enumerate(letters):
            kind = self.kind(f"-{letter}")
            behind = letters[at + 1 :]
            if kind in (ArgumentKind.FLAG, ArgumentKind.ASKS, None):
                self.add_option(f"-{letter}", None, rest)
            else:
                self.add_option(f"-{letter}", behind or None, rest)
                return

    def kind(self, name: str) -> ArgumentKind | None:
        """An abbreviated long option may be any that begins with it."""
        if name in self.entry.kinds or self.entry.closed:
            return self.entry.kinds.get(name)
        longer = [kind for option, kind in self.entry.kinds.items() if len(name) > 2 and option.startswith(name)]
        return ArgumentKind.ASKS if ArgumentKind.ASKS in longer or ArgumentKind.WRITES in longer else ArgumentKind.FLAG

    def add_option(self, name: str, value: str | None, rest: list[str]) -> None:
        kind = self.kind(name)
        self.found.options.append(name)
        if kind is None or kind is ArgumentKind.ASKS:
            self.mark(name)
            return
        if kind in (ArgumentKind.FLAG, ArgumentKind.ATTACHED):
            if value is not None and kind is ArgumentKind.FLAG and self.entry.closed:
                self.mark(name)
            return
        if value is None:
            value = rest.pop(0) if rest else ""
        if kind is ArgumentKind.TWO_VALUES:
            del rest[:1]
        self.value(name, kind, value)

    def value(self, name: str, kind: ArgumentKind, value: str) -> None:
        if kind is ArgumentKind.WRITES:
            self.mark(name)
            self.found.written.append(value)
        elif kind is ArgumentKind.SCRIPT:
            self.found.options.append(_ALWAYS)
            self.script(value)
        elif kind is ArgumentKind.NAMES and _may_name_secrets(value):
            self.mark(value)

    def script(self, text: str) -> None:
        if self.entry.script is None or not _PRINTS_ONLY[self.entry.script](text):
            self.mark(text)

    def check_operands(self) -> None:
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
        if word not in self.found.required_words:
            self.found.required_words.append(word)


def _may_name_secrets(glob: str) -> bool:
    """Files like `.env`; a `!` glob excludes."""
    return not glob.startswith("!") and any(_finds_secrets(each.rpartition("/")[2]) for each in _alternatives(glob))


def _finds_secrets(glob: str) -> bool:
    if overlaps(glob, "*.env") or "env" in glob.casefold():
        return True
    return not glob.startswith(("*", "?")) and overlaps(glob, ".env.*")


def _alternatives(glob: str) -> Iterator[str]:
    """Expands `{a,b}` lists; `[…]` counts as any character."""
    hit = re.search(r"\{([^{}]*)\}", glob)
    if hit is None:
        yield re.sub(r"\[[^\]]*\]", "?", glob)
        return
    for part in hit[1].split(","):
        yield from _alternatives(glob[: hit.start()] + part + glob[hit.end() :])
