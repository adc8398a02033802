"""What answers cost: usage as providers send it, by wire and model, and US dollars by the vendors' price pages."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

JsonDict = dict[str, Any]


class AnswerCost(NamedTuple):
    """`reported`: what it says of its usage. `cost`: None if it is not known. `litellm`: its calculator has it."""

    name: str
    model: str  # as in `Endpoint.model`
    wire: str
    reported: JsonDict
    cost: str | None
    litellm: bool = True


_OPUS: Final = "anthropic/claude-opus-5-5"  # 4 in, 20 out, 5 to write for five minutes, 8 for an hour, 0.2 to read
_SOL: Final = "openai/gpt-6-sol"  # 2 in, 10 out, 0.2 to read; priority twice, flex half
_SONNET: Final = "openrouter/anthropic/claude-sonnet-4.5"  # 3 in, 15 out
_SMALL: Final = {"input_tokens": 1000, "output_tokens": 20}
_CHAT: Final = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}


def _claude(name: str, cost: str | None, model: str = _OPUS, *, litellm: bool = True, **usage: Any) -> AnswerCost:
    return AnswerCost(name, model, "anthropic", {"usage": _SMALL | usage}, cost, litellm)


def _claude_rows() -> Iterator[AnswerCost]:
    hour: JsonDict = {"ephemeral_5m_input_tokens": 4000, "ephemeral_1h_input_tokens": 6000}
    written: JsonDict = {"cache_creation_input_tokens": 10_000}
    yield _claude("plain", "0.0044")
    yield _claude("thoughts", "0.0044", output_tokens_details={"thinking_tokens": 15})
    yield _claude("cache read", "0.0064", cache_read_input_tokens=10_000)
    yield _claude("cache written for five minutes", "0.0544", **written)
    yield _claude("cache written for both times", "0.0724", **written, cache_creation=hour)
    yield _claude("standard by name", "0.0044", service_tier="standard", speed="standard", inference_geo="global")
    yield _claude("an older model's place", "0.0044", inference_geo="not_available")
    yield _claude("fast", "0.0088", speed="fast")
    yield _claude("in the USA", "0.00484", inference_geo="us")
    both: JsonDict = {"speed": "fast", "inference_geo": "us"}
    yield _claude("fast in the USA, for an hour", "0.15928", **both, **written, cache_creation=hour)
    yield _claude("searches", "0.0344", server_tool_use={"web_search_requests": 3, "web_fetch_requests": 2})
    yield _claude("fast searches", "0.0388", speed="fast", server_tool_use={"web_search_requests": 3})
    compacted = [
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3500},
        {"type": "message", "input_tokens": 23_000, "output_tokens": 1000},
    ]
    yield _claude("a compaction", "0.902", input_tokens=23_000, output_tokens=1000, iterations=compacted)
    cached: JsonDict = {"input_tokens": 1000, "output_tokens": 20, "cache_read_input_tokens": 10_000} | written
    loop = [{"type": "message", **cached, "cache_creation": hour}, {"type": "message", **_SMALL}]
    whole: JsonDict = cached | {
        "input_tokens": 2000,
        "output_tokens": 40,
        "server_tool_use": {"web_search_requests": 1},
    }
    yield _claude("a loop of searches, for an hour", "0.0888", **whole, iterations=loop)
    haiku = "anthropic/claude-haiku-5-5"  # above 100,000 tokens 0.5 in, 2.5 out, 1 to write for an hour
    long: JsonDict = {"input_tokens": 100_000, **written, "cache_creation": {"ephemeral_1h_input_tokens": 10_000}}
    yield _claude("a long prompt, for an hour", "0.06005", haiku, **long)
    yield _claude("the longest short prompt", "0.01001", haiku, input_tokens=100_000)
    yield _claude("on Vertex, for an hour", "0.0724", "vertex_ai/claude-opus-5-5", **written, cache_creation=hour)
    yield _claude("a tier that was paid in advance", None, litellm=False, service_tier="priority")
    yield _claude("fast without a price for it", None, "anthropic/claude-haiku-4-5", litellm=False, speed="fast")
    yield _claude("another place", None, litellm=False, inference_geo="mars")
    advised = [{"type": "message", **_SMALL}, {"type": "advisor_message", "model": "claude-fable-5", **_SMALL}]
    yield _claude("another model's advice", None, litellm=False, iterations=advised)


def _openai(name: str, cost: str | None, model: str = _SOL, *, litellm: bool = True, **reported: Any) -> AnswerCost:
    usage: JsonDict = {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 200},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 30},
        "total_tokens": 1050,
    }
    return AnswerCost(name, model, "responses", {"usage": usage, **reported}, cost, litellm)


def _openai_rows() -> Iterator[AnswerCost]:
    yield _openai("plain", "0.00214", service_tier="default")
    yield _openai("priority", "0.00428", service_tier="priority")
    yield _openai("flex", "0.00107", service_tier="flex")
    long = {"input_tokens": 300_000, "output_tokens": 1000, "total_tokens": 301_000}
    yield _openai("a long prompt", "1.215", usage=long)
    yield _openai("a long prompt with priority", "2.43", usage=long, service_tier="priority")
    written: JsonDict = {"input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 600}}
    written |= {"input_tokens": 1000, "output_tokens": 50, "total_tokens": 1050}
    yield _openai("cache written", "0.0028", usage=written)
    yield _openai("cache written with priority", "0.0056", usage=written, service_tier="priority")
    searches = [{"type": "web_search_call", "id": "ws_1", "status": "completed"}] * 2
    yield _openai("searches", "0.02214", output=searches)
    counted = {"web_search": {"num_requests": 1}}
    yield _openai("searches, one of which only opened a page", "0.01214", output=searches, tool_usage=counted)
    yield _openai("another hosted tool", None, output=[{"type": "code_interpreter_call"}], litellm=False)
    yield _openai("a tier without a price", None, "openai/gpt-4.1-nano", service_tier="ultrafast", litellm=False)
    yield _openai("capacity that was paid in advance", None, service_tier="scale", litellm=False)
    yield AnswerCost("chat", _SOL, "chat", {"usage": _CHAT, "service_tier": "default"}, "0.0025")
    yield AnswerCost("chat with priority", _SOL, "chat", {"usage": _CHAT, "service_tier": "priority"}, "0.005")
    heard = _CHAT | {"prompt_tokens_details": {"audio_tokens": 800}, "completion_tokens_details": {"audio_tokens": 40}}
    yield AnswerCost("audio", "openai/gpt-audio", "chat", {"usage": heard}, "0.02876")


def _gemini(name: str, cost: str | None, model: str = "gemini/gemini-2.5-flash", **usage: Any) -> AnswerCost:
    counts = {"promptTokenCount": 1000, "candidatesTokenCount": 50, "totalTokenCount": 1050}
    return AnswerCost(name, model, "gemini", {"usageMetadata": counts | usage}, cost)


def _gemini_rows() -> Iterator[AnswerCost]:
    pro = "gemini/gemini-2.5-pro"
    yield _gemini("cached", "0.000209", cachedContentTokenCount=800)  # 0.03 to read
    yield _gemini("thoughts", "0.000675", thoughtsTokenCount=100, totalTokenCount=1150)
    yield _gemini("a tool's prompt", "0.000605", toolUsePromptTokenCount=600, totalTokenCount=1650)
    heard = [{"modality": "TEXT", "tokenCount": 200}, {"modality": "AUDIO", "tokenCount": 800}]
    yield _gemini("audio", "0.000985", promptTokensDetails=heard)  # 1 for audio
    yield _gemini("a long prompt", "0.501", pro, promptTokenCount=200_100, totalTokenCount=200_150)
    yield _gemini("priority", "0.00315", pro, trafficType="ON_DEMAND_PRIORITY")
    yield _gemini("flex", "0.000875", pro, trafficType="ON_DEMAND_FLEX")
    yield _gemini("standard by name", "0.00175", pro, trafficType="ON_DEMAND")
    searched = {"webSearchQueries": ["one", "two", "one"]}
    for model, cost in (("gemini/gemini-2.5-flash", "0.035425"), ("gemini/gemini-3-flash-preview", "0.02865")):
        once = _gemini("searches, which an older model bills once", cost, model)
        yield once._replace(reported=once.reported | {"groundingMetadata": searched})
    kept: JsonDict = {"cachedContentTokenCount": 500, "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 300}]}
    yield _gemini("cached audio", "0.000661", promptTokensDetails=heard, **kept)._replace(litellm=False)
    reserved = _gemini("capacity that was paid in advance", None, pro, trafficType="PROVISIONED_THROUGHPUT")
    yield reserved._replace(litellm=False)


def _bedrock_rows() -> Iterator[AnswerCost]:
    model = "bedrock/anthropic.claude-opus-4-6-v1"  # 5 in, 25 out, 6.25 and 10 to write
    usage: JsonDict = {"inputTokens": 1000, "outputTokens": 20, "totalTokens": 11_020, "cacheWriteInputTokens": 10_000}
    details = [{"ttl": "1h", "inputTokens": 6000}, {"ttl": "5m", "inputTokens": 4000}]
    hour: JsonDict = usage | {"cacheDetails": details}
    yield AnswerCost("cache written", model, "bedrock", {"usage": usage}, "0.068")
    yield AnswerCost("cache written for both times", model, "bedrock", {"usage": hour}, "0.0905")
    plain = {"inputTokens": 1000, "outputTokens": 20, "totalTokens": 1020}
    nova = {"usage": plain, "serviceTier": {"type": "priority"}}
    yield AnswerCost("priority", "bedrock/amazon.nova-2-lite-v1:0", "bedrock", nova, "0.0006125")
    fast = {"usage": plain, "performanceConfig": {"latency": "optimized"}}
    yield AnswerCost("low latency", model, "bedrock", fast, None, litellm=False)


def _compatible(name: str, model: str, cost: str | None, /, *, litellm: bool = True, **usage: Any) -> AnswerCost:
    return AnswerCost(name, model, "chat", {"usage": _CHAT | usage}, cost, litellm)


def _compatible_rows() -> Iterator[AnswerCost]:
    upstream: JsonDict = {"cost_details": {"upstream_inference_cost": 0.02}}
    total: JsonDict = {"cost": {"input_tokens_cost": 0.003, "request_cost": 0.007, "total_cost": 0.01}}
    cost: JsonDict = {"cost": 0.0039, "is_byok": False}
    yield _compatible("OpenRouter", _SONNET, "0.0039", litellm=False, **cost)
    cost["cost_details"] = {"upstream_inference_cost": 0.0039}
    yield _compatible("OpenRouter, which repeats it", _SONNET, "0.0039", litellm=False, **cost)
    yield _compatible("a key of one's own", _SONNET, "0.0205", cost=0.0005, is_byok=True, litellm=False, **upstream)
    yield _compatible("such a key without a fee", _SONNET, "0.02", cost=0, is_byok=True, litellm=False, **upstream)
    yield _compatible("such a key, without the other cost", _SONNET, "0.00375", cost=0, is_byok=True, litellm=False)
    yield _compatible("free", "openrouter/some/new-model:free", "0", cost=0, is_byok=False, litellm=False)
    yield _compatible("unknown", "openrouter/some/new-model", None, litellm=False)
    yield _compatible("Vercel", "vercel_ai_gateway/openai/gpt-6-sol", "0.0012", cost="0.0012", litellm=False)
    yield _compatible("Perplexity", "perplexity/sonar-pro", "0.01", litellm=True, **total)
    yield _compatible("xAI", "xai/grok-4.3", "0.00123", cost_in_usd_ticks=12_300_000, litellm=False)
    hit: JsonDict = {"prompt_cache_hit_tokens": 600, "prompt_cache_miss_tokens": 400}
    yield _compatible("DeepSeek", "deepseek/deepseek-chat", "0.0001498", **hit)
    yield _compatible("Moonshot", "moonshot/kimi-k2.5", "0.00045", litellm=False, cached_tokens=600)
    groq: JsonDict = {"prompt_tokens_details": {"cached_tokens": 600}, "queue_time": 0.1}
    yield _compatible("Groq", "groq/openai/gpt-oss-120b", "0.000135", **groq)
    usual = {"usage": _CHAT, "service_tier": "on_demand"}
    yield AnswerCost("Groq's usual tier", "groq/openai/gpt-oss-120b", "chat", usual, "0.00018")
    lines = {"prompt_eval_count": 1000, "eval_count": 50}
    yield AnswerCost("a model of one's own", "ollama_chat/unheard-of", "ollama", lines, None, litellm=False)


ANSWER_COSTS: Final = (*_claude_rows(), *_openai_rows(), *_gemini_rows(), *_bedrock_rows(), *_compatible_rows())
