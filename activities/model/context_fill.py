"""Whether a conversation has filled its model's context."""

from collections.abc import Collection
from itertools import takewhile
from typing import Final

from activities.model.context_split import estimate_results, estimate_tokens, tail_budget
from activities.store.calls import CallRow
from workflows.domain.config.config import Compaction
from workflows.domain.context_window import overflows
from workflows.domain.effects import Recovery
from workflows.domain.ids import PartId
from workflows.domain.messages import AssistantMessage, ContextSummary, Transcript

_RESULT_BYTES: Final = 3  # of a token: the fourth is for line numbers, paths and notes around what a result shows
_LEAST_ROOM: Final = 1_000  # bytes


def answers_of(transcript: Transcript) -> list[AssistantMessage]:
    return [entry for entry in transcript if isinstance(entry, AssistantMessage)]


def begins_anew(transcript: Transcript) -> bool:
    """Whether no answer was asked for since the newest summary, with which earlier reminders went."""
    first, answers = transcript[0] if transcript else None, answers_of(transcript)
    return isinstance(first, ContextSummary) and (not answers or answers[-1].id == first.newest)


def context_tokens(transcript: Transcript, cleared: Collection[PartId] = (), freed: int = 0) -> int:
    """The tokens of a next request: those of the newest answer that were counted, and an estimate of all that follows
    it, such as a step that a prompt has ordered.

    `cleared`: calls without their results; `freed`: tokens of those that this answer's request still had.
    """
    answer = _newest_counted(transcript)
    if answer is None:
        return estimate_tokens(transcript, cleared)
    later = list(takewhile(lambda entry: entry is not answer, reversed(transcript)))[::-1]
    return max(answer.body.tokens.context - freed, 0) + estimate_results(answer) + estimate_tokens(later)


def share_room(calls: tuple[CallRow, ...], used: int, usable: int, compaction: Compaction) -> tuple[CallRow, ...]:
    """An answer's calls, each with its share of the room for their results: what the window has left beside the `used`
    tokens, or what a compaction would keep of it, if that is more. Results of edits are short."""
    room = max(usable - used, tail_budget(usable, compaction)) * _RESULT_BYTES
    sharing = sum(call.recovery is not Recovery.RECONCILABLE for call in calls) or 1
    share = max(room // sharing, _LEAST_ROOM) if usable else None
    return tuple(call.model_copy(update={"room": share}) for call in calls)


def _newest_counted(transcript: Transcript) -> AssistantMessage | None:
    """Of those since the newest summary: others have counted the context before it."""
    first, answers = transcript[0] if transcript else None, reversed(answers_of(transcript))
    newest = first.newest if isinstance(first, ContextSummary) else None
    since = takewhile(lambda answer: answer.id != newest, answers)
    return next((answer for answer in since if answer.body.tokens.context), None)


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
    """Whether instructions and tools fill the context, judged by the first answer after a summary."""
    first = transcript[0]
    if not isinstance(first, ContextSummary):
        return False
    answers = answers_of(transcript)
    known = [answer.id for answer in answers]
    since = answers[known.index(first.newest) + 1 if first.newest in known else 0 :]
    answer = next((each for each in since if each.body.tokens.context), None)
    if answer is None:
        return False
    besides = answer.body.tokens.prompt - estimate_tokens(transcript[: transcript.index(answer)])
    return overflows(besides, usable)
