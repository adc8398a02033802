"""Whether a conversation has filled its model's context."""

from collections.abc import Collection

from activities.model.context_split import estimate_results, estimate_tokens
from workflows.domain.context_window import overflows
from workflows.domain.ids import PartId
from workflows.domain.messages import AssistantMessage, ContextSummary, Transcript


def answers_of(transcript: Transcript) -> list[AssistantMessage]:
    return [entry for entry in transcript if isinstance(entry, AssistantMessage)]


def begins_anew(transcript: Transcript) -> bool:
    """Whether no answer was asked for since the newest summary, with which earlier reminders went."""
    first, answers = transcript[0] if transcript else None, answers_of(transcript)
    return isinstance(first, ContextSummary) and (not answers or answers[-1].id == first.newest)


def context_tokens(transcript: Transcript, cleared: Collection[PartId] = (), freed: int = 0) -> int:
    """The tokens of a next request: the tokens of the newest answer, and an estimate of all that follows it.

    `cleared`: calls without their results; `freed`: tokens of those that the newest answer's request still had.
    """
    answer = next((entry for entry in reversed(transcript) if isinstance(entry, AssistantMessage)), None)
    if answer is None or begins_anew(transcript) or not answer.body.tokens.context:
        return estimate_tokens(transcript, cleared)
    later = transcript[transcript.index(answer) + 1 :]
    return max(answer.body.tokens.context - freed, 0) + estimate_results(answer) + estimate_tokens(later)


def is_full(transcript: Transcript, usable: int, tokens: int) -> bool:
    """Whether a context of so many `tokens` leaves no room for another answer. `usable` as in `usable_tokens`.

    The tokens of answers from before a summary do not count; nor does anything where instructions and tools alone take
    the room: no summary helps.
    """
    return (
        bool(answers_of(transcript))
        and not begins_anew(transcript)
        and not _instructions_fill(transcript, usable)
        and overflows(tokens, usable)
    )


def _instructions_fill(transcript: Transcript, usable: int) -> bool:
    """By the first answer after a summary: what its request had besides the conversation."""
    first = transcript[0]
    if not isinstance(first, ContextSummary):
        return False
    answers = answers_of(transcript)
    known = [answer.id for answer in answers]
    answer = answers[known.index(first.newest) + 1 if first.newest in known else 0]
    besides = answer.body.tokens.prompt - estimate_tokens(transcript[: transcript.index(answer)])
    return overflows(besides, usable)
