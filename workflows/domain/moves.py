"""The next move of a turn: a pure function of the state, the order is the specification's (opencode.md 4.2)."""

from dataclasses import dataclass
from typing import TypeAlias

from workflows.domain.state import EMPTY_ANSWERS, TurnState


@dataclass(frozen=True)
class Generate:
    """Ask the model for the answer of this step; with `text_only` it is the last, and calls are refused."""

    step: int
    text_only: bool = False


@dataclass(frozen=True)
class Settle:
    """Bring each open call of the step to its outcome."""


Move: TypeAlias = Generate | Settle


def next_move(turn: TurnState) -> Move | None:
    """What the turn does next; None when it is over."""
    if turn.broken_off:
        return None
    if turn.open_calls():
        return Settle()
    if turn.ends_by_reject() or _answered(turn):
        return None
    step = turn.step + 1
    return Generate(step, text_only=turn.max_steps is not None and step >= turn.max_steps)


def _answered(turn: TurnState) -> bool:
    """Whether the newest answer ends the turn: no calls to report on, and not an empty one to ask for again."""
    if turn.finish is None:
        return False
    if turn.max_steps is not None and turn.step >= turn.max_steps:
        return turn.text is not False or turn.step > turn.max_steps  # without a text it is asked once more
    if turn.calls:
        return False
    return turn.empty_answers == 0 or turn.empty_answers > EMPTY_ANSWERS
