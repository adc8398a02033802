"""Analysis of a text: what it would do itself, and what the programs in it would run in turn."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Final

from activities.files.resolve import real
from activities.shell.analysis.program import Command, Program
from activities.shell.analysis.runners import Run, run_by
from activities.shell.analysis.variables import read_by_others
from activities.shell.analysis.walk import Walk
from activities.shell.analysis.words import Decoder
from activities.shell.analysis.work import Work
from workflows.domain.errors import ToolError

_DEEPEST: Final = 8  # programs run by programs
# Builtins that change the shell, or that evaluate what looks like a plain word (security.md 2.2, 2.5).
_CHANGING: Final = frozenset(
    {"export", "declare", "typeset", "local", "readonly", "unset", "set", "shopt", "alias", "unalias", "trap", "hash"}
    | {"enable", "let", "coproc", "bind", "complete", "compopt", "popd", "dirs", "fc", "history", "eval", "source", "."}
    | {"mapfile", "readarray", "getopts", "exec", "builtin"}
)
_EVALUATING: Final = frozenset({"read", "printf", "test", "[", "wait"})
_LOCAL_ADDRESS: Final = re.compile(
    r"://(?:[^/@]*@)?(?:localhost|127\.|0\.0\.0\.0|169\.254\.|\[::1?\]|metadata\.|instance-data)", re.IGNORECASE
)
_PLAIN_ARGUMENT: Final = re.compile(r"[^\[]*|.*\[[^$`]*\].*", re.S)
_CHDIR: Final = re.compile(r"(?:-C|--chdir=)(.+)", re.S)
_MAY_CHDIR: Final = re.compile(r"-[^-C=]+C|--ch")  # the same among other letters, or shortened
# Programs for which a word that is only known at run time is text, never an option, a path or an address.
PRINTING: Final = frozenset({"echo", "true", "false", ":", "printf", "pwd"})


@dataclass(frozen=True)
class Shell:
    """The shell that a text would run in: its directory, its home, and the variables that we set for it."""

    directory: Path
    home: Path
    variables: Mapping[str, str]

    def decoding(self, text: str) -> Callable[[tuple[Path, ...]], Decoder]:
        """Decoders of the words of a text, by where the shell may be. The values of variables are certain when they
        are set by us, and the text only reads them."""
        names = {name for name in (*self.variables, "HOME", "PWD") if not re.search(rf"(?<![${{\w]){name}\b", text)}
        known = {name: value for name, value in self.variables.items() if name in names}

        @cache
        def decoder(places: tuple[Path, ...]) -> Decoder:
            here = {"PWD": str(places[0])} if "PWD" in names and len(places) == 1 else {}
            return Decoder({**known, **here}.get, str(self.home) if "HOME" in names else None)

        return decoder


def analyse(text: str, shell: Shell) -> Program:
    """All that `text` would do, as far as it can be read off. Raises ToolError for what is nested too deeply."""
    return _Analysis(shell).of(text, (shell.directory,))


class _Analysis:
    """Looks into the programs that run other programs; each of them once, however often it is named."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.work = Work()
        self.depth = 0
        self.seen: set[tuple[str, tuple[Path, ...], bool]] = set()

    def of(self, text: str, places: tuple[Path, ...], *, lost: bool = False) -> Program:
        program = self.walked(text, places, lost=lost)
        if "\\\n" in text and program.opaque:  # a word may go on in the next line: denies see it joined, too
            program.commands += self.walked(text.replace("\\\n", ""), places, lost=lost).commands
        with program.checked():
            program.commands = [self.expanded(command, program) for command in program.commands]
        return program

    def walked(self, text: str, places: tuple[Path, ...], *, lost: bool) -> Program:
        return Walk(self.shell.decoding(text), self.work, lost=lost).read(text, places)

    def expanded(self, command: Command, program: Program) -> Command:
        """The command together with what it would run."""
        self.work.spend(len(command.words) * len(command.directories))
        _judge_words(command, program)
        run = run_by(command)
        if run is None:
            return command
        if not run.transparent:
            _add(program.doubts, f"{command.name!r} runs other commands")
        command = _moved(command)
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ToolError(f"{command.name!r} is run through too many other programs: run it directly.")
        inner = [*self.commands(run, command, program), *self.texts(run, command, program)]
        self.depth -= 1
        return replace(command, inner=tuple(inner))

    def commands(self, run: Run, command: Command, program: Program) -> Iterator[Command]:
        for words in run.commands:
            inner = replace(command, words=words)
            key = (inner.canonical, inner.directories, inner.lost)
            if key not in self.seen:
                self.seen.add(key)
                yield self.expanded(inner, program)

    def texts(self, run: Run, command: Command, program: Program) -> Iterator[Command]:
        for text in run.texts:
            found = self.of(text, command.directories, lost=command.lost)
            program.redirects += found.redirects
            for reason in found.opaque if found.guarded else ():
                program.guard(reason)
            yield from found.commands


def _moved(command: Command) -> Command:
    """The command where it runs others: `env -C` leads elsewhere."""
    words = iter(command.words[1:] if command.name == "env" else ())
    for word in takewhile(lambda each: each.outline.startswith("-") or "=" in each.outline, words):
        option = word.text
        if option in ("-C", "--chdir", "-u", "--unset"):
            word = next(words, word)
        hit = _CHDIR.fullmatch(f"-C{word.outline}" if option in ("-C", "--chdir") else word.outline)
        if hit:
            places = tuple(real(each / hit[1]) for each in command.directories)
            command = replace(command, directories=places, lost=command.lost or word.text is None)
        elif _MAY_CHDIR.match(word.outline):
            command = replace(command, lost=True)
    return command


def _judge_words(command: Command, program: Program) -> None:
    """Reasons to ask that lie in the program's name and its words."""
    name = command.name
    if command.reading and (alias := command.reading.alias):
        _add(program.doubts, f"'{name} {alias}' is an alias or an internal command of {name!r}")
    if any(_LOCAL_ADDRESS.search(word) for word in command.arguments):
        _add(program.doubts, f"{name!r} may reach a service on this machine or its network")
    for word in read_by_others(command):
        _add(program.doubts, f"it sets a variable that programs may read ({word})")
    if name in _CHANGING and not command.only_stricter:
        _add(program.opaque, f"{name!r} changes the shell")
    elif name in _EVALUATING and _evaluates(command):
        _add(program.opaque, f"{name!r} may run its arguments as commands")
    elif name not in PRINTING and any(word.text is None for word in command.words[1:]):
        _add(program.opaque, f"an argument of {name!r} is only known at run time")


def _evaluates(command: Command) -> bool:
    if command.name == "printf" and any(word.text is None or word.text.startswith("-v") for word in command.words[1:2]):
        return True
    if command.name in ("test", "[") and any(word.text == "-v" for word in command.words[1:]):
        return True
    return any(not _PLAIN_ARGUMENT.fullmatch(word.known) for word in command.words[1:])


def _add(reasons: list[str], reason: str) -> None:
    if reason not in reasons:
        reasons.append(reason)
