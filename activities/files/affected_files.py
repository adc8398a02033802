"""How many files a change may reach."""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from activities.files.real_paths import is_directory, is_link

MAX_COUNTED: Final = 1000  # files counted, and directories read


def count_affected_files(paths: Iterable[Path]) -> int | None:
    """At most MAX_COUNTED; None when no path is a directory or pattern, or when a pattern names directories: finding
    those could take long."""
    named = list(paths)
    if any(_is_pattern(path.parent) for path in named) or not any(
        _is_pattern(path) or is_directory(path) for path in named
    ):
        return None
    return sum(1 for _ in islice(_files(named), MAX_COUNTED))


def _is_pattern(path: Path) -> bool:
    return any(letter in str(path) for letter in "*?[")


def _files(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        for each in islice(_matches(path), MAX_COUNTED) if _is_pattern(path) else [path]:
            yield from _files_below(each)


def _matches(pattern: Path) -> Iterator[Path]:
    name = re.sub(r"\*+", "*", pattern.name)  # `**` would enter every directory
    try:
        yield from pattern.parent.glob(name)
    except OSError:  # the directory cannot be read
        return


def _files_below(path: Path) -> Iterator[str]:
    # Links are not followed: deleting one deletes nothing behind it.
    if is_link(path) or not is_directory(path):
        yield from [path.name] if os.path.lexists(path) else []
        return
    for _, _, files in islice(os.walk(path), MAX_COUNTED):
        yield from files
