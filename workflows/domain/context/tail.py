"""The end of a text, within limits: what a model sees of a long command output (opencode.md 3.4)."""

from workflows.domain.context.truncate import Limits
from workflows.domain.value import Value


class Tail(Value):
    """The kept end of a text, and whether anything before it was cut off."""

    text: str
    cut: bool


def tail(text: str, limits: Limits) -> Tail:
    """The last lines of `text` within both limits; of a last line that is too long, its last bytes.

    A newline at the end counts as one more, empty line. Bytes are those of UTF-8.
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
    """The last characters of `line` that fit into `limit` bytes."""
    return line.encode("utf-8", "replace")[-limit:].decode("utf-8", "ignore") if limit > 0 else ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
