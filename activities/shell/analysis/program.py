"""The result of analysing a shell text."""

import os.path
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from activities.shell.analysis.budget import WorkBudget
from activities.shell.programs import parsed_arguments
from activities.shell.programs.parsed_arguments import ParsedArguments
from workflows.domain.errors import WorkBudgetExceeded

CHANGES_DIRECTORY: Final = frozenset({"cd", "chdir", "pushd"})
TOO_MUCH_WORK: Final = "checking it takes too much work"
_SYSTEM: Final = frozenset({"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"})
# Options of `set` that only end a script sooner (-e, -u, pipefail) or show its commands (-x): these were judged, and
# PS4, printed before them, is neither inherited nor set unasked. All others change what words mean (-f, -B, -k, posix),
# what programs get (-a), what functions and traps do (-E, -T) or which commands run (-n, -t); `--` and plain words set
# "$@".
_STRICTER: Final = re.compile(r"[-+][eux]+|[-+][eux]*o", re.ASCII)
_STRICTER_NAMES: Final = frozenset({"errexit", "nounset", "pipefail", "xtrace"})
_MOVING: Final = frozenset({"builtin", "command", "eval", "source", ".", "trap", "time"})
_MOVES: Final = re.compile(r"\b(?:cd|chdir|pushd|popd)\b")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_./+@:\[-]+", re.ASCII)
# Options with a value that may precede the sub-command.
GLOBAL_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"}),
    "docker": frozenset({"-H", "--host", "-c", "--context", "--config", "-l", "--log-level"}),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server"}),
    "npm": frozenset({"--prefix", "-C", "-w", "--workspace"}),
}


@dataclass(frozen=True)
class Word:
    """`text` is None if a part is only known at run time: then `start` and `end` are the known parts around it, and
    `template` the whole, with `${_}` for unknown parts. `pattern`: wildcards as the `glob` module writes them."""

    source: str
    text: str | None
    start: str = ""
    end: str = ""
    pattern: str | None = None
    template: str = ""

    @property
    def script(self) -> str:
        return self.template if self.text is None else self.text

    @property
    def known(self) -> str:
        """The word for rules: decoded if possible, else its source."""
        return self.source if self.text is None else self.text

    @property
    def outline(self) -> str:
        """The word as a path: decoded, with `*` for unknown parts."""
        return f"{self.start}*{self.end}" if self.text is None else self.text

    @property
    def names(self) -> tuple[str, ...]:
        """The outline, and the word with nothing for its unknown parts; none without a known part."""
        if self.text is None:
            return (self.outline, self.start + self.end) if self.start or self.end else ()
        return (self.text,)


@dataclass(frozen=True)
class Redirect:
    target: Word
    writes: bool


@dataclass(frozen=True)
class Command:
    """One simple command with its possible directories. `inner`: the commands that it runs, as a wrapper or from a
    shell text. `directory_unknown`: it may also run in directories only known at run time."""

    source: str
    words: tuple[Word, ...]
    directories: tuple[Path, ...]
    assignments: tuple[str, ...] = ()
    stdin_text: str | None = None
    inner: tuple["Command", ...] = ()
    directory_unknown: bool = False

    @cached_property
    def name(self) -> str:
        """The program, without a system directory."""
        return program_name(self.words[0].known) if self.words else ""

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        return tuple(word.known for word in self.words[1:])

    @cached_property
    def canonical(self) -> str:
        """Program and decoded words, joined by single blanks; rules match it beside the source."""
        return " ".join((self.name, *self.arguments))

    @cached_property
    def without_options(self) -> tuple[str, ...]:
        """The canonical text without the options before a sub-command, if any."""
        taking = GLOBAL_OPTIONS.get(self.name)
        rest = list(self.arguments)
        while taking is not None and rest and rest[0].startswith("-"):
            del rest[: 2 if rest[0] in taking else 1]
        return (" ".join((self.name, *rest)),) if rest and len(rest) != len(self.arguments) else ()

    @cached_property
    def parsed_arguments(self) -> ParsedArguments | None:
        """The parsed arguments; None for a program without rules."""
        return parsed_arguments.parse_arguments(self.name, self.arguments)

    @cached_property
    def required_words(self) -> tuple[str, ...]:
        """The words that a rule must contain to allow it and all that it runs."""
        own = self.parsed_arguments.required_words if self.parsed_arguments else []
        return tuple(dict.fromkeys((*own, *(mark for command in self.inner for mark in command.required_words))))

    @property
    def only_reads(self) -> bool:
        """Whether it, and all that it runs, is known to change nothing."""
        known = self.parsed_arguments.only_reads if self.parsed_arguments else self.only_restricts or bool(self.inner)
        return known and all(command.only_reads for command in self.inner)

    @cached_property
    def only_restricts(self) -> bool:
        """Whether it only sets `-e`, `-u`, `-x` or `-o pipefail`."""
        words = [None if word.pattern else word.text for word in self.words]
        options = iter(words[1:])
        return words[:1] == ["set"] and len(words) > 1 and all(_is_stricter(each, options) for each in options)

    @property
    def may_change_directory(self) -> bool:
        """Whether it may change the shell's directory, to one only known at run time."""
        if self.words[0].text is None or self.name == "popd":
            return True
        return self.name in _MOVING and _MOVES.search(self.canonical) is not None

    @property
    def needs_no_rule(self) -> bool:
        """Whether no rule has to allow it: its target directory is judged instead, or it has no effect."""
        return (self.name in CHANGES_DIRECTORY or self.only_restricts) and not self.assignments

    @property
    def has_plain_name(self) -> bool:
        word = self.words[0]
        return word.text is not None and word.pattern is None and _PLAIN_NAME.fullmatch(word.text) is not None

    def with_inner(self) -> Iterator["Command"]:
        yield self
        for command in self.inner:
            yield from command.with_inner()


@dataclass
class ShellProgram:
    """What a text would do. `opaque`: reasons to ask about the whole text, `ask_reasons` about single commands.
    `guarded`: a reason asks even against an allowing rule (security.md 2.3, 9)."""

    commands: list[Command] = field(default_factory=list)
    redirects: list[tuple[Redirect, tuple[Path, ...]]] = field(default_factory=list)
    directories: list[Path] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)
    ask_reasons: list[str] = field(default_factory=list)
    guarded: bool = False
    budget: WorkBudget = field(default_factory=WorkBudget)

    def guard(self, reason: str) -> None:
        """Ask about the whole text for a reason that no configuration overrides."""
        self.guarded = True
        self.add_opaque(reason)

    def add_opaque(self, reason: str) -> None:
        if reason not in self.opaque:
            self.opaque.append(reason)

    def add_ask_reason(self, reason: str) -> None:
        if reason not in self.ask_reasons:
            self.ask_reasons.append(reason)

    @contextmanager
    def within_budget(self) -> Iterator[None]:
        """Run a part of the analysis; beyond the budget, ask about the whole text."""
        try:
            yield
        except WorkBudgetExceeded:
            self.guard(TOO_MUCH_WORK)


def _is_stricter(option: str | None, behind: Iterator[str | None]) -> bool:
    """One that ends with `o` takes its name from `behind`."""
    if option is None or _STRICTER.fullmatch(option) is None:
        return False
    return not option.endswith("o") or next(behind, None) in _STRICTER_NAMES


def program_name(written: str) -> str:
    """The program without a system directory: `/usr/bin/../bin/rm` is `rm`, `bin/ls` is not `ls`."""
    if not written.startswith("/"):
        return written
    path = Path(os.path.normpath(written))
    return path.name if str(path.parent) in _SYSTEM else str(path)
