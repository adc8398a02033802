"""The end of a text, within limits, for long command output (opencode.md 3.4)."""

from workflows.domain.context.truncate import OutputLimits
from workflows.domain.value import Value


class Tail(Value):
    """The end of a text, and whether anything was cut off before it."""

    text: str
    cut: bool


def tail(text: str, limits: OutputLimits) -> Tail:
    """The last lines of `text` within both limits; of a too long last line, its last bytes.

    A final newline counts as one more, empty line. Bytes are UTF-8.
    """
    if text.count("\n") < limits.max_lines and _size(text) <= limits.max_bytes:
        return Tail(text=text, cut=False)
    kept: list[str] = []
    left = limits.max_bytes
    for line in reversed(text.rsplit("\n", limits.max_lines)[-limits.max_lines :]):
        newline = 1 if kept else 0
        if _size(line) + newline > left:
            kept += [] if any(kept) else [_last_bytes(line, left - newline)]
            break
        kept.append(line)
        left -= _size(line) + newline
    return Tail(text="\n".join(reversed(kept)), cut=True)


def _last_bytes(line: str, limit: int) -> str:
    """Whole characters within `limit` bytes."""
    return line.encode("utf-8", "replace")[-limit:].decode("utf-8", "ignore") if limit > 0 else ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
