"""What makes an answer unusable."""

from enum import StrEnum

from workflows.domain.messages import FINISH_BROKEN_OFF, FINISH_LENGTH, FINISH_PAUSE


class StepFlaw(StrEnum):
    BLOCKED = "blocked"  # refused by the provider's content filter or the model
    CUT = "cut"  # output limit reached before any text or call
    BROKEN_OFF = "broken-off"  # by a failure that ends the turn
    EMPTY = "empty"  # neither text nor calls, or no proper finish: retried


def find_flaw(finish: str, *, text: bool, calls: bool) -> StepFlaw | None:
    """The flaw of an answer with this `finish` (OpenCode's words); None: usable."""
    if finish == "content-filter":
        return StepFlaw.BLOCKED
    if finish == FINISH_BROKEN_OFF:
        return StepFlaw.BROKEN_OFF
    if calls or finish == FINISH_PAUSE:
        return None
    if finish == FINISH_LENGTH:
        return None if text else StepFlaw.CUT
    return None if text and finish not in ("unknown", "tool-calls") else StepFlaw.EMPTY
