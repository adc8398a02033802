"""Long texts with their middle cut out."""

from typing import Final

from worker.cli.render.formatting import pluralize
from workflows.domain.value import Value


class CollapseLimit(Value):
    lines: int
    characters: int


COMMAND_LIMIT: Final = CollapseLimit(lines=30, characters=2000)
DIFF_LIMIT: Final = CollapseLimit(lines=60, characters=8000)
OUTPUT_LIMIT: Final = CollapseLimit(lines=10, characters=1200)


class CollapsedText(Value):
    """A text; `hidden`: what was cut from its middle."""

    text: str
    hidden: bool = False


def collapse(text: str, limit: CollapseLimit) -> CollapsedText:
    """Cut the middle of a text over the limit, and say how much is hidden."""
    lines, above = text.split("\n"), limit.lines * 2 // 3
    if len(lines) <= limit.lines and len(text) <= limit.characters:
        return CollapsedText(text=text)
    below = limit.lines - above if len(lines) > limit.lines else 0  # else only characters are left out
    head = "\n".join(lines[: above if below else None])[: limit.characters * 2 // 3]
    tail = "\n".join(lines[-below:])[-(limit.characters // 3) :]
    return CollapsedText(text=_join_around_hidden(text[len(head) : len(text) - len(tail)], head, tail), hidden=True)


def _join_around_hidden(hidden: str, head: str, tail: str) -> str:
    lines = hidden.count("\n")
    if lines > 1 and hidden[0] == hidden[-1] == "\n":
        left = pluralize(len(hidden) - 2, "character")
        return f"{head}\n[… {pluralize(lines - 1, 'line')} hidden, {left} …]\n{tail}"
    over = f" and {pluralize(lines, 'line break')}" if lines else ""
    return f"{head} [… {pluralize(len(hidden) - lines, 'character')}{over} hidden …] {tail}"
