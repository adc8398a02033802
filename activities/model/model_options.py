"""The options that go to a model: of its family, of the configuration, of its agent, of a variant; the later wins.

They have the names of OpenAI's chat protocol, as far as it has any; each wire has its own for these.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final

from pydantic import JsonValue

from activities.model.endpoint import Endpoint, Wire
from activities.model.model_families import REFUSES_SAMPLING, Options, built_in_variants, effort_variants
from activities.model.port import ModelFacts
from workflows.domain.agents.agent import Agent
from workflows.domain.config.fields import UNSENT_OPTIONS
from workflows.domain.config.merge import deep_merge
from workflows.domain.config.provider_settings import ProviderModel
from workflows.domain.errors import UsageError
from workflows.domain.usage import Terms, unusual

_NAMES: Final = {  # of the packages that OpenCode configures → here
    "cacheControl": "cache_control",
    "enableThinking": "enable_thinking",
    "frequencyPenalty": "frequency_penalty",
    "logitBias": "logit_bias",
    "maxCompletionTokens": "max_completion_tokens",
    "maxToolCalls": "max_tool_calls",
    "parallelToolCalls": "parallel_tool_calls",
    "presencePenalty": "presence_penalty",
    "promptCacheKey": "prompt_cache_key",
    "promptCacheRetention": "prompt_cache_retention",
    "reasoningEffort": "reasoning_effort",
    "reasoningFormat": "reasoning_format",
    "reasoningSummary": "reasoning_summary",
    "safePrompt": "safe_prompt",
    "safetyIdentifier": "safety_identifier",
    "serviceTier": "service_tier",
    "stopSequences": "stop",
    "stop_sequences": "stop",
    "textVerbosity": "verbosity",
    "thinkingBudget": "thinking_budget",
    "topK": "top_k",
    "topLogprobs": "top_logprobs",
    "topP": "top_p",
}
_NAMES_OF_THINKING: Final = {"budgetTokens": "budget_tokens", "clearThinking": "clear_thinking"}
# each says how a model thinks: of several, the last one counts
_OF_THINKING: Final = frozenset(
    ("effort", "enable_thinking", "reasoning", "reasoningConfig", "reasoning_effort", "think", "thinking")
) | {"thinkingConfig", "thinking_budget"}
_OF_RESPONSES: Final = ("reasoning_summary", "include")
_SAMPLING: Final = ("temperature", "top_p")
_ALL: Final = 10**12  # tokens: more than any prompt has


def spell(options: Options, wire: Wire) -> dict[str, JsonValue]:
    """The options under one name each, without those that are never sent. What only the Responses protocol has is left
    out elsewhere."""
    spelled = {_NAMES.get(name, name): value for name, value in options.items() if name not in UNSENT_OPTIONS}
    if isinstance(thinking := spelled.get("thinking"), dict):
        spelled["thinking"] = {_NAMES_OF_THINKING.get(name, name): value for name, value in thinking.items()}
    if wire is not Wire.RESPONSES:
        return {name: value for name, value in spelled.items() if name not in _OF_RESPONSES}
    if isinstance(reasoning := spelled.get("reasoning"), dict):
        parts = {f"reasoning_{name}": reasoning[name] for name in ("effort", "summary") if name in reasoning}
        others = {name: value for name, value in reasoning.items() if f"reasoning_{name}" not in parts}
        del spelled["reasoning"]
        spelled |= parts | ({"reasoning": others} if others else {})
    return spelled


def merge_layers(layers: Iterable[Options]) -> dict[str, JsonValue]:
    """Later layers win; one that says how to think replaces all earlier options for that."""
    return reduce(_merge_two, layers, {})


def _merge_two(below: dict[str, JsonValue], layer: Options) -> dict[str, JsonValue]:
    if not _OF_THINKING.isdisjoint(layer):
        below = {name: value for name, value in below.items() if name not in _OF_THINKING}
    return deep_merge(below, dict(layer))


def agent_options(
    agent: Agent | None, endpoint: Endpoint, entry: ProviderModel, facts: ModelFacts
) -> dict[str, JsonValue]:
    """An agent's own options, and its sampling where the model takes any."""
    if agent is None:
        return {}
    refuses = entry.temperature is False or not facts.sampled or REFUSES_SAMPLING.search(endpoint.name.lower())
    sampling = {name: value for name in _SAMPLING if (value := getattr(agent, name)) is not None and not refuses}
    return {**agent.options, **sampling}


def requested_terms(options: Options) -> Terms:
    """On which requests with these options ask to be served: an answer may be on others."""
    service = unusual(options.get("service_tier", options.get("serviceTier")))
    cache, performance = options.get("cache_control"), options.get("performanceConfig")
    latency = performance.get("latency") if isinstance(performance, dict) else None
    surcharges = map(unusual, (options.get("speed"), options.get("inference_geo"), latency))
    return Terms(
        service="priority" if service == "fast" else service,  # OpenAI's two words for it
        surcharges=tuple(filter(None, surcharges)),
        cache_write_long=_ALL if isinstance(cache, dict) and cache.get("ttl", "5m") != "5m" else 0,
    )


def find_variants(endpoint: Endpoint, entry: ProviderModel, facts: ModelFacts) -> dict[str, dict[str, JsonValue]]:
    """A model's variants by name: those of its family if it thinks, with the configured ones over them."""
    known = {name: _within(options, facts.max_output) for name, options in _family(endpoint, facts).items()}
    for name, written in entry.variants.items():
        options = {key: value for key, value in written.items() if key != "disabled"}
        known[name] = deep_merge(known.get(name, {}), spell(options, endpoint.wire))
    return {
        name: options for name, options in known.items() if entry.variants.get(name, {}).get("disabled") is not True
    }


def _family(endpoint: Endpoint, facts: ModelFacts) -> Mapping[str, Options]:
    if not facts.reasoning:
        return {}
    return built_in_variants(endpoint) if facts.efforts is None else effort_variants(endpoint, facts.efforts)


def _within(options: Options, max_output: int) -> dict[str, JsonValue]:
    """A budget for thinking leaves room for an answer: half of the limit for the smaller, one token for the larger."""
    match options:
        case {"thinking": {"type": "enabled", "budget_tokens": int(budget)}} if max_output:
            most = max_output // 2 - 1 if budget <= 16_000 else max_output - 1
            return {**options, "thinking": {"type": "enabled", "budget_tokens": min(budget, most)}}
    return dict(options)


def unknown_variant_error(model: str, variant: str, known: Iterable[str]) -> UsageError:
    names = ", ".join(known)
    return UsageError(
        f"{model} has no variant {variant!r}. It has: {names}."
        if names
        else f"{model} has no variants, so none {variant!r}."
    )
