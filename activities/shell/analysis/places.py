"""Places: where the shell may be, as far as a text tells."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from activities.files.resolve import real
from activities.shell.analysis.program import Command
from activities.shell.analysis.work import MOST_PLACES

_OPTIONS: Final = frozenset({"-P", "-L", "--"})


@dataclass(frozen=True)
class Places:
    """Where the shell may be after a command: if it succeeded, and in any case."""

    done: tuple[Path, ...]
    anyhow: tuple[Path, ...]


def stay(places: tuple[Path, ...]) -> Places:
    return Places(places, places)


def union(one: tuple[Path, ...], other: tuple[Path, ...]) -> tuple[Path, ...]:
    """Both together; of what are too many places anyway, only so many that it shows."""
    return tuple(islice(dict.fromkeys((*one, *other)), MOST_PLACES + 1))


def reached(command: Command, home: str | None) -> tuple[Path, ...] | None:
    """Where a `cd` or `pushd` leads; None when it is not written out."""
    operands = [word for word in command.words[1:] if word.known not in _OPTIONS]
    if not operands and command.name != "pushd":
        return None if home is None else (real(Path(home)),)
    if len(operands) != 1 or operands[0].pattern is not None or operands[0].text in (None, "", "-"):
        return None
    return tuple(real(place / operands[0].known) for place in command.directories)
