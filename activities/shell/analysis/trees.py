"""Trees: what a program that reads a directory with all below it would see of what the rules hide."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from activities.files.place import Place
from activities.files.resolve import is_link, real
from activities.shell.programs.reading import Reading

MOST_ENTRIES: Final = 10_000  # of a tree: a larger one is not looked through, and asks


def hidden_from_us(tree: Path, place: Place, reading: Reading) -> str | None:
    """What stands against reading the tree, in words; None: nothing."""
    entries = list(islice(_below(tree, reading), MOST_ENTRIES + 1))
    if len(entries) > MOST_ENTRIES:
        return f"more files below {place.relative(tree)!r} than can be looked through"
    denied = next((path for path in entries if not _readable(path, place, reading)), None)
    return None if denied is None else f"{place.relative(denied)!r}, which a rule denies"


def _readable(path: Path, place: Place, reading: Reading) -> bool:
    """Whether neither the path nor what is read through a link is denied."""
    through_link = reading.follows and is_link(path)
    return place.readable(path) and (not through_link or place.readable(real(path)))


def _below(tree: Path, reading: Reading) -> Iterator[Path]:
    """All entries of a tree that are read; links in a circle end with the most that are looked at."""
    for folder, folders, files in os.walk(tree, followlinks=reading.follows):
        if not reading.hidden:
            folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(folder, name) for name in (*folders, *files) if reading.hidden or not name.startswith("."))
