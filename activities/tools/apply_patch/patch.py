"""The patch format: what a patch says of each file (opencode.md 7.4)."""

import re
from typing import Final, NamedTuple

from workflows.domain.errors import ToolError

FAILED: Final = "apply_patch verification failed:"
ADD, DELETE, UPDATE = "Add", "Delete", "Update"
_BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
_HEADER: Final = re.compile(rf"\*\*\* ({ADD}|{DELETE}|{UPDATE}) File:(.*)")
_MOVE: Final = "*** Move to:"
_END_OF_FILE: Final = "*** End of File"


class Chunk(NamedTuple):
    """Neighbouring lines, behind the line `context`: each with a blank if it stays, "-" if it goes, "+" if it comes.
    `at_end`: they are the file's last ones."""

    context: str | None
    lines: list[tuple[str, str]]
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        return [line for sign, line in self.lines if sign != "+"]


class Hunk(NamedTuple):
    """What becomes of a file: `added` are the lines of a new one, `chunks` change one that may be moved."""

    kind: str
    path: str
    added: tuple[str, ...] = ()
    move_to: str | None = None
    chunks: tuple[Chunk, ...] = ()


def parse_patch(text: str) -> list[Hunk]:
    """In the order of the patch; what stands around it, as in a here-document, counts for nothing. Raises ToolError."""
    lines = text.replace("\r\n", "\n").split("\n")
    marks = [line.strip() for line in lines]
    if _BEGIN not in marks or _END not in marks or marks.index(_END) < marks.index(_BEGIN):
        raise ToolError(f"{FAILED} Error: Invalid patch format: missing Begin/End markers")
    sections: list[tuple[str, str, list[str]]] = []
    for line in lines[marks.index(_BEGIN) + 1 : marks.index(_END)]:
        if header := _HEADER.fullmatch(line):
            sections.append((header[1], header[2].strip(), []))
        elif sections:
            sections[-1][2].append(line)
    return [_parse_hunk(*section) for section in sections if section[1]]


def _parse_hunk(kind: str, path: str, lines: list[str]) -> Hunk:
    if kind == DELETE:
        return Hunk(kind, path)
    if kind == ADD:
        end = next((at for at, line in enumerate(lines) if line.startswith("***")), len(lines))
        return Hunk(kind, path, added=tuple(line[1:] for line in lines[:end] if line.startswith("+")))
    moves = bool(lines) and lines[0].startswith(_MOVE)
    move_to = lines[0].removeprefix(_MOVE).strip() if moves else ""
    return Hunk(kind, path, move_to=move_to or None, chunks=tuple(_parse_chunks(lines[moves:])))


def _parse_chunks(lines: list[str]) -> list[Chunk]:
    """A line without a sign counts for nothing. The first chunk needs no `@@`."""
    found: list[Chunk] = []
    begun: Chunk | None = None
    for line in [*lines, "***"]:
        at_end = line.strip() == _END_OF_FILE
        if line.startswith(("@@", "***")) or at_end:
            found += [begun._replace(at_end=at_end)] if begun else []
            begun = Chunk(line[2:].strip() or None, []) if line.startswith("@@") else None
            if line.startswith("***") and not at_end:
                break
        elif line[:1] in (" ", "-", "+"):
            begun = begun or Chunk(None, [])
            begun.lines.append((line[0], line[1:]))
    return found
