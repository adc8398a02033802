"""Expansion: the paths that the wildcards of a word match now."""

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Final

from activities.shell.analysis.program import Word
from activities.shell.analysis.work import Work

_MOST_MATCHES: Final = 1000
_MOST_WILDCARDS: Final = 3  # components of a pattern with wildcards: more may search a whole disk
_ENTRIES: Final = 10  # of a directory, that are compared with a pattern for one unit of work


class Expansion:
    """Expands words, each once per directory. Raises TooMuchWork."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.known: dict[tuple[str, Path], list[Path]] = {}

    def paths(self, word: Word, directory: Path) -> list[Path]:
        """The path of a word, or those that it matches; without a match, where they would be looked for."""
        if word.pattern is None:
            return [directory / word.known]
        key = (word.pattern, directory)
        if key not in self.known:
            self.known[key] = self._found(word, word.pattern, directory)
            self.work.spend(len(self.known[key]))
        return self.known[key]

    def _found(self, word: Word, pattern: str, directory: Path) -> list[Path]:
        start = Path("/") if pattern.startswith("/") else directory
        parts = [part for part in pattern.replace("[^", "[!").split("/") if part]
        if sum(map(_has_wildcard, parts)) > _MOST_WILDCARDS:
            return [_searched(word, start)]
        return list(islice(self._matching(start, parts), _MOST_MATCHES)) or [_searched(word, start)]

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


def _searched(word: Word, start: Path) -> Path:
    """A name in the directory in which the wildcards of a word are looked for."""
    return start / re.split(r"[*?\[]", word.known)[0].rpartition("/")[0] / "*"


def _has_wildcard(part: str) -> bool:
    return any(mark in part for mark in "*?[")
