"""Places: where the shell may be, as far as a text tells."""

import os.path
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.shell.analysis.program import Command

_OPTIONS: Final = frozenset({"-P", "-L", "--"})


@dataclass(frozen=True)
class Places:
    """Where the shell may be after a command: if it succeeded, and in any case."""

    done: tuple[Path, ...]
    anyhow: tuple[Path, ...]


def stay(places: tuple[Path, ...]) -> Places:
    return Places(places, places)


def union(one: tuple[Path, ...], other: tuple[Path, ...]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def reached(command: Command, home: str) -> tuple[Path, ...] | None:
    """Where a `cd` or `pushd` leads; None when it is not written out."""
    operands = [word for word in command.words[1:] if word.known not in _OPTIONS]
    if not operands and command.name != "pushd":
        return (Path(os.path.realpath(home)),)
    if len(operands) != 1 or operands[0].pattern is not None or operands[0].text in (None, "", "-"):
        return None
    return tuple(Path(os.path.realpath(place / operands[0].known)) for place in command.directories)


def is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long
        return False
