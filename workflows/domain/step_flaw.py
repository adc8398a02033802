"""What is wrong with an answer, told from its end and from whether it holds anything."""

from enum import StrEnum


class StepFlaw(StrEnum):
    """Why an answer cannot stand as it is."""

    BLOCKED = "blocked"  # the provider's content filter, or the model itself, refused to go on
    CUT = "cut"  # the limit of the output was reached before there was text or a call
    EMPTY = "empty"  # neither text nor calls, or an end that is none: it is asked for again


def flaw(finish: str, *, text: bool, calls: bool) -> StepFlaw | None:
    """The flaw of an answer that ended with `finish` (OpenCode's words); None: it is as it should be."""
    if finish == "content-filter":
        return StepFlaw.BLOCKED
    if calls:
        return None
    if finish == "length":
        return None if text else StepFlaw.CUT
    return None if text and finish not in ("unknown", "tool-calls") else StepFlaw.EMPTY
