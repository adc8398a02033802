"""Which request of a session a person means."""

import re
from typing import Final

from workflows.domain.errors import UsageError
from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, Prefix, is_id
from workflows.domain.sent_request import RequestChoice

_STEP: Final = re.compile(r"(?:(\d{1,9})\.)?(\d{1,9})", re.ASCII)
_NAMED: Final = {purpose.value: purpose for purpose in (Purpose.COMPACTION, Purpose.TITLE, Purpose.SUMMARY)}


def parse_request_choice(text: str) -> RequestChoice:
    """The value of `--prompt`; empty: the newest step. Raises UsageError."""
    if not text:
        return RequestChoice()
    if text in _NAMED:
        return RequestChoice(purpose=_NAMED[text])
    if is_id(Prefix.GENERATION, text):
        return RequestChoice(purpose=None, generation=GenerationId(text))
    if (found := _STEP.fullmatch(text)) is None:
        names = ", ".join(f"`{name}`" for name in _NAMED)
        raise UsageError(
            f"--prompt takes a step of the newest turn (4), a turn and a step (2.4), {names}, or a generation's id "
            f"(gen_…), not {text!r}."
        )
    turn, step = found.groups()
    return RequestChoice(turn=int(turn) if turn else None, step=int(step))
