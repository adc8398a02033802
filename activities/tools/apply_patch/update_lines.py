"""Finds the lines of a patch in a file and changes them: exact, then but for trailing blanks, blanks around, and the
typography of quotes, dashes and blanks (opencode.md 7.4)."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from activities.files.text_file import TextFile
from activities.tools.apply_patch.patch import FAILED, Chunk
from workflows.domain.errors import ToolError
from workflows.domain.reminder_tags import unescape_reminders

_TYPOGRAPHY: Final = str.maketrans(
    dict.fromkeys("‘’‚‛", "'")
    | dict.fromkeys("“”„‟", '"')
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
    | {"…": "..."}
)
_FORMS: Final[Sequence[Callable[[str], str]]] = (
    str,
    str.rstrip,
    str.strip,
    lambda line: line.translate(_TYPOGRAPHY).strip(),
)


def update_text(path: str, text: TextFile, chunks: Sequence[Chunk]) -> TextFile:
    """The chunks are searched one behind the other. Lines that stay keep their bytes, new ones get the file's line
    ending, and the last one ends with it. Raises ToolError, in OpenCode's words."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text.content)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += text.line_ending
    searched = _SearchedLines(lines)
    changes: list[tuple[int, int, list[str]]] = []  # from, to, the new lines
    at = 0
    for chunk in chunks:
        if chunk.context is not None:
            place = searched.find([unescape_reminders(chunk.context, text.content)], at)
            if place is None:
                raise ToolError(f"{FAILED} Error: Failed to find context '{chunk.context}' in {path}")
            at = place + 1
        shown = unescape_reminders("\n".join(line for _, line in chunk.lines), text.content).split("\n")
        wanted = [(sign, line) for (sign, _), line in zip(chunk.lines, shown, strict=False)]
        start, wanted = _place(path, searched, chunk, wanted, at)
        end, new = start, []
        for sign, line in wanted:
            if sign == "+":
                new.append(line + text.line_ending)
                continue
            if sign == " ":
                new.append(lines[end])
            end += 1
        changes.append((start, end, new))
        at = end if chunk.old else at
    for start, end, new in reversed(sorted(changes, key=lambda change: change[0])):  # of equal ones, the later first
        lines[start:end] = new
    return TextFile("".join(lines), text.has_bom)


def _place(
    path: str, searched: "_SearchedLines", chunk: Chunk, wanted: list[tuple[str, str]], at: int
) -> tuple[int, list[tuple[str, str]]]:
    """Where the chunk's lines stand, and those of them that do: an empty last one may be missing."""
    old = [line for sign, line in wanted if sign != "+"]
    if not old:
        return (at if chunk.context is not None and not chunk.at_end else searched.count), wanted
    place = searched.find(old, at, at_end=chunk.at_end)
    if place is None and len(old) > 1 and old[-1] == "":
        last = max(number for number, (sign, _) in enumerate(wanted) if sign != "+")
        place, wanted = searched.find(old[:-1], at, at_end=chunk.at_end), wanted[:last] + wanted[last + 1 :]
    if place is None:
        raise ToolError(f"{FAILED} Error: Failed to find expected lines in {path}:\n" + "\n".join(chunk.old))
    return place, wanted


class _SearchedLines:
    def __init__(self, lines: Sequence[str]) -> None:
        self.count = len(lines)
        exact = [line.removesuffix("\n").removesuffix("\r") for line in lines]
        self._in_form = cache(lambda form: [form(line) for line in exact])

    def find(self, wanted: Sequence[str], start: int, *, at_end: bool = False) -> int | None:
        """The first place from `start` on, in the strictest form; where `at_end`, rather the last lines."""
        last = self.count - len(wanted)
        starts = [last, start] if at_end and last >= start else [start]
        found = (self._first(form, wanted, each) for each in starts for form in _FORMS)
        return next((place for place in found if place is not None), None)

    def _first(self, form: Callable[[str], str], wanted: Sequence[str], start: int) -> int | None:
        # As a letter for each line: str.find takes no longer where many lines are alike.
        letters = {line: chr(at) for at, line in enumerate(dict.fromkeys(map(form, wanted)), start=1)}
        text = "".join(letters.get(line, "\0") for line in self._in_form(form))
        place = text.find("".join(letters[form(line)] for line in wanted), start)
        return None if place == -1 else place
