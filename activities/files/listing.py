"""The names in a directory, up to a limit."""

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from activities.files.safe_open import descriptor_path, open_directory, raise_tool_errors

MAX_NAMES: Final = 10_000  # read of one directory
_ALIKE: Final = 70  # percent of a name that may be meant


@dataclass(frozen=True)
class Listing:
    """Sorted names, directories with a trailing slash; `complete`: there are no others."""

    names: tuple[str, ...]
    complete: bool


def list_directory(path: Path) -> Listing:
    with (
        open_directory(path) as descriptor,
        raise_tool_errors(path),
        os.scandir(descriptor_path(descriptor, path)) as entries,
    ):
        found = [entry.name + "/" * entry.is_dir() for entry in islice(entries, MAX_NAMES + 1)]
    return Listing(tuple(sorted(found[:MAX_NAMES])), len(found) <= MAX_NAMES)


def similar_names(path: Path) -> list[str]:
    """Up to three names beside a missing path that contain its name or are part of it, else those most like it."""
    if not path.parent.is_dir():
        return []
    wanted = path.name.casefold()
    names = [name.rstrip("/") for name in list_directory(path.parent).names]
    if found := [name for name in names if wanted in name.casefold() or name.casefold() in wanted]:
        return found[:3]
    from rapidfuzz import fuzz, process  # start-up time

    near = process.extract(wanted, names, scorer=fuzz.ratio, processor=str.casefold, limit=3, score_cutoff=_ALIKE)
    return [name for name, *_ in near]


def with_similar_names(problem: str, path: Path) -> str:
    """The problem with a missing path, and what may be meant."""
    if not (names := similar_names(path)):
        return problem
    return "\n".join([problem, "", "Did you mean one of these?", *(str(path.parent / name) for name in names)])
