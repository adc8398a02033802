"""Trees: what a program that reads a directory with all below it would see of what the rules do not simply allow."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.files.place import Place
from activities.files.resolve import is_link, real
from activities.shell.analysis.work import Work
from activities.shell.programs.reading import Reading

MOST_ENTRIES: Final = 50_000  # of a tree: a larger one is not looked through, and asks
_ENTRIES: Final = 10  # that are compared with rules for one unit of work


class TooLarge(Exception):
    """More than is looked through; the message says of what."""


@dataclass(frozen=True)
class Withheld:
    """Of the files that a program would read: those about which a rule asks, and those that a rule denies."""

    asked: tuple[Path, ...] = ()
    denied: tuple[Path, ...] = ()

    def within(self, paths: list[Path]) -> "Withheld":
        """What of it lies at or below some paths."""
        return Withheld(
            *(tuple(each for each in found if _is_within(each, paths)) for found in (self.asked, self.denied))
        )


def withheld_below(tree: Path, place: Place, reading: Reading, work: Work) -> Withheld:
    """What of a tree the rules withhold; the tree itself where a rule asks before it is read. Raises TooLarge."""
    found = withheld_of(_entries(tree, reading, work), tree, place)
    return Withheld((tree, *found.asked), found.denied) if place.asks_to_read(tree) else found


def withheld_of(paths: Iterable[Path], tree: Path, place: Place) -> Withheld:
    """What the rules withhold of some paths below a tree."""
    shown = place.searched(tree)
    withheld = [path for path in paths if place.may_withhold(path) and not shown(path)]
    denied = tuple(path for path in withheld if not place.readable(path))
    return Withheld(tuple(path for path in withheld if path not in set(denied)), denied)


def _is_within(path: Path, paths: list[Path]) -> bool:
    return any(path.is_relative_to(each) for each in paths)


def _entries(tree: Path, reading: Reading, work: Work) -> Iterator[Path]:
    """The entries of a tree that are read, and what links among them lead to where those are followed. Links in a
    circle end with the most that are looked at."""
    count = 0
    for folder, folders, files in os.walk(tree, followlinks=reading.follows):
        if not reading.hidden:
            folders[:] = [name for name in folders if not name.startswith(".")]
        count += len(folders) + len(files)
        if count > MOST_ENTRIES:
            raise TooLarge(f"more files below {str(tree)!r} than can be looked through")
        work.spend(1 + (len(folders) + len(files)) // _ENTRIES)
        for name in (*folders, *files):
            if reading.hidden or not name.startswith("."):
                path = Path(folder, name)
                yield path
                if reading.follows and is_link(path):
                    yield real(path)
