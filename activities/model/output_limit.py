"""How many tokens a request allows its answer."""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from activities.model.endpoint import Endpoint

DEFAULT_OUTPUT_LIMIT: Final = 32_000  # tokens, unless the configuration or the model has less (opencode.md 4.4)
# protocols that refuse a request without a limit, or cut its answer where litellm or the provider assumes one
_WANT_ONE: Final = frozenset({"anthropic", "bedrock", "gemini", "ollama_chat", "vertex_ai"})
_UNKNOWN_THOUGHTS: Final = 25_000  # tokens to reserve (OpenAI's guide to reasoning, "Allocating space for reasoning")
_OPTIONS: Final = ("max_tokens", "maxOutputTokens", "max_output_tokens")  # one thing, by each protocol's name
_AS_WRITTEN: Final = ("max_completion_tokens", "num_predict")  # other names of it, sent as they are
# tokens for models that think by budget, as litellm has them (DEFAULT_REASONING_EFFORT_…)
EFFORT_BUDGETS: Final = {"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192, "max": 16_384}


def split_options(options: Mapping[str, JsonValue]) -> tuple[int | None, dict[str, JsonValue]]:
    """The limit in a model's options, if any, and the other options."""
    named = {name: tokens for name in _OPTIONS if (tokens := _tokens(options.get(name)))}
    others = {name: value for name, value in options.items() if name not in named}
    return next(iter(named.values()), None), others


def output_limit(
    endpoint: Endpoint, cap: int, options: Mapping[str, JsonValue], *, configured: bool, thinks: bool
) -> int | None:
    """The limit to ask for; None: the provider's.

    `cap`: the model's most tokens (0: unknown); `configured`: by the configuration. Adds what thoughts may take, as far
    as the cap allows.
    """
    wanted_one = endpoint.model.partition("/")[0] in _WANT_ONE
    known = cap and endpoint.provider != "compatible"  # what a server of one's own has by a known name may differ
    if any(name in options for name in _AS_WRITTEN) or not (configured or known or wanted_one):
        return None
    thoughts = _thinking_budget(options) if wanted_one else _UNKNOWN_THOUGHTS if thinks else 0
    wanted = min(cap or DEFAULT_OUTPUT_LIMIT, DEFAULT_OUTPUT_LIMIT) + thoughts
    return min(cap or wanted, wanted)


def is_bounded(max_output: int | None, options: Mapping[str, JsonValue]) -> bool:
    """Whether a request with this limit and these other options names one."""
    return max_output is not None or any(name in options for name in _AS_WRITTEN)


def _thinking_budget(options: Mapping[str, JsonValue]) -> int:
    thinking, gemini = options.get("thinking", options.get("reasoningConfig")), options.get("thinkingConfig")
    if isinstance(thinking, dict) and thinking.get("type") != "disabled":
        return _tokens(thinking.get("budget_tokens")) or _tokens(thinking.get("budgetTokens"))
    if isinstance(gemini, dict):
        return _tokens(gemini.get("thinkingBudget"))
    return EFFORT_BUDGETS.get(str(options.get("reasoning_effort")), 0)


def _tokens(value: JsonValue) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
