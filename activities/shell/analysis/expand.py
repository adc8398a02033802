"""Expands wildcards to their present matches."""

import os
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Final

from activities.shell.analysis.budget import WorkBudget
from activities.shell.analysis.program import Word

MAX_MATCHES: Final = 1000
MAX_WILDCARDS: Final = 3  # components with wildcards: more may search a whole disk
_PLAIN_BRACKETS: Final = re.compile(r"\[[A-Za-z0-9_-]+\]|\[[*?[]\]")
_ENTRIES: Final = 10  # directory entries compared with a pattern for one unit of work


class WildcardExpander:
    """Expands each word once per directory; calls `guard` for a partial result. Raises WorkBudgetExceeded."""

    def __init__(self, budget: WorkBudget, guard: Callable[[str], None]) -> None:
        self.budget = budget
        self.guard = guard
        self.known: dict[tuple[str, Path], list[Path]] = {}

    def paths(self, word: Word, directory: Path) -> list[Path]:
        """A word's path, or its matches; without a match, where it searches."""
        if word.pattern is None:
            return [directory / word.outline]
        key = (word.pattern, directory)
        if key not in self.known:
            self.known[key] = self._expand(word, word.pattern, directory)
            self.budget.spend(len(self.known[key]))
        return self.known[key]

    def _expand(self, word: Word, pattern: str, directory: Path) -> list[Path]:
        start = Path("/") if pattern.startswith("/") else directory
        parts = [_loosened(part) for part in pattern.split("/") if part]
        if sum(map(_has_wildcard, parts)) > MAX_WILDCARDS:
            self.guard(f"it has wildcards in more than {MAX_WILDCARDS} parts of a path")
            return [_searched(word, start)]
        found = list(islice(self._matching(start, parts), MAX_MATCHES + 1))
        if len(found) > MAX_MATCHES:  # denies match the first ones
            self.guard(f"its wildcards match more than {MAX_MATCHES:,} names")
        return found[:MAX_MATCHES] or [_searched(word, start)]

    def _matching(self, start: Path, parts: list[str]) -> Iterator[Path]:
        """As in bash, a leading dot needs one in the pattern."""
        if not parts:
            yield from [start] if os.path.lexists(start) else []
            return
        first, *rest = parts
        if not _has_wildcard(first):
            yield from self._matching(start / first, rest)
            return
        for name in self._names(start):
            if fnmatchcase(name, first) and (first[0] == "." or name[0] != "."):
                yield from self._matching(start / name, rest)

    def _names(self, directory: Path) -> list[str]:
        try:
            with os.scandir(directory) as entries:
                names = sorted(entry.name for entry in entries)
        except (OSError, ValueError):
            names = []
        self.budget.spend(1 + len(names) // _ENTRIES)
        return names


def _loosened(part: str) -> str:
    """`*` for brackets that Python may read unlike bash: `[[:alpha:]]`, `[!a]`."""
    rest = _PLAIN_BRACKETS.sub("", part)
    if "[" not in part or "]" not in part or not ("[" in rest or "]" in rest):
        return part
    return f"{part[: part.index('[')]}*{part[part.rindex(']') + 1 :]}"


def _searched(word: Word, start: Path) -> Path:
    return start / re.split(r"[*?\[]", word.known)[0].rpartition("/")[0] / "*"


def _has_wildcard(part: str) -> bool:
    return any(mark in part for mark in "*?[")
