"""Options of the chat protocol, for protocols that lack some of them."""

from collections.abc import Collection, Mapping
from typing import Final

from pydantic import JsonValue

_CHAT_ONLY: Final = frozenset({"logit_bias", "n", "parallel_tool_calls", "response_format"})
# of services that speak chat or Responses: an agent that was written for them may work with another's model
OPENAI_ONLY: Final = (
    *("enable_thinking", "max_tool_calls", "prompt_cache_key", "prompt_cache_retention", "reasoning_format"),
    *("safe_prompt", "safety_identifier", "store", "verbosity"),
)


def translatable(options: Mapping[str, JsonValue], unknown: Collection[str] = ()) -> dict[str, JsonValue]:
    """The options without those that only chat has, and the `unknown` ones; one word to stop at becomes a list."""
    kept = {name: value for name, value in options.items() if name not in _CHAT_ONLY and name not in unknown}
    if isinstance(stop := kept.get("stop"), str):
        kept["stop"] = [stop]
    return kept


def forbids_parallel_calls(options: Mapping[str, JsonValue]) -> bool:
    return options.get("parallel_tool_calls") is False
