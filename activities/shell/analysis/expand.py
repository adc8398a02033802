"""Expansion: the paths that the wildcards of a word match now."""

import os
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Final

from activities.shell.analysis.program import Word
from activities.shell.analysis.work import Work

MOST_MATCHES: Final = 1000
MOST_WILDCARDS: Final = 3  # components of a pattern with wildcards: more may search a whole disk
_PLAIN_BRACKETS: Final = re.compile(r"\[[A-Za-z0-9_-]+\]|\[[*?[]\]")
_ENTRIES: Final = 10  # of a directory, that are compared with a pattern for one unit of work


class Expansion:
    """Expands words, each once per directory; `guard` is told why one is expanded in part only. Raises TooMuchWork."""

    def __init__(self, work: Work, guard: Callable[[str], None]) -> None:
        self.work = work
        self.guard = guard
        self.known: dict[tuple[str, Path], list[Path]] = {}

    def paths(self, word: Word, directory: Path) -> list[Path]:
        """The path of a word, or those that it matches; without a match, where they would be looked for."""
        if word.pattern is None:
            return [directory / word.outline]
        key = (word.pattern, directory)
        if key not in self.known:
            self.known[key] = self._found(word, word.pattern, directory)
            self.work.spend(len(self.known[key]))
        return self.known[key]

    def _found(self, word: Word, pattern: str, directory: Path) -> list[Path]:
        start = Path("/") if pattern.startswith("/") else directory
        parts = [_loosened(part) for part in pattern.split("/") if part]
        if sum(map(_has_wildcard, parts)) > MOST_WILDCARDS:
            self.guard(f"it has wildcards in more than {MOST_WILDCARDS} parts of a path")
            return [_searched(word, start)]
        found = list(islice(self._matching(start, parts), MOST_MATCHES + 1))
        if len(found) > MOST_MATCHES:  # denies still see the first of them
            self.guard(f"its wildcards match more than {MOST_MATCHES:,} names")
        return found[:MOST_MATCHES] or [_searched(word, start)]

    def _matching(self, start: Path, parts: list[str]) -> Iterator[Path]:
        """The paths below `start` that match; names with a leading dot only where the pattern has one, as in bash."""
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
        self.work.spend(1 + len(names) // _ENTRIES)
        return names


def _loosened(part: str) -> str:
    """A part of a pattern, with `*` for brackets that Python may read differently than bash: `[[:alpha:]]`, `[!a]`."""
    rest = _PLAIN_BRACKETS.sub("", part)
    if "[" not in part or "]" not in part or not ("[" in rest or "]" in rest):
        return part
    return f"{part[: part.index('[')]}*{part[part.rindex(']') + 1 :]}"


def _searched(word: Word, start: Path) -> Path:
    """A name in the directory in which the wildcards of a word are looked for."""
    return start / re.split(r"[*?\[]", word.known)[0].rpartition("/")[0] / "*"


def _has_wildcard(part: str) -> bool:
    return any(mark in part for mark in "*?[")
