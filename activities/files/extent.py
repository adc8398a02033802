"""How many files a change may reach: what people want to know before they allow `rm -r`."""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

MOST: Final = 1000  # files that are counted, and directories that are looked into


def extent(paths: Iterable[Path]) -> int | None:
    """The files at and below these paths, at most `MOST`.

    None when none of them is a directory or a pattern, and where a pattern names directories: finding those could take
    long.
    """
    named = list(paths)
    if any(_is_pattern(path.parent) for path in named) or not any(_is_pattern(path) or path.is_dir() for path in named):
        return None
    return sum(1 for _ in islice(_files(named), MOST))


def _is_pattern(path: Path) -> bool:
    return any(letter in str(path) for letter in "*?[")


def _files(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        name = re.sub(r"\*+", "*", path.name)  # two of them would look into every directory
        for each in islice(path.parent.glob(name), MOST) if _is_pattern(path) else [path]:
            yield from _below(each)


def _below(path: Path) -> Iterator[str]:
    """Links are not followed: deleting one deletes nothing behind it."""
    if path.is_symlink() or not path.is_dir():
        yield from [path.name] if path.is_symlink() or path.exists() else []
        return
    for _, _, files in islice(os.walk(path), MOST):
        yield from files
