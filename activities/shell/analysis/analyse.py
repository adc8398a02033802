"""What a text, and the programs in it, would do."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Final

from activities.files.real_paths import real_path
from activities.shell.analysis.budget import WorkBudget
from activities.shell.analysis.program import Command, ShellProgram
from activities.shell.analysis.runners import InnerCommands, inner_commands
from activities.shell.analysis.variables import sets_visible_variable
from activities.shell.analysis.walk import SyntaxWalker
from activities.shell.analysis.words import WordDecoder
from workflows.domain.errors import ToolError

_MAX_DEPTH: Final = 8  # programs run by programs
# Builtins that change the shell or evaluate a plain-looking word (security.md 2.2, 2.5).
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
_MAY_CHDIR: Final = re.compile(r"-[^-C=]+C|--ch")  # bundled with other letters, or abbreviated
# To these programs, an unknown word is text, never an option, a path or an address.
PRINTING: Final = frozenset({"echo", "true", "false", ":", "printf", "pwd"})


@dataclass(frozen=True)
class ShellContext:
    """Where a text runs; `variables`: those that we set."""

    directory: Path
    home: Path
    variables: Mapping[str, str]

    def decoder_factory(self, text: str) -> Callable[[tuple[Path, ...]], WordDecoder]:
        """A variable's value is certain if we set it and the text only reads it."""
        names = {name for name in (*self.variables, "HOME", "PWD") if not re.search(rf"(?<![${{\w]){name}\b", text)}
        known = {name: value for name, value in self.variables.items() if name in names}

        @cache
        def decoder(directories: tuple[Path, ...]) -> WordDecoder:
            here = {"PWD": str(directories[0])} if "PWD" in names and len(directories) == 1 else {}
            return WordDecoder({**known, **here}.get, str(self.home) if "HOME" in names else None)

        return decoder


def analyse(text: str, shell: ShellContext) -> ShellProgram:
    """Raises ToolError for too deep nesting."""
    return _Analyser(shell).analyse_text(text, (shell.directory,))


class _Analyser:
    """Each program that a text runs is analysed once."""

    def __init__(self, shell: ShellContext) -> None:
        self.shell = shell
        self.budget = WorkBudget()
        self.depth = 0
        self.seen: set[tuple[str, tuple[Path, ...], bool]] = set()

    def analyse_text(
        self, text: str, directories: tuple[Path, ...], *, directory_unknown: bool = False
    ) -> ShellProgram:
        program = self.read_program(text, directories, directory_unknown=directory_unknown)
        if "\\\n" in text and program.opaque:  # a word may continue on the next line: denies match the joined text too
            program.commands += self.read_program(
                text.replace("\\\n", ""), directories, directory_unknown=directory_unknown
            ).commands
        with program.within_budget():
            program.commands = [self.expand(command, program) for command in program.commands]
        return program

    def read_program(self, text: str, directories: tuple[Path, ...], *, directory_unknown: bool) -> ShellProgram:
        return SyntaxWalker(self.shell.decoder_factory(text), self.budget, directory_unknown=directory_unknown).read(
            text, directories
        )

    def expand(self, command: Command, program: ShellProgram) -> Command:
        self.budget.spend(len(command.words) * len(command.directories))
        _check_words(command, program)
        run = inner_commands(command)
        if run is None:
            return command
        if not run.transparent:
            program.add_ask_reason(f"{command.name!r} runs other commands")
        command = _with_chdir(command)
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ToolError(f"{command.name!r} is run through too many other programs: run it directly.")
        inner = [*self.commands(run, command, program), *self.texts(run, command, program)]
        self.depth -= 1
        return replace(command, inner=tuple(inner))

    def commands(self, run: InnerCommands, command: Command, program: ShellProgram) -> Iterator[Command]:
        for words in run.commands:
            inner = replace(command, words=words)
            key = (inner.canonical, inner.directories, inner.directory_unknown)
            if key not in self.seen:
                self.seen.add(key)
                yield self.expand(inner, program)

    def texts(self, run: InnerCommands, command: Command, program: ShellProgram) -> Iterator[Command]:
        for text in run.texts:
            found = self.analyse_text(text, command.directories, directory_unknown=command.directory_unknown)
            program.redirects += found.redirects
            for reason in found.opaque if found.guarded else ():
                program.guard(reason)
            yield from found.commands


def _with_chdir(command: Command) -> Command:
    """`env -C` changes the directory of the command inside."""
    words = iter(command.words[1:] if command.name == "env" else ())
    for word in takewhile(lambda each: each.outline.startswith("-") or "=" in each.outline, words):
        option = word.text
        if option in ("-C", "--chdir", "-u", "--unset"):
            word = next(words, word)
        hit = _CHDIR.fullmatch(f"-C{word.outline}" if option in ("-C", "--chdir") else word.outline)
        if hit:
            directories = tuple(real_path(each / hit[1]) for each in command.directories)
            command = replace(
                command, directories=directories, directory_unknown=command.directory_unknown or word.text is None
            )
        elif _MAY_CHDIR.match(word.outline):
            command = replace(command, directory_unknown=True)
    return command


def _check_words(command: Command, program: ShellProgram) -> None:
    name = command.name
    if command.parsed_arguments and (alias := command.parsed_arguments.alias):
        program.add_ask_reason(f"'{name} {alias}' is an alias or an internal command of {name!r}")
    if any(_LOCAL_ADDRESS.search(word) for word in command.arguments):
        program.add_ask_reason(f"{name!r} may reach a service on this machine or its network")
    for word in sets_visible_variable(command):
        program.add_ask_reason(f"it sets a variable that programs may read ({word})")
    if name in _CHANGING and not command.only_restricts:
        program.add_opaque(f"{name!r} changes the shell")
    elif name in _EVALUATING and _evaluates(command):
        program.add_opaque(f"{name!r} may run its arguments as commands")
    elif name not in PRINTING and any(word.text is None for word in command.words[1:]):
        program.add_opaque(f"an argument of {name!r} is only known at run time")


def _evaluates(command: Command) -> bool:
    if command.name == "printf" and any(word.text is None or word.text.startswith("-v") for word in command.words[1:2]):
        return True
    if command.name in ("test", "[") and any(word.text == "-v" for word in command.words[1:]):
        return True
    return any(not _PLAIN_ARGUMENT.fullmatch(word.known) for word in command.words[1:])
