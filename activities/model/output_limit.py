"""How many tokens an answer may have: what a request says about it."""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

LIMIT: Final = 32_000  # tokens, where neither the configuration nor the model has less (opencode.md 4.4)
# protocols in which a request that names no limit is refused, or cut after what litellm or the provider assumes
_WANT_ONE: Final = frozenset({"anthropic", "bedrock", "gemini", "ollama_chat", "vertex_ai"})
_OPTIONS: Final = ("max_tokens", "maxOutputTokens", "max_output_tokens")  # one thing, named as each protocol wants it
_AS_WRITTEN: Final = ("max_completion_tokens", "num_predict")  # other names of it, which go out as they stand
# litellm's budgets (its constants DEFAULT_REASONING_EFFORT_…) for models that think by budget
_EFFORTS: Final = {"low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192, "max": 16_384}


def split_options(options: Mapping[str, JsonValue]) -> tuple[int | None, dict[str, JsonValue]]:
    """The limit that a model's options name, if they do, and the other options."""
    named = {name: tokens for name in _OPTIONS if (tokens := _tokens(options.get(name)))}
    others = {name: value for name, value in options.items() if name not in named}
    return next(iter(named.values()), None), others


def output_limit(protocol: str, cap: int, options: Mapping[str, JsonValue], *, configured: bool) -> int | None:
    """The limit to ask for; None leaves it to the provider.

    `protocol` is litellm's name of it. `cap` is the most tokens that the model can write (0: not known); `configured`
    says that the configuration has it. A budget for thinking is added, as far as the cap allows.
    """
    if any(name in options for name in _AS_WRITTEN) or not (configured or protocol in _WANT_ONE):
        return None
    wanted = min(cap or LIMIT, LIMIT) + (_thinking_budget(options) if protocol in _WANT_ONE else 0)
    return min(cap or wanted, wanted)


def _thinking_budget(options: Mapping[str, JsonValue]) -> int:
    thinking, gemini = options.get("thinking"), options.get("thinkingConfig")
    if isinstance(thinking, dict) and thinking.get("type") != "disabled":
        return _tokens(thinking.get("budget_tokens")) or _tokens(thinking.get("budgetTokens"))
    if isinstance(gemini, dict):
        return _tokens(gemini.get("thinkingBudget"))
    return _EFFORTS.get(str(options.get("reasoning_effort")), 0)


def _tokens(value: JsonValue) -> int:
    """A number of tokens; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
