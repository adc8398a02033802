"""Program: what the analysis of a shell text yields."""

import os.path
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from activities.shell.analysis.work import TooMuchWork, Work
from activities.shell.programs import reading
from activities.shell.programs.reading import Reading

CHANGES_DIRECTORY: Final = frozenset({"cd", "chdir", "pushd"})
UNCHECKED: Final = "checking it takes too much work"
_SYSTEM: Final = frozenset({"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"})
# Forms of `set` that can only end a script sooner (-e, -u, pipefail), or show its commands (-x): what is shown are
# words that were judged, behind PS4, which commands do not inherit and no text sets unasked. All other options change
# what words mean (-f, -B, -k, posix), what programs get (-a), what functions and traps do (-E, -T) or which commands
# run at all (-n, -t); `--` and plain words set "$@".
_STRICTER: Final = re.compile(r"[-+][eux]+|[-+][eux]*o", re.ASCII)
_STRICTER_NAMES: Final = frozenset({"errexit", "nounset", "pipefail", "xtrace"})
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_./+@:\[-]+", re.ASCII)
# Options with a value that may stand before the sub-command.
GLOBAL_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"}),
    "docker": frozenset({"-H", "--host", "-c", "--context", "--config", "-l", "--log-level"}),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server"}),
    "npm": frozenset({"--prefix", "-C", "-w", "--workspace"}),
}


@dataclass(frozen=True)
class Word:
    """A word of a command. `text` is None when a part is only known at run time; `start` and `end` are what is known
    before and behind it, and `template` is the whole, with `${_}` for each unknown part.

    `pattern` is the glob of a word with wildcards, in the form of the `glob` module.
    """

    source: str
    text: str | None
    start: str = ""
    end: str = ""
    pattern: str | None = None
    template: str = ""

    @property
    def script(self) -> str:
        """The word as a text for a shell."""
        return self.template if self.text is None else self.text

    @property
    def known(self) -> str:
        """The word as rules see it: decoded, or its source where it cannot be."""
        return self.source if self.text is None else self.text

    @property
    def outline(self) -> str:
        """The word as paths are judged: decoded, with `*` for what is only known at run time."""
        return f"{self.start}*{self.end}" if self.text is None else self.text

    @property
    def names(self) -> tuple[str, ...]:
        """The outline, and what the word is when nothing stands where it is unknown; none for a word without a known
        part."""
        if self.text is None:
            return (self.outline, self.start + self.end) if self.start or self.end else ()
        return (self.text,)


@dataclass(frozen=True)
class Redirect:
    """A redirection to or from a file."""

    target: Word
    writes: bool


@dataclass(frozen=True)
class Command:
    """One simple command: its source as clients see it, its words, and the directories it may run in.

    `inner` are the commands that it would run in turn: behind a wrapper, or in a text given to a shell. `lost`: it may
    run in directories, too, that are only known at run time.
    """

    source: str
    words: tuple[Word, ...]
    directories: tuple[Path, ...]
    assignments: tuple[str, ...] = ()
    document: str | None = None
    inner: tuple["Command", ...] = ()
    lost: bool = False

    @cached_property
    def name(self) -> str:
        """The program: without its directory when that is one of the system's."""
        return program_name(self.words[0].known) if self.words else ""

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        return tuple(word.known for word in self.words[1:])

    @cached_property
    def canonical(self) -> str:
        """Program and decoded words, joined by one blank: what rules are matched against beside the source."""
        return " ".join((self.name, *self.arguments))

    @cached_property
    def without_options(self) -> tuple[str, ...]:
        """The canonical text without the options that stand before a sub-command, if there are any."""
        taking = GLOBAL_OPTIONS.get(self.name)
        rest = list(self.arguments)
        while taking is not None and rest and rest[0].startswith("-"):
            del rest[: 2 if rest[0] in taking else 1]
        return (" ".join((self.name, *rest)),) if rest and len(rest) != len(self.arguments) else ()

    @cached_property
    def reading(self) -> Reading | None:
        """What its words come to, by the table of its program; None for a program that has none."""
        return reading.read(self.name, self.arguments)

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The words that an allow has to name, in it and in all that it would run."""
        own = self.reading.marks if self.reading else []
        return tuple(dict.fromkeys((*own, *(mark for command in self.inner for mark in command.marks))))

    @property
    def only_reads(self) -> bool:
        """Whether it, and all that it would run, is known to change nothing."""
        known = self.reading.only_reads if self.reading else self.only_stricter or bool(self.inner)
        return known and all(command.only_reads for command in self.inner)

    @cached_property
    def only_stricter(self) -> bool:
        """Whether it is a `set` of `-e`, `-u`, `-x` and `-o pipefail` only, which does nothing by itself."""
        words = [None if word.pattern else word.text for word in self.words]
        options = iter(words[1:])
        return words[:1] == ["set"] and len(words) > 1 and all(_is_stricter(each, options) for each in options)

    @property
    def needs_no_rule(self) -> bool:
        """Whether rules do not decide about it by itself: where it leads to is judged, or it does nothing."""
        return (self.name in CHANGES_DIRECTORY or self.only_stricter) and not self.assignments

    @property
    def plainly_named(self) -> bool:
        word = self.words[0]
        return word.text is not None and word.pattern is None and _PLAIN_NAME.fullmatch(word.text) is not None

    def everything(self) -> Iterator["Command"]:
        """The command and all that it would run."""
        yield self
        for command in self.inner:
            yield from command.everything()


@dataclass
class Program:
    """The commands of a text in order, its redirections, and the reasons for which it has to be asked about.

    `opaque`: the whole text is asked about. `doubts`: each command is shown by itself, and none runs unasked.
    `guarded`: one of the reasons is such that it asks whatever the rules allow (security.md 2.3, 9). `directories` are
    those that the text changes to. `work` is what a look at the program may still do.
    """

    commands: list[Command] = field(default_factory=list)
    redirects: list[tuple[Redirect, tuple[Path, ...]]] = field(default_factory=list)
    directories: list[Path] = field(default_factory=list)
    opaque: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    guarded: bool = False
    work: Work = field(default_factory=Work)

    def guard(self, reason: str) -> None:
        """Ask about the whole text, for a reason that no configuration waives."""
        self.guarded = True
        if reason not in self.opaque:
            self.opaque.append(reason)

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Look at something as far as the bounds of the analysis allow; what is left of it is asked about."""
        try:
            yield
        except TooMuchWork:
            self.guard(UNCHECKED)


def _is_stricter(option: str | None, behind: Iterator[str | None]) -> bool:
    """Whether an option of `set` is harmless; one that ends with `o` takes its name from the words behind it."""
    if option is None or _STRICTER.fullmatch(option) is None:
        return False
    return not option.endswith("o") or next(behind, None) in _STRICTER_NAMES


def program_name(written: str) -> str:
    """The name under which a program is known to rules: `/usr/bin/../bin/rm` is `rm`, `bin/ls` is not `ls`."""
    if not written.startswith("/"):
        return written
    path = Path(os.path.normpath(written))
    return path.name if str(path.parent) in _SYSTEM else str(path)
