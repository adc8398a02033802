"""The scripts that a command runs: approving it approves their contents (security.md 2.1)."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from activities.files.real_paths import real_path
from activities.files.replace import file_digest
from activities.shell.analysis.budget import WorkBudget
from activities.shell.analysis.program import Command, ShellProgram
from workflows.domain.effects import Target
from workflows.domain.errors import ToolError

MAX_SCRIPT_BYTES: Final = 32 * 1024 * 1024  # a larger program is no script, and slow to read
_UNIT: Final = 64 * 1024  # bytes read for one unit of work
_INTERPRETER: Final = re.compile(r"(?:python|node|ruby|perl|php|lua|bash|sh|dash|zsh|ksh|source|\.)[0-9.]*")


def executed_scripts(program: ShellProgram) -> tuple[Target, ...]:
    """Each script once, with a digest of its content (large files: of `stat`)."""
    found: dict[Path, Target | None] = {}
    with program.within_budget():
        for command in program.commands:
            for each in command.with_inner():
                for path in _script_paths(each):
                    program.budget.spend()
                    if path not in found:
                        found[path] = _target(path, program.budget)
    return tuple(target for target in found.values() if target is not None)


def _script_paths(command: Command) -> Iterator[Path]:
    """The command's program, if it is a script, or its interpreter's script."""
    named = command.name if "/" in command.name else None
    if _INTERPRETER.fullmatch(command.name):
        named = next((word.text for word in command.words[1:] if not word.known.startswith("-")), None)
    for directory in command.directories if named else ():
        yield real_path(directory / str(named))


def _target(path: Path, budget: WorkBudget) -> Target | None:
    try:
        if not path.is_file():
            return None
        found = path.stat()
        if found.st_size > MAX_SCRIPT_BYTES:
            return Target(path=str(path), before=_stat_fingerprint(found))
        budget.spend(found.st_size // _UNIT)
        return Target(path=str(path), before=file_digest(path))
    except (OSError, ToolError):  # an unreadable file cannot run as a script
        return None


def _stat_fingerprint(found: os.stat_result) -> str:
    # Any change of the file changes one of these.
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_ctime_ns}"
