"""Prompts that alone are too long for their model: it reads their beginnings and ends, or no files of theirs."""

from collections.abc import Sequence
from typing import Final

from activities.model.context_split import CHARS_PER_TOKEN, estimate_files
from activities.store.compactions import ShownPrompt
from prompts import render_prompt
from workflows.domain.context.truncate import head_and_end, share_out
from workflows.domain.ids import MessageId
from workflows.domain.messages import AssistantMessage, Transcript, UserMessage
from workflows.domain.reminder_tags import escape_reminders

_LEAST: Final = 8_000  # characters of all of them: shorter ones are not what makes a context too long


def unanswered_prompts(transcript: Transcript) -> list[UserMessage]:
    """Those after the newest answer, which no summary can stand for."""
    begin = next((n for n in range(len(transcript), 0, -1) if isinstance(transcript[n - 1], AssistantMessage)), 0)
    return [entry for entry in transcript[begin:] if isinstance(entry, UserMessage)]


def shorten_prompts(transcript: Transcript, most: int | None, *, last: bool) -> dict[MessageId, ShownPrompt]:
    """How much to show of unanswered prompts: half of their characters as they are now, at most `most`, or all without
    the files that they contain, if those are the larger part; both at the `last` try. Empty: they are short."""
    prompts = unanswered_prompts(transcript)
    texts = _shorter_texts(prompts, most)
    without = {prompt.id for prompt in prompts if prompt.read_files}
    if texts and without and not last:
        files = sum(map(estimate_files, prompts)) * CHARS_PER_TOKEN
        texts, without = ({}, without) if files > _length(prompts) else (texts, set())
    return {
        each.id: ShownPrompt(
            shown=texts.get(each.id, each.shown), without_files=each.without_files or each.id in without
        )
        for each in prompts
        if each.id in texts or each.id in without
    }


def _shorter_texts(prompts: Sequence[UserMessage], most: int | None) -> dict[MessageId, int]:
    total = _length(prompts)
    if total < _LEAST:
        return {}
    room = total // 2 if most is None else min(total // 2, most)
    shares = share_out([prompt.shown_length for prompt in prompts], room)
    return {prompt.id: share for prompt, share in zip(prompts, shares, strict=True) if share < prompt.shown_length}


def _length(prompts: Sequence[UserMessage]) -> int:
    return sum(prompt.shown_length for prompt in prompts)


def shown_text(prompt: UserMessage) -> str:
    """What a model reads of it."""
    left_out = len(prompt.text) - prompt.shown_length
    if not left_out:
        return escape_reminders(prompt.text)
    head, end = map(escape_reminders, head_and_end(prompt.text, prompt.shown_length))
    return render_prompt("reminders/shortened", head=head, end=end, left_out=f"{left_out:,}")
