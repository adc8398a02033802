"""The paths that a program reads, writes, or reaches outside the project, and the devices and processes it names."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from activities.files.real_paths import is_directory, real_path
from activities.shell.analysis.analyse import PRINTING
from activities.shell.analysis.expand import WildcardExpander
from activities.shell.analysis.implicit_reads import ImplicitReadFinder
from activities.shell.analysis.program import Command, Redirect, ShellProgram, Word
from activities.shell.analysis.repository import find_repository, unsafe_setting
from activities.turn_context import TurnContext
from workflows.domain.errors import TreeTooLarge
from workflows.domain.permissions.paths import is_outside, may_hold_secrets

_WRITES_ALL: Final = frozenset({"rm", "rmdir", "mkdir", "touch", "tee", "truncate", "mv", "shred", "unlink", "mkfifo"})
_WRITES_ALL_BUT_FIRST: Final = frozenset({"chmod", "chown", "chgrp"})
_WRITES_LAST: Final = frozenset({"cp", "ln", "install", "rsync", "scp"})
_READERS: Final = frozenset(
    {"cat", "head", "tail", "less", "more", "ls", "stat", "file", "du", "wc", "nl", "tac", "rev", "sort", "uniq", "cut"}
    | {"paste", "diff", "cmp", "comm", "tree", "readlink", "realpath", "od", "xxd", "hexdump", "strings", "base64"}
    | {"md5sum", "sha256sum", "cd", "chdir", "pushd", "source", "."}
)
# These may replace a device, or follow an endless one to no end, and OpenCode asks about `cat /dev/null`.
_UNSAFE_ON_DEVICES: Final = (_WRITES_ALL - {"tee"}) | _WRITES_ALL_BUT_FIRST | _WRITES_LAST | {"find", "cat"}
_PATH_PROGRAMS: Final = _READERS | _WRITES_ALL | _WRITES_ALL_BUT_FIRST | _WRITES_LAST
_SPECIAL: Final = re.compile(r"/dev/(?!null$).*|/proc(?:/.*)?")
_PARTS: Final = 20  # of a path, resolved for one unit of work
_PROCESSES: Final = Path("/proc")
_PREFIXED: Final = re.compile(
    r"(?:(?:--?[A-Za-z][\w-]*=|[\w-]+=|[\w-]+(?=@))[@<]?|-[A-Za-z](?=[./~@])@?|@|file:(?://)?|[^:/]+:)(.+)", re.S
)
_MAGIC: Final = re.compile(r":(?:\([^)]*\)|/)")  # `:(top,icase)x`, `:/x`
MAX_COLONS: Final = 8  # of a revision; a date with time zone has five
_HARMLESS: Final = ("null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr")
_HARMLESS_DEVICES: Final = frozenset(f"/dev/{name}" for name in _HARMLESS)  # for who only reads and writes them
# An absolute path, also after an option (`-o/dev/sda`), a possibly empty variable, or a substitution that may print
# nothing. Not `src/dev/x` or `http://dev/x`; `/dev/p` and `/proc/ {` are mostly sed and awk patterns.
_HOST: Final = r"(?<!http:)(?<!https:)(?<!ftp:)(?<!git:)(?<!ssh:)"
_BEFORE: Final = rf"(?:^|[^\w.~/*?\]}}-]{_HOST}|(?<!\S)-\w+|\$\w+|\$\{{[^}}]*\}}|file://[^/\s]*)/+(?:\.{{1,2}}/+)*"
_OTHERS: Final = rf"(?!(?:{'|'.join(_HARMLESS)})(?![\w/.-]))"
_PROCESS: Final = r"proc(?:/+[\w$*?\[.\\\"']|(?=[\s;|&<>)\"']|$))"
_NAMED: Final = re.compile(rf"{_BEFORE}(dev(?:/+{_OTHERS}(?:\w{{2,}}|[$*?\[])|(?=:))|{_PROCESS})", re.MULTILINE)


@dataclass
class PathAccess:
    """Real paths, each once and in order. `outside`: directories; `special`: devices and processes. `implicit_reads`:
    unnamed files that a rule asks about. `reaches_root_or_home`: an operand is `/` or the home directory."""

    reads: dict[Path, None] = field(default_factory=dict)
    implicit_reads: dict[Path, None] = field(default_factory=dict)
    writes: dict[Path, None] = field(default_factory=dict)
    outside: dict[Path, None] = field(default_factory=dict)
    special: list[str] = field(default_factory=list)
    reaches_root_or_home: bool = False


def path_access(program: ShellProgram, turn: TurnContext) -> PathAccess:
    """The paths that a program accesses. Reasons to ask about them are added to the program."""
    collector = _PathCollector(turn, program)
    with program.within_budget():
        for directory in dict.fromkeys(program.directories):
            collector.add_outside(directory, directory)
        for command in program.commands:
            for each in command.with_inner():
                collector.command(each)
        for redirect, directories in program.redirects:
            collector.redirect(redirect, directories)
    return collector.found


class _PathCollector:
    def __init__(self, turn: TurnContext, program: ShellProgram) -> None:
        self.turn = turn
        self.workspace = turn.workspace
        self.budget = program.budget
        self.guard = program.guard
        self.add_ask_reason = program.add_ask_reason
        self.expander = WildcardExpander(program.budget, program.guard)
        self.found = PathAccess()
        self.seen: set[tuple[str, tuple[Path, ...]]] = set()
        self.implicit_reads = ImplicitReadFinder(turn, self.expander, self.budget)
        self.noted: set[tuple[Path, bool, bool]] = set()
        self.repositories: dict[Path, str | None] = {}

    def command(self, command: Command) -> None:
        key = (command.canonical, command.directories)
        if command.name in PRINTING or key in self.seen:
            return
        self.seen.add(key)
        self.budget.spend(len(command.words) * len(command.directories))
        operands = [word for word in command.words[1:] if not word.outline.startswith("-")]
        written = set(_written_operands(command, operands))
        for directory in command.directories:
            for word in dict.fromkeys(command.words[1:]):
                for path in self.paths(command, word, directory, writes=word in written):
                    self.add_path(path, writes=word in written, matched=word.pattern is not None)
                    if command.name == "mv":  # moving makes the file readable under another name
                        self.add_path(path, writes=False, matched=word.pattern is not None)
            for name in command.parsed_arguments.written if command.parsed_arguments else ():
                self.add_path(directory / name, writes=True)
            self.check_unnamed_files(command, directory)

    def check_unnamed_files(self, command: Command, directory: Path) -> None:
        if command.name == "git":
            self.check_repository(directory)
            self.check_git_names(command, directory)
        if any(self.may_be_an_option(word, directory) for word in command.words[1:]):
            self.add_ask_reason(f"{command.name!r} would take a file name that begins with '-' for an option")
        self.add_withheld(command, directory)

    def add_withheld(self, command: Command, directory: Path) -> None:
        try:
            for found in self.implicit_reads.withheld_reads(command, directory):
                self.found.implicit_reads |= dict.fromkeys(found.asked)
                if found.denied:
                    denied = self.workspace.relative(found.denied[0])
                    self.add_ask_reason(f"{command.name!r} would read {denied!r}, which a rule denies")
        except TreeTooLarge as reason:
            self.guard(f"{command.name!r} would read {reason}")

    def may_be_an_option(self, word: Word, directory: Path) -> bool:
        """Whether wildcards match a name that looks like an option."""
        if word.pattern is None or word.known[0] not in "*?[":
            return False
        return any(os.path.relpath(path, directory).startswith("-") for path in self.expander.paths(word, directory))

    def redirect(self, redirect: Redirect, directories: tuple[Path, ...]) -> None:
        self.budget.spend(len(directories))
        for directory in directories:
            for path in self.expander.paths(redirect.target, directory):
                if str(path) in _HARMLESS_DEVICES:
                    continue
                if _SPECIAL.fullmatch(os.path.normpath(path)):
                    self.found.special.append(str(path))
                else:
                    self.add_path(path, writes=redirect.writes)
            for name in redirect.target.names if not redirect.writes else ():
                self.add_name(directory / name)

    def paths(self, command: Command, word: Word, directory: Path, *, writes: bool) -> Iterator[Path]:
        """The whole word, or the part after `--x=`, `@`, `rev:` and the like."""
        if word.text is None:
            yield from self.paths_of_partly_known(command, word, directory, writes=writes)
            return
        operand = command.name in _PATH_PROGRAMS and not word.text.startswith("-")
        mode = command.name in _WRITES_ALL_BUT_FIRST and word is command.words[1]
        behind = _PREFIXED.fullmatch(word.text)
        named = (word.text, behind[1] if behind else "")
        if command.name not in _UNSAFE_ON_DEVICES and not _HARMLESS_DEVICES.isdisjoint(named):
            return
        for path in self.expander.paths(word, directory):
            if (operand and not mode) or _names_a_path(path, word.text):
                yield path
        if behind and (writes or _names_a_path(directory / behind[1], behind[1])):
            yield directory / behind[1]

    def paths_of_partly_known(self, command: Command, word: Word, directory: Path, *, writes: bool) -> Iterator[Path]:
        """Known parts of a word may settle where it leads."""
        if command.name in _PATH_PROGRAMS and _may_be_special(word.start, directory):
            self.guard(f"{command.name!r} may reach a device or process ({word.source})")
        for name in word.names:
            self.add_name(directory / name)
            yield directory / name
            behind = _PREFIXED.fullmatch(name)
            if behind and (writes or os.path.lexists((directory / behind[1]).parent)):
                yield directory / behind[1]

    def add_name(self, path: Path) -> None:
        """Add a name if rules restrict it. The file need not exist: git may have it under that name."""
        path = Path(os.path.normpath(path))
        if may_hold_secrets(path) or not self.turn.may_read(path):
            self.found.reads[path] = None

    def check_git_names(self, command: Command, directory: Path) -> None:
        """Git may read these from its own storage; the work tree need not have them."""
        words = [name for word in command.words[1:] for name in word.names if not name.startswith("-")]
        if any(word.count(":") > MAX_COLONS for word in words):
            self.guard(f"a word of 'git' has more than {MAX_COLONS} colons")
        for written in (name for word in words for name in (word, *_file_names(word))):
            self.budget.spend(2)
            for start in (directory, self.workspace.root):
                self.add_name(start / written)

    def add_path(self, path: Path, *, writes: bool, matched: bool = False) -> None:
        """Add a path, resolved and as named. A `matched` one lies in the searched directory."""
        if (path, writes, matched) in self.noted:
            return
        self.noted.add((path, writes, matched))
        self.budget.spend(1 + len(path.parts) // _PARTS)
        real = _real(path)
        if _SPECIAL.fullmatch(str(real)):
            self.found.special.append(str(path))
        if is_outside(real, self.workspace.directory, self.workspace.worktree):
            self.add_outside(real if is_directory(real) and not matched else real.parent, real)
        if writes:
            self.found.writes[real] = None
        elif os.path.lexists(path) and not is_directory(real):
            self.found.reads[real] = None
            self.found.reads[Path(os.path.normpath(path))] = None

    def check_repository(self, directory: Path) -> None:
        """Git runs programs that a repository's configuration names."""
        root = find_repository(directory)
        if root not in (None, self.workspace.worktree, self.workspace.directory):
            self.add_ask_reason("'git' works in another repository")
        if root is not None and root not in self.repositories:
            self.repositories[root] = unsafe_setting(root)
        if root is not None and (why := self.repositories[root]):
            self.add_ask_reason(f"'git' may run programs that this repository names ({why})")

    def add_outside(self, directory: Path, named: Path | None = None) -> None:
        if is_outside(directory, self.workspace.directory, self.workspace.worktree):
            self.found.outside[directory] = None
            self.found.reaches_root_or_home = self.found.reaches_root_or_home or named in (
                Path("/"),
                self.workspace.home,
            )


