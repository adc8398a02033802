"""The directories that the shell may be in."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from activities.files.real_paths import real_path
from activities.shell.analysis.budget import MAX_DIRECTORIES
from activities.shell.analysis.program import Command

_OPTIONS: Final = frozenset({"-P", "-L", "--"})


@dataclass(frozen=True)
class DirectoriesAfter:
    """Where the shell may be after a command: on success, and in any case."""

    on_success: tuple[Path, ...]
    in_any_case: tuple[Path, ...]


def unchanged_directories(directories: tuple[Path, ...]) -> DirectoriesAfter:
    return DirectoriesAfter(directories, directories)


def union(one: tuple[Path, ...], other: tuple[Path, ...]) -> tuple[Path, ...]:
    """The directories of both, cut just above MAX_DIRECTORIES."""
    return tuple(islice(dict.fromkeys((*one, *other)), MAX_DIRECTORIES + 1))


def cd_target(command: Command, home: str | None) -> tuple[Path, ...] | None:
    """The target of a `cd`; None if the text does not spell it out."""
    operands = [word for word in command.words[1:] if word.known not in _OPTIONS]
    if not operands and command.name != "pushd":
        return None if home is None else (real_path(Path(home)),)
    if len(operands) != 1 or operands[0].pattern is not None or operands[0].text in (None, "", "-"):
        return None
    return tuple(real_path(directory / operands[0].known) for directory in command.directories)
