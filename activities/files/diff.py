"""The unified diff that a person approves: complete and fast for large files."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

_CONTEXT: Final = 3
_MAX_COMPARISONS: Final = 4_000_000  # changed lines before × after; beyond it, the diff need not be minimal
_HEADER: Final = "Index: {name}\n" + "=" * 67 + "\n--- {name}\n+++ {name}\n"
_NO_NEWLINE: Final = "\n\\ No newline at end of file\n"

_Lines = Sequence[str]


class _Change(NamedTuple):
    old_from: int
    old_to: int
    new_from: int
    new_to: int


def unified_diff(name: str, before: str, after: str) -> str:
    """Under OpenCode's header; line endings and the last newline count."""
    old, new = _lines(before), _lines(after)
    hunks = ("".join(_hunk(changes, old, new)) for changes in _group_changes(_changes(old, new)))
    return _HEADER.format(name=name) + "".join(hunks)


def count_changes(patch: str) -> tuple[int, int]:
    """Added and removed lines of a diff from `unified_diff`."""
    body = patch.split("\n")[4:]
    return sum(line.startswith("+") for line in body), sum(line.startswith("-") for line in body)


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _changes(old: _Lines, new: _Lines) -> list[_Change]:
    """Equal beginnings and ends are cut off first, since most edits touch few lines."""
    head = _common_prefix_length(old, new)
    tail = _common_prefix_length(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    if (old_end - head) * (new_end - head) > _MAX_COMPARISONS:
        return [_Change(head, old_end, head, new_end)]
    codes = SequenceMatcher(None, old[head:old_end], new[head:new_end]).get_opcodes()
    return [_Change(*(head + at for at in places)) for tag, *places in codes if tag != "equal"]


def _common_prefix_length(old: _Lines, new: _Lines) -> int:
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _group_changes(changes: Sequence[_Change]) -> Iterator[list[_Change]]:
    group: list[_Change] = []
    for change in changes:
        if group and change.old_from - group[-1].old_to > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(changes: Sequence[_Change], old: _Lines, new: _Lines) -> Iterator[str]:
    first, last = changes[0], changes[-1]
    lead = min(_CONTEXT, first.old_from)
    trail = min(_CONTEXT, len(old) - last.old_to)
    yield f"@@ -{_range(first.old_from - lead, last.old_to + trail)}"
    yield f" +{_range(first.new_from - lead, last.new_to + trail)} @@\n"
    shown = first.old_from - lead
    for change in changes:
        yield from _prefix_lines(" ", old[shown : change.old_from])
        yield from _prefix_lines("-", old[change.old_from : change.old_to])
        yield from _prefix_lines("+", new[change.new_from : change.new_to])
        shown = change.old_to
    yield from _prefix_lines(" ", old[shown : shown + trail])


def _range(start: int, end: int) -> str:
    return f"{start + 1 if end > start else start},{end - start}"


def _prefix_lines(sign: str, lines: _Lines) -> Iterator[str]:
    for line in lines:
        yield sign + (line if line.endswith("\n") else line + _NO_NEWLINE)