def _written_operands(command: Command, operands: list[Word]) -> list[Word]:
    name = command.name
    if name in _WRITES_ALL:
        return operands
    if name in _WRITES_ALL_BUT_FIRST:
        return operands[1:]
    if name in _WRITES_LAST:
        into = any(word.outline.startswith(("-t", "--target-directory")) for word in command.words[1:])
        return operands if into else operands[-1:]
    if name == "dd":
        return [word for word in operands if word.outline.startswith("of=")]
    if name == "sed" and any(re.match(r"-[a-zA-Z]*i|--in-place", word.outline) for word in command.words[1:]):
        return operands[1:] or operands
    return operands if name == "patch" else []


def _names_a_path(path: Path, text: str) -> bool:
    return text.strip(".") != "" and os.path.lexists(path)


def _may_be_special(start: str, directory: Path) -> bool:
    folder, slash, name = start.rpartition("/")
    begins = str(_real(directory / f"{folder}/") / name) if slash else ""
    return begins != "" and any(f"{special}/".startswith(begins) for special in ("/dev", "/proc"))


def _real(path: Path) -> Path:
    """Below `/proc` a path stays as written: links there differ between processes."""
    plain = Path(os.path.normpath(path))
    return plain if plain.is_relative_to(_PROCESSES) else real_path(path)


def _file_names(word: str) -> Iterator[str]:
    """Possible file names in `REV:PATH`, `:PATH`, `:0:PATH` and `:(magic)PATH`."""
    # Revisions contain colons, too (`@{12:30}:PATH`): a name may follow each of the first ones.
    if magic := _MAGIC.match(word):
        yield word[magic.end() :]
    name = word
    for _ in range(min(word.count(":"), MAX_COLONS)):
        name = name.partition(":")[2]
        if name.strip() and not name.startswith((" ", "//")):  # a message's text, a URL
            yield name


def find_special_files(text: str, program: ShellProgram) -> list[str]:
    """The first one in a text's source or decoded words."""
    words = (word.known for command in program.commands for each in command.with_inner() for word in each.words)
    found = next((named for each in (text, *words) if (named := _NAMED.search(each))), None)
    return [f"/{found[1]}"] if found else []
