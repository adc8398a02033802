"""Touched: the paths that a program reads, writes, or reaches outside the project, seen without any effect."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from activities.files.place import Place
from activities.files.resolve import is_directory, real
from activities.shell.analysis.analyse import PRINTING
from activities.shell.analysis.expand import Expansion
from activities.shell.analysis.program import Command, Program, Redirect, Word
from activities.shell.analysis.repository import root_of, suspicion
from activities.shell.analysis.revisions import MOST_COLONS, file_names
from activities.shell.analysis.sweep import Sweep
from activities.shell.analysis.trees import TooLarge
from workflows.domain.permissions.paths import guarded, outside

_ALL: Final = frozenset({"rm", "rmdir", "mkdir", "touch", "tee", "truncate", "mv", "shred", "unlink", "mkfifo"})
_BUT_FIRST: Final = frozenset({"chmod", "chown", "chgrp"})
_LAST: Final = frozenset({"cp", "ln", "install", "rsync", "scp"})
_READERS: Final = frozenset(
    {"cat", "head", "tail", "less", "more", "ls", "stat", "file", "du", "wc", "nl", "tac", "rev", "sort", "uniq", "cut"}
    | {"paste", "diff", "cmp", "comm", "tree", "readlink", "realpath", "od", "xxd", "hexdump", "strings", "base64"}
    | {"md5sum", "sha256sum", "cd", "chdir", "pushd", "source", "."}
)
_ASKED_BY_OPENCODE: Final = frozenset(
    {"rm", "cp", "mv", "mkdir", "touch", "chmod", "chown", "cat"}
)  # even for /dev/null
_PATH_PROGRAMS: Final = _READERS | _ALL | _BUT_FIRST | _LAST
_SPECIAL: Final = re.compile(r"/dev/(?!null$).*|/proc(?:/.*)?")
_PARTS: Final = 20  # of a path, that are followed for one unit of work
_STREAMS: Final = frozenset({"/dev/stdin", "/dev/stdout", "/dev/stderr"})  # what the command has open anyway
_PROCESSES: Final = Path("/proc")
_PREFIXED: Final = re.compile(
    r"(?:(?:--?[A-Za-z][\w-]*=|[\w-]+=|[\w-]+(?=@))[@<]?|-[A-Za-z](?=[./~@])@?|@|file:(?://)?|[^:/]+:)(.+)", re.S
)


@dataclass
class Touched:
    """Real paths, each once and in order. `outside` are directories; `special` devices and processes.

    `swept` are files that are read although no word names them, and about which a rule asks.
    `doubts` are reasons to ask that only a look at the files gives; `vast`: an operand is `/` or the home directory.
    """

    reads: dict[Path, None] = field(default_factory=dict)
    swept: dict[Path, None] = field(default_factory=dict)
    writes: dict[Path, None] = field(default_factory=dict)
    outside: dict[Path, None] = field(default_factory=dict)
    special: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    vast: bool = False


def touched(program: Program, place: Place) -> Touched:
    """The paths that a program of the shell names, as what they lead to now."""
    look = _Look(place, program)
    with program.checked():
        for directory in dict.fromkeys(program.directories):
            look.reach(directory, directory)
        for command in program.commands:
            for each in command.everything():
                look.command(each)
        for redirect, places in program.redirects:
            look.redirect(redirect, places)
    return look.found


class _Look:
    def __init__(self, place: Place, program: Program) -> None:
        self.place = place
        self.work = program.work
        self.guard = program.guard
        self.expansion = Expansion(program.work, program.guard)
        self.found = Touched()
        self.seen: set[tuple[str, tuple[Path, ...]]] = set()
        self.sweep = Sweep(place, self.expansion, self.work)
        self.noted: set[tuple[Path, bool, bool]] = set()
        self.repositories: dict[Path, str | None] = {}

    def command(self, command: Command) -> None:
        key = (command.canonical, command.directories)
        if command.name in PRINTING or key in self.seen:
            return
        self.seen.add(key)
        self.work.spend(len(command.words) * len(command.directories))
        operands = [word for word in command.words[1:] if not word.outline.startswith("-")]
        written = set(_written(command, operands))
        for directory in command.directories:
            for word in dict.fromkeys(command.words[1:]):
                for path in self.paths(command, word, directory, writes=word in written):
                    self.path(path, writes=word in written, matched=word.pattern is not None)
                    if command.name == "mv":  # what it moves can be read under another name
                        self.path(path, writes=False, matched=word.pattern is not None)
            for name in command.reading.written if command.reading else ():
                self.path(directory / name, writes=True)
            self.look_around(command, directory)

    def look_around(self, command: Command, directory: Path) -> None:
        """What files say against a command, although none of its words names them."""
        if command.name == "git":
            self.repository(directory)
            self.history(command, directory)
        if any(self.may_be_an_option(word, directory) for word in command.words[1:]):
            self.doubt(f"{command.name!r} would take a file name that begins with '-' for an option")
        self.withhold(command, directory)

    def withhold(self, command: Command, directory: Path) -> None:
        """Note what the rules withhold of the files that a command reads although none of its words names them."""
        try:
            for found in self.sweep.of(command, directory):
                self.found.swept |= dict.fromkeys(found.asked)
                if found.denied:
                    denied = self.place.relative(found.denied[0])
                    self.doubt(f"{command.name!r} would read {denied!r}, which a rule denies")
        except TooLarge as reason:
            self.guard(f"{command.name!r} would read {reason}")

    def may_be_an_option(self, word: Word, directory: Path) -> bool:
        """Whether wildcards match a name that a program takes for an option."""
        if word.pattern is None or word.known[0] not in "*?[":
            return False
        return any(os.path.relpath(path, directory).startswith("-") for path in self.expansion.paths(word, directory))

    def doubt(self, reason: str) -> None:
        if reason not in self.found.doubts:
            self.found.doubts.append(reason)

    def redirect(self, redirect: Redirect, places: tuple[Path, ...]) -> None:
        self.work.spend(len(places))
        for directory in places:
            for path in self.expansion.paths(redirect.target, directory):
                if str(path) in _STREAMS:
                    continue
                if _SPECIAL.fullmatch(os.path.normpath(path)):
                    self.found.special.append(str(path))
                elif str(path) != "/dev/null":
                    self.path(path, writes=redirect.writes)
            for name in redirect.target.names if not redirect.writes else ():
                self.name(directory / name)

    def paths(self, command: Command, word: Word, directory: Path, *, writes: bool) -> Iterator[Path]:
        """The paths that a word of a command stands for: as a whole, or behind `--x=`, `@`, `rev:` and the like."""
        if word.text is None:
            yield from self.partly_known(command, word, directory, writes=writes)
            return
        operand = command.name in _PATH_PROGRAMS and not word.text.startswith("-")
        mode = command.name in _BUT_FIRST and word is command.words[1]
        if word.text in ("/dev/null", *_STREAMS) and command.name not in _ASKED_BY_OPENCODE:
            return
        for path in self.expansion.paths(word, directory):
            if (operand and not mode) or _names_a_path(path, word.text):
                yield path
        behind = _PREFIXED.fullmatch(word.text)
        if behind and (writes or _names_a_path(directory / behind[1], behind[1])):
            yield directory / behind[1]

    def partly_known(self, command: Command, word: Word, directory: Path, *, writes: bool) -> Iterator[Path]:
        """The names that stand for a word with an unknown part: what is known of it may settle where it leads."""
        if command.name in _PATH_PROGRAMS and _may_be_special(word.start, directory):
            self.guard(f"{command.name!r} may reach a device or process ({word.source})")
        for name in word.names:
            self.name(directory / name)
            yield directory / name
            behind = _PREFIXED.fullmatch(name)
            if behind and (writes or os.path.lexists((directory / behind[1]).parent)):
                yield directory / behind[1]

    def name(self, path: Path) -> None:
        """Note a name by which something is read that need not be there, where rules have a say about that name."""
        path = Path(os.path.normpath(path))
        if guarded(path) or not self.place.readable(path):
            self.found.reads[path] = None

    def history(self, command: Command, directory: Path) -> None:
        """Git reads what it keeps under names that may lead nowhere in the work tree, or no more."""
        words = [name for word in command.words[1:] for name in word.names if not name.startswith("-")]
        if any(word.count(":") > MOST_COLONS for word in words):
            self.guard(f"a word of 'git' has more than {MOST_COLONS} colons")
        for written in (name for word in words for name in (word, *file_names(word))):
            self.work.spend(2)
            for start in (directory, self.place.root):
                self.name(start / written)

    def path(self, path: Path, *, writes: bool, matched: bool = False) -> None:
        """Note a path: where it really leads, and under its own name too. One that a pattern matched lies in the
        directory that was looked through."""
        if (path, writes, matched) in self.noted:
            return
        self.noted.add((path, writes, matched))
        self.work.spend(1 + len(path.parts) // _PARTS)
        real = _real(path)
        if _SPECIAL.fullmatch(str(real)):
            self.found.special.append(str(path))
        if outside(real, self.place.directory, self.place.worktree):
            self.reach(real if is_directory(real) and not matched else real.parent, real)
        if writes:
            self.found.writes[real] = None
        elif os.path.lexists(path) and not is_directory(real):
            self.found.reads[real] = None
            self.found.reads[Path(os.path.normpath(path))] = None

    def repository(self, directory: Path) -> None:
        """Git runs programs that the configuration of a repository names."""
        root = root_of(directory)
        if root not in (None, self.place.worktree, self.place.directory):
            self.doubt("'git' works in another repository")
        if root is not None and root not in self.repositories:
            self.repositories[root] = suspicion(root)
        if root is not None and (why := self.repositories[root]):
            self.doubt(f"'git' may run programs that this repository names ({why})")

    def reach(self, directory: Path, named: Path | None = None) -> None:
        if outside(directory, self.place.directory, self.place.worktree):
            self.found.outside[directory] = None
            self.found.vast = self.found.vast or named in (Path("/"), self.place.home)


def _written(command: Command, operands: list[Word]) -> list[Word]:
    """The operands that the known writers change."""
    name = command.name
    if name in _ALL:
        return operands
    if name in _BUT_FIRST:
        return operands[1:]
    if name in _LAST:
        into = any(word.outline.startswith(("-t", "--target-directory")) for word in command.words[1:])
        return operands if into else operands[-1:]
    if name == "dd":
        return [word for word in operands if word.outline.startswith("of=")]
    if name == "sed" and any(re.match(r"-[a-zA-Z]*i|--in-place", word.outline) for word in command.words[1:]):
        return operands[1:] or operands
    return operands if name == "patch" else []


def _names_a_path(path: Path, text: str) -> bool:
    """Whether a word of some program is the name of something that is there."""
    return text.strip(".") != "" and os.path.lexists(path)


def _may_be_special(start: str, directory: Path) -> bool:
    """Whether a path that begins with `start` may lie in `/dev` or `/proc`."""
    folder, slash, name = start.rpartition("/")
    begins = str(_real(directory / f"{folder}/") / name) if slash else ""
    return begins != "" and any(f"{special}/".startswith(begins) for special in ("/dev", "/proc"))


def _real(path: Path) -> Path:
    """Where a path leads. Below `/proc` it stays as it is written: links there lead elsewhere in each process."""
    plain = Path(os.path.normpath(path))
    return plain if plain.is_relative_to(_PROCESSES) else real(path)
