"""Which part of a conversation a summary is to stand for, and which stays (opencode.md 5.3)."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from workflows.domain.config.config import Compaction
from workflows.domain.ids import PartId
from workflows.domain.messages import AssistantMessage, ContextSummary, Entry, ToolPart, Transcript, UserMessage

_LEAST_TAIL: Final = 2_000  # tokens
_MOST_TAIL: Final = 15_000
CHARS_PER_TOKEN: Final = 4
ATTACHMENT_TOKENS: Final = 1_500  # tokens of a picture or a page, about what providers count


@dataclass(frozen=True)
class ContextSplit:
    """`head` ends with an answer; `tail` follows it."""

    head: Transcript
    tail: Transcript


def split_context(transcript: Transcript, usable: int, settings: Compaction) -> ContextSplit | None:
    """Keep whole turns, from the newest on, while they fit, and the last steps of the first that does not.

    None: there is no answer besides an earlier summary.
    """
    ends = [place for place, entry in enumerate(transcript, 1) if isinstance(entry, AssistantMessage)]
    if not ends:
        return None
    end = _earliest_that_fits(transcript, ends, tail_budget(usable, settings), settings.tail_turns)
    return ContextSplit(transcript[:end], transcript[end:])


def tail_budget(usable: int, settings: Compaction) -> int:
    """How many tokens the tail may have."""
    if settings.preserve_recent_tokens is not None:
        return settings.preserve_recent_tokens
    return min(max(usable // 4, _LEAST_TAIL), _MOST_TAIL)


def _earliest_that_fits(transcript: Transcript, ends: Sequence[int], budget: int, turns: int | None) -> int:
    """Where the tail begins: after one of these answers."""
    begin, taken = ends[-1], set[str]()
    budget -= estimate_tokens(transcript[begin:])  # it stays in any case
    for end, before in zip(reversed(ends[1:]), reversed(ends[:-1]), strict=True):
        step = transcript[before:end]
        budget -= estimate_tokens(step)
        taken |= {entry.turn for entry in step if isinstance(entry, UserMessage | AssistantMessage)}
        if budget < 0 or (turns is not None and len(taken) > turns):
            return begin
        begin = before
    first = (entry for entry in transcript[: ends[0]] if not isinstance(entry, ContextSummary))
    fits = estimate_tokens(first) <= budget
    return ends[-1] if fits else begin  # where all of it fits, it is the context's other parts that are too long


def estimate_tokens(entries: Iterable[Entry], cleared: Collection[PartId] = ()) -> int:
    """An estimate by the characters that are sent. `cleared`: calls without their results."""
    return sum(_entry_tokens(entry, cleared) for entry in entries)


def _entry_tokens(entry: Entry, cleared: Collection[PartId]) -> int:
    match entry:
        case AssistantMessage():
            texts = sum(estimate_text(part.text) for part in entry.parts if not isinstance(part, ToolPart))
            calls = [part for part in entry.parts if isinstance(part, ToolPart)]
            texts += sum(_of_chars(len(call.tool) + len(str(call.arguments))) for call in calls)
            return texts + sum(_result(call) for call in calls if call.id not in cleared)
        case UserMessage():
            return _of_chars(entry.shown_length) + estimate_files(entry)
        case ContextSummary():
            return estimate_text(entry.text) + sum(estimate_text(each.text) for each in entry.words)
    return estimate_text(entry.text)


def estimate_files(prompt: UserMessage) -> int:
    """An estimate for the files that it contains."""
    return sum(_of_chars(len(part.url)) if part.is_text else ATTACHMENT_TOKENS for part in prompt.read_files)


def estimate_results(answer: AssistantMessage) -> int:
    """The estimate for the results of its calls, which follow it."""
    return sum(_result(part) for part in answer.parts if isinstance(part, ToolPart))


def estimate_text(text: str) -> int:
    return _of_chars(len(text))


def _result(call: ToolPart) -> int:
    if call.outcome is None:
        return 0
    return _of_chars(len(call.outcome.output)) + ATTACHMENT_TOKENS * len(call.outcome.attachments)


def _of_chars(chars: int) -> int:
    return round(chars / CHARS_PER_TOKEN)
