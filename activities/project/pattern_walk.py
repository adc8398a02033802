"""PatternWalk: the files that patterns of a configuration mean, found within limits."""

import fnmatch
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple

from activities.files.real_paths import is_directory, real_path
from activities.project.folder_scan import FolderScan

MAX_WALKED: Final = 100_000  # entries: a large project with its dependencies; each turn looks at them
MAX_STEPS: Final = 20_000  # a folder counts once for each part of a pattern that is looked for in it
MAX_SECONDS: Final = 10.0  # for file systems that are slow: the other limits are the same everywhere
_PATTERNS: Final = 64  # compiled, that are kept
_DEEP: Final = "**"
_WILD: Final = re.compile(r"[*?\[]")


class Matches(NamedTuple):
    """`outside`: the places out of the trees that the pattern leads to, sorted, which are not entered. `complete`:
    nothing was cut."""

    files: tuple[Path, ...]
    outside: tuple[Path, ...]
    complete: bool


class _Step(NamedTuple):
    """A path, and what is looked for below it. `below_last`: an entry of the folder before it, and no link."""

    path: Path
    parts: tuple[str, ...]
    below_last: bool = False

    @property
    def key(self) -> tuple[Path, int]:
        """Of two steps of one pattern with the same, one is enough."""
        return self.path, len(self.parts)


class PatternWalk:
    """Its limits are those of all its patterns together."""

    def __init__(self) -> None:
        self._scan = FolderScan(MAX_WALKED)
        self._steps_left = MAX_STEPS
        self._seconds = MAX_SECONDS

    def match(self, base: Path, pattern: Sequence[str], within: Collection[Path] | None) -> Matches:
        """The files below `base`, sorted. `within`: the trees that are not left, by names or through links.

        Raises OSError, ValueError for what no path can be."""
        files, outside, cut, todo = set[Path](), set[Path](), False, [_Step(base, _without_repetition(pattern))]
        until, known = time.monotonic() + self._seconds, set[tuple[Path, int]]()
        while todo and time.monotonic() < until:
            folder, parts, below_last = todo.pop()
            if not (below_last or within is None or is_within(real_path(folder), within)):
                folder, parts = _plain_part(folder, parts)
                place = real_path(folder)
                if not is_within(place, within):
                    outside.update([place] if is_directory(place) or _is_file(place) else ())
                    continue
            for step in self._steps(folder, parts) if parts else (_Step(folder, ()),):
                if step.parts and step.key not in known and (step.below_last or is_directory(step.path)):
                    known.add(step.key)
                    todo.append(step)
                elif not step.parts and _is_file(step.path):
                    files.add(step.path)
            cut = cut or (self._is_spent and any(map(_is_wild, parts[:1])))
        self._seconds = until - time.monotonic()
        return Matches(tuple(sorted(files)), tuple(sorted(outside)), not (cut or todo))

    def _steps(self, folder: Path, parts: tuple[str, ...]) -> Iterator[_Step]:
        """`**` enters no links."""
        first, below = parts[0], parts[1:]
        entries = self._entries(folder) if _is_wild(first) else []
        if first == _DEEP:
            yield from (_Step(Path(each.path), parts, True) for each in entries if each.is_dir(follow_symlinks=False))
            first, below = (below[0], below[1:]) if below else ("", ())
        if _is_wild(first):
            matches = _pattern(first).match
            yield from (_Step(Path(each.path), below) for each in entries if matches(each.name))
        elif first:
            yield _Step(folder / first, below)

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        if self._is_spent:
            return []
        self._steps_left -= 1
        return self._scan.read(folder, set())

    @property
    def _is_spent(self) -> bool:
        return not (self._scan.remaining and self._steps_left)


def is_within(real: Path, trees: Iterable[Path]) -> bool:
    return any(real.is_relative_to(tree) for tree in trees)


def _without_repetition(pattern: Sequence[str]) -> tuple[str, ...]:
    """Several `**` in a row mean no more than one."""
    return tuple(
        part for part, before in zip(pattern, ("", *pattern), strict=False) if (part, before) != (_DEEP, _DEEP)
    )


def _plain_part(folder: Path, parts: tuple[str, ...]) -> tuple[Path, tuple[str, ...]]:
    """Where the pattern leads before its first wildcard, and the rest."""
    plain = tuple(takewhile(lambda part: not _is_wild(part), parts))
    return folder.joinpath(*plain), parts[len(plain) :]


@lru_cache(_PATTERNS)
def _pattern(part: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(part))


def _is_wild(part: str) -> bool:
    return _WILD.search(part) is not None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except PermissionError:
        return False
