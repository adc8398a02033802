"""Shortens long tool output for the model (opencode.md 3.4, 5.1), and texts that together fit some room."""

from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

from workflows.domain.value import Value

_LEFT_OUT: Final = "[…]"


class OutputLimits(Value):
    """`tool_output.max_lines`, `tool_output.max_bytes`."""

    max_lines: int = 2000
    max_bytes: int = 51_200

    def within(self, room: int | None) -> "OutputLimits":
        """With no more than `room` bytes."""
        return self if room is None else self.model_copy(update={"max_bytes": min(self.max_bytes, room)})


class Truncated(NamedTuple):
    """The kept text, and one line on how much was removed."""

    kept: str
    marker: str

    def with_message(self, message: str) -> str:
        return "\n\n".join([self.kept, self.marker, message])


class Excerpt(NamedTuple):
    """What is shown of a text; `part`: which of its lines, None: all as they are."""

    text: str
    part: str | None = None


def truncate(text: str, limits: OutputLimits) -> Truncated | None:
    """The first whole lines within the limits; None when all fit. A final newline begins one more line. A first line
    over the byte limit leaves nothing."""
    lines, total = text.split("\n"), _size(text)
    if len(lines) <= limits.max_lines and total <= limits.max_bytes:
        return None
    kept, size = _take_fitting(lines, limits)
    removed = f"{len(lines) - len(kept)} lines" if len(kept) == limits.max_lines else f"{total - size} bytes"
    return Truncated("\n".join(kept), f"...{removed} truncated...")


def tail(text: str, limits: OutputLimits) -> str:
    """The last lines within both limits, in UTF-8 bytes; of a too long last line, its last bytes. A final newline
    counts as one more, empty line."""
    if text.count("\n") < limits.max_lines and _size(text) <= limits.max_bytes:
        return text
    kept: list[str] = []
    left = limits.max_bytes
    for line in reversed(text.rsplit("\n", limits.max_lines)[-limits.max_lines :]):
        newline = 1 if kept else 0
        if _size(line) + newline > left:
            kept += [] if any(kept) else [_last_bytes(line, left - newline)]
            break
        kept.append(line)
        left -= _size(line) + newline
    return "\n".join(reversed(kept))


def excerpt(begin: str, limits: OutputLimits, *, end: str | None = None, lines: int | None = None) -> Excerpt:
    """A text's first lines, in a fifth of the limits, and its last ones in the rest. `begin` and `end`: as much of it
    as is needed (no `end`: `begin` is all of it); `lines`: how many line breaks it has."""
    if end is None and begin.count("\n") < limits.max_lines and _size(begin) <= limits.max_bytes:
        return Excerpt(begin)
    end, breaks = begin if end is None else end, begin.count("\n") if lines is None else lines
    fifth = OutputLimits(max_lines=limits.max_lines // 5, max_bytes=limits.max_bytes // 5)
    head, size = _take_fitting(begin.split("\n"), fifth)
    rest = OutputLimits(max_lines=limits.max_lines - len(head), max_bytes=limits.max_bytes - size - 1)
    last = tail(end, rest)
    first, total = breaks - last.count("\n") + 1, breaks + (not end.endswith("\n"))
    if not head:
        return Excerpt(last, f"lines {first}-{total} of {total}")
    gap = f"... {left_out} lines left out ..." if (left_out := first - 1 - len(head)) > 0 else "..."
    text = "\n".join((*head, "", gap, "", last))
    return Excerpt(text, f"lines 1-{len(head)} and {first}-{total} of {total}")


def _take_fitting(lines: list[str], limits: OutputLimits) -> tuple[list[str], int]:
    """Bytes include line breaks."""
    kept: list[str] = []
    size = 0
    for line in islice(lines, limits.max_lines):
        more = _size(line) + (1 if kept else 0)
        if size + more > limits.max_bytes:
            break
        kept.append(line)
        size += more
    return kept, size


def _last_bytes(line: str, limit: int) -> str:
    """Whole characters within `limit` bytes."""
    return line.encode("utf-8", "replace")[-limit:].decode("utf-8", "ignore") if limit > 0 else ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def share_out(lengths: Sequence[int], room: int) -> list[int]:
    """How much of each text fits: short ones whole, the others the same part of what they leave."""
    shares, left = [0] * len(lengths), max(room, 0)
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    for done, place in enumerate(order):
        shares[place] = min(lengths[place], left // (len(order) - done))
        left -= shares[place]
    return shares


def head_and_end(text: str, length: int) -> tuple[str, str]:
    """Half of `length` characters from each."""
    end = length // 2
    return text[: length - end], text[len(text) - end :]


def shorten(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return f"\n{_LEFT_OUT}\n".join(head_and_end(text, length))
