"""What is done about a context that is too long."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from activities.model.context_fill import begins_anew, context_tokens
from activities.model.context_split import CHARS_PER_TOKEN, ContextSplit, estimate_tokens, split_context, tail_budget
from activities.model.prompt_shortening import shorten_prompts, unanswered_prompts
from activities.store.compactions import ShownPrompt
from workflows.domain.config.config import Compaction
from workflows.domain.ids import MessageId
from workflows.domain.messages import Transcript
from workflows.domain.turn_state import MAX_COMPACTIONS

UNKNOWN_WINDOW: Final = 32_000  # tokens: of a model without a known limit that has refused a request as too long


def summariser(turn_model: str, agent_model: str | None, larger: str | None, tried: int) -> str:
    """Which model is asked for a summary: for the last try, the larger one if there is one."""
    if larger is not None and tried >= MAX_COMPACTIONS - 1:
        return larger
    return agent_model or turn_model


@dataclass(frozen=True)
class ShortenedPrompts:
    """What is shown of these prompts from now on."""

    shown: Mapping[MessageId, ShownPrompt]


@dataclass(frozen=True)
class NoRemedy:
    """Nothing can be done; `off`: the configuration forbids it."""

    off: bool = False


CompactionPlan = ContextSplit | ShortenedPrompts | NoRemedy


def plan_compaction(
    transcript: Transcript, usable: int, settings: Compaction, *, tried: int, refused: bool
) -> CompactionPlan:
    """`usable` as in `usable_tokens`; `tried`: how often it was done before; `refused`: the provider has said that the
    context is too long.

    A prompt without an answer that alone takes most of the window is shortened, even where compaction is switched off:
    it would end each further turn. What was compacted and still did not fit keeps no tail.
    """
    last = tried >= MAX_COMPACTIONS - 1 or not settings.auto
    shown = shorten_prompts(transcript, usable * CHARS_PER_TOKEN // 2 or None, last=last) if refused else {}
    prompts = unanswered_prompts(transcript)
    if shown and usable and estimate_tokens(prompts) > usable // 2:
        return ShortenedPrompts(shown)
    if not settings.auto:
        # No estimate says how long the files are that this try leaves out.
        held = any(each.read_files and each.id in shown and shown[each.id].without_files for each in prompts)
        return ShortenedPrompts(shown) if held else NoRemedy(off=True)
    whole = last or (tried > 0 and begins_anew(transcript))
    split = split_context(transcript, usable or UNKNOWN_WINDOW, _with_tail(settings, transcript, usable, whole=whole))
    if split is not None:
        return split
    return ShortenedPrompts(shown) if shown else NoRemedy()


def _with_tail(settings: Compaction, transcript: Transcript, usable: int, *, whole: bool) -> Compaction:
    """The tail gets at most half of what instructions and tools leave, or the context would soon be full again."""
    if whole:
        return settings.model_copy(update={"tail_turns": 0})
    left = usable - max(context_tokens(transcript) - estimate_tokens(transcript), 0)
    budget = tail_budget(usable or UNKNOWN_WINDOW, settings)
    return settings.model_copy(update={"preserve_recent_tokens": min(budget, left // 2) if left > 0 else budget})
