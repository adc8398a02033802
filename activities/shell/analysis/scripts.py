"""Scripts: the files that a command runs; their contents belong to what a person approves (security.md 2.1)."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from activities.files.replace import digest
from activities.files.resolve import real
from activities.shell.analysis.program import Command, Program
from activities.shell.analysis.work import Work
from workflows.domain.effects import Target
from workflows.domain.errors import ToolError

LARGEST: Final = 32 * 1024 * 1024  # bytes: a larger program is no script, and takes long to read
_UNIT: Final = 64 * 1024  # bytes that are read for one unit of work
_INTERPRETER: Final = re.compile(r"(?:python|node|ruby|perl|php|lua|bash|sh|dash|zsh|ksh|source|\.)[0-9.]*")


def scripts(program: Program) -> tuple[Target, ...]:
    """The files that the commands of a program run now, each once, with the hash of their content.

    A large one has what the file system says of it instead.
    """
    found: dict[Path, Target | None] = {}
    with program.checked():
        for command in program.commands:
            for each in command.everything():
                for path in _run_by(each):
                    program.work.spend()
                    if path not in found:
                        found[path] = _target(path, program.work)
    return tuple(target for target in found.values() if target is not None)


def _run_by(command: Command) -> Iterator[Path]:
    """What a command runs by its path: itself, or the script that is given to an interpreter."""
    named = command.name if "/" in command.name else None
    if _INTERPRETER.fullmatch(command.name):
        named = next((word.text for word in command.words[1:] if not word.known.startswith("-")), None)
    for directory in command.directories if named else ():
        yield real(directory / str(named))


def _target(path: Path, work: Work) -> Target | None:
    try:
        if not path.is_file():
            return None
        found = path.stat()
        if found.st_size > LARGEST:
            return Target(path=str(path), before=_unread(found))
        work.spend(found.st_size // _UNIT)
        return Target(path=str(path), before=digest(path))
    except (OSError, ToolError):  # it cannot be read, so nobody here can run it as a script
        return None


def _unread(found: os.stat_result) -> str:
    """What stands for the content of a file that is not read: whoever changes the file changes this."""
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_ctime_ns}"
