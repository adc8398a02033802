"""A turn's next move: a pure function of its state, in the specified order (opencode.md 4.2)."""

from dataclasses import dataclass
from typing import TypeAlias

from workflows.domain.turn_state import MAX_CONTINUATIONS, MAX_EMPTY_ANSWERS, MAX_PAUSES, TurnState
from workflows.domain.wire import FINISH_STOPPED


@dataclass(frozen=True)
class Generate:
    """Ask the model for this step's answer; with `text_only` it is the last, and calls are refused
    but one that gives the turn's result. `again`: a step of text only came before."""

    step: int
    text_only: bool = False
    again: bool = False


@dataclass(frozen=True)
class Compact:
    """Replace the beginning of the context with a summary."""


@dataclass(frozen=True)
class Outgrow:
    """Have a larger model take over, or ask a person: the context fits the turn's model in no way."""


@dataclass(frozen=True)
class Settle:
    """Bring each open call of the step to its outcome."""


Move: TypeAlias = Generate | Compact | Outgrow | Settle


def next_move(turn: TurnState) -> Move | None:
    """The next move; None if the turn is over."""
    if turn.is_aborted:
        return None
    if turn.open_calls():
        return Settle()
    if turn.ends_by_reject() or _ends_turn(turn):
        return None
    if turn.outgrown is not None:
        return Outgrow()
    if turn.overflow is not None:
        return Compact()
    if turn.only_compacts:
        return None
    step = turn.step + 1
    last = step if turn.max_steps is None else turn.max_steps
    return Generate(step, text_only=turn.max_steps is not None and step >= last, again=step > last)


def _ends_turn(turn: TurnState) -> bool:
    if turn.finish in (None, FINISH_STOPPED):
        return turn.finish is not None
    if turn.corrections is not None:
        return _ends_owing_turn(turn)
    if turn.max_steps is not None and turn.step >= turn.max_steps:
        # Without text, or with calls after it, ask once more. `has_text` is None if calls were not refused.
        return turn.step > turn.max_steps or turn.has_text is None or (turn.has_text and not turn.calls)
    if turn.pauses:
        return turn.pauses > MAX_PAUSES
    if turn.cuts:
        return turn.cuts > MAX_CONTINUATIONS
    if turn.calls:
        return False
    return turn.empty_answers == 0 or turn.empty_answers > MAX_EMPTY_ANSWERS


def _ends_owing_turn(turn: TurnState) -> bool:
    """Whether the turn ends without the result that it owes. Even its last step is asked for once more."""
    given_up = turn.cuts > MAX_CONTINUATIONS or turn.empty_answers > MAX_EMPTY_ANSWERS or turn.pauses > MAX_PAUSES
    if not turn.owes_result or turn.has_used_up_corrections or given_up:
        return True
    return turn.max_steps is not None and turn.step > turn.max_steps
