"""Replaces a passage that may be quoted inexactly; pure."""

from collections.abc import Iterable

from activities.tools.edit.finders import FINDERS, Span
from workflows.domain.errors import ToolError


def substitute(content: str, old: str, new: str, *, replace_all: bool = False) -> str:
    """The first finder with a match decides. Several matches are an error: editing the wrong one would go unnoticed."""
    matches = next(filter(None, (_first_two(finder(content, old)) for finder in FINDERS)), None)
    if matches is None:
        raise ToolError(
            "Could not find oldString in the file. It must match exactly, including whitespace, indentation, "
            "and line endings."
        )
    start, end = matches[0]
    found = content[start:end]
    _guard_span(found, old)
    if replace_all:
        return content.replace(found, new)
    if len(matches) > 1:
        raise ToolError(
            "Found multiple matches for oldString. Provide more surrounding context to make the match unique."
        )
    return content[:start] + new + content[end:]


def _first_two(spans: Iterable[Span]) -> list[Span]:
    """A match inside or around the first is the same one."""
    found = (span for span in spans if span[0] < span[1])
    first = next(found, None)
    if first is None:
        return []
    other = next((span for span in found if not (_within(span, first) or _within(first, span))), None)
    return [first] if other is None else [first, other]


def _within(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _guard_span(found: str, old: str) -> None:
    """Refuse a match much larger than the quote (opencode.md 7.3)."""
    lines, old_lines = found.count("\n") + 1, old.count("\n") + 1
    longer = len(found.strip()) > max(len(old.strip()) + 500, 4 * len(old.strip()))
    if lines >= max(old_lines + 3, 2 * old_lines) or (old_lines > 1 and longer):
        raise ToolError(
            "Refusing replacement because the matched span is much larger than oldString. Re-read the file and "
            "provide the full exact oldString for the intended replacement."
        )
