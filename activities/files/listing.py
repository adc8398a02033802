"""The names in a directory, bounded whatever its size."""

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from activities.files.opening import as_path, directory, refusing

LISTED: Final = 10_000  # names that are looked at; a directory with more is known by its first ones only


@dataclass(frozen=True)
class Listing:
    """Sorted names, directories with a slash behind them; `complete` says that there are no others."""

    names: tuple[str, ...]
    complete: bool


def listing(path: Path) -> Listing:
    """The names in the directory at a real path."""
    with directory(path) as descriptor, refusing(path), os.scandir(as_path(descriptor, path)) as entries:
        found = [entry.name + "/" * entry.is_dir() for entry in islice(entries, LISTED + 1)]
    return Listing(tuple(sorted(found[:LISTED])), len(found) <= LISTED)


def similar(path: Path, limit: int = 3) -> list[str]:
    """Names beside a path that does not exist which contain its name or are contained in it, whatever the case."""
    if not path.parent.is_dir():
        return []
    wanted = path.name.casefold()
    names = (name.rstrip("/") for name in listing(path.parent).names)
    return [name for name in names if wanted in name.casefold() or name.casefold() in wanted][:limit]
