"""Whether an answer can stand for the beginning of a conversation."""

import re
from typing import Final

from activities.model.context_split import estimate_text, estimate_tokens
from activities.model.port import Finish
from activities.store.model_answers import NewAnswer
from workflows.domain.messages import Transcript

_SECTIONS: Final = ("objective", "work state", "next move")  # of prompts/compaction/request.md; others may be left out
_HEADING: Final = re.compile(r"^\s{0,3}#{1,6}\s*(.*?)[\s:#*]*$", re.MULTILINE)
_UNUSABLE: Final = {
    Finish.LENGTH: "The summary was cut at the limit of its length.",
    Finish.CONTENT_FILTER: "The provider's content filter blocked the summary.",
}
NOT_SHORTER: Final = "The summary is not shorter than what it would replace."


def find_summary_flaw(answer: NewAnswer, head: Transcript) -> str | None:
    """Why it cannot stand for `head`, for people."""
    if (text := _UNUSABLE.get(Finish(answer.body.finish))) is not None:
        return f"{text.rstrip('.')}: {answer.body.explanation}." if answer.body.explanation else text
    headings = {match[1].strip(" *").lower() for match in _HEADING.finditer(answer.text)}
    if answer.body.finish != Finish.STOP or not headings.issuperset(_SECTIONS):
        return "The model's answer is not a summary."
    return None if estimate_text(answer.text) < estimate_tokens(head) else NOT_SHORTER
