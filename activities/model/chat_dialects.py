"""How providers and families of models speak OpenAI's chat protocol, where they differ from it.

Each row names its source; "believed": it is reported, and no published type or page says it.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from activities.model.endpoint import Endpoint, Wire


@dataclass(frozen=True)
class Dialect:
    """What a request has besides OpenAI's forms, or instead of them.

    `call_ids`: the form of a call's id, of at most `id_length` characters; None: any. `closes_results`: a prompt may
    not follow results, so a word of the model stands between. `reasoning`: earlier reasoning goes back, by the name
    that it came by. `missing_reasoning`: stands in answers without reasoning. `cache_marks`: parts are marked for the
    provider's cache. `documents`: the form of a document. `choice_none`: takes `tool_choice: none`. `stream_options`:
    is asked for the tokens of a streamed answer. `output_limit`: that parameter's name.
    """

    call_ids: re.Pattern[str] | None = re.compile(r"(?s).{1,40}")  # OpenAI: "maximum length 40"
    id_length: int = 40
    closes_results: bool = False
    reasoning: bool = True
    missing_reasoning: str | None = None
    cache_marks: bool = False
    documents: str = "file"
    choice_none: bool = True
    stream_options: bool = True
    output_limit: str = "max_tokens"


def _row(providers: str, models: str = "", **differences: Any) -> tuple[re.Pattern[str], re.Pattern[str], Any]:
    """Differences of the models whose names hold `models`, at these providers; both are patterns."""
    return re.compile(providers), re.compile(models, re.IGNORECASE), differences


LITELLM: Final = "litellm"  # in place of the provider, if litellm reaches it
_MISTRAL: Final = r"mistral|devstral|codestral|magistral|ministral|pixtral|mixtral"
_STRAIGHT: Final = rf"(?!{LITELLM}$).*"  # all but those
_MISTRAL_FORMS: Final[dict[str, Any]] = {
    "call_ids": re.compile(r"[a-zA-Z0-9]{9}"),
    "id_length": 9,
    "closes_results": True,
}

# Providers by the name in `Endpoint.provider`; a later row wins.
_ROWS: Final = (
    # litellm has ids and forms of its own for each provider behind it
    _row(LITELLM, call_ids=None, reasoning=False),
    # mistral-common, validator.py: "Unexpected role 'user' after role 'tool'", "Tool call id … must be a-z, A-Z, 0-9,
    # with a length of 9"; by the model's name, as vLLM, NVIDIA and gateways validate with it, too
    _row(".*", _MISTRAL, **_MISTRAL_FORMS),
    # mistralai, ChatCompletionStreamRequest and DocumentURLChunk
    _row("mistral|codestral", stream_options=False, documents="document_url", **_MISTRAL_FORMS),
    # OpenCode's transform, for Claude wherever it is: Anthropic takes no other id, and caches what is marked
    _row(_STRAIGHT, "claude|anthropic", call_ids=re.compile(r"[a-zA-Z0-9_-]{1,40}"), cache_marks=True),
    # OpenRouter, "Prompt Caching": breakpoints in text parts, for Claude and Gemini
    _row("openrouter", "gemini", cache_marks=True),
    # api-docs.deepseek.com, "Thinking Mode", and Moonshot's "Use Kimi K2 Thinking": calls without reasoning_content
    # are refused, also those of another model; a blank is the least that they take (litellm)
    _row("deepseek|moonshot", missing_reasoning=" "),
    # by other hosts of their models, too (danny-avila/LibreChat 13366); Groq and Cerebras refuse the member
    _row("(?!(groq|cerebras)$).*", "deepseek|kimi", missing_reasoning=" "),
    # xAI's and Perplexity's types of a message have no reasoning; believed
    _row("xai|perplexity|azure", reasoning=False),
    # docs.z.ai, "Chat Completion": `tool_choice` supports `auto` only
    _row("zai", choice_none=False),
    # @ai-sdk/perplexity sends none; believed to be refused
    _row("perplexity", stream_options=False),
    # strandsagents.com, "Cohere": "rejects the stream_options request field"; so with `tool_choice` is believed
    _row("cohere_chat", stream_options=False, choice_none=False),
    # OpenAI: "max_tokens is not compatible with o-series models"; a deployment may have any name
    _row("azure", output_limit="max_completion_tokens"),
)


def dialect_of(endpoint: Endpoint) -> Dialect:
    if endpoint.wire is Wire.LITELLM:
        return _dialect(LITELLM, endpoint.model)
    return _dialect(endpoint.provider, endpoint.name)


@lru_cache(maxsize=256)
def _dialect(provider: str, model: str) -> Dialect:
    dialect = Dialect()
    for providers, models, differences in _ROWS:
        if providers.fullmatch(provider) and models.search(model):
            dialect = replace(dialect, **differences)
    return dialect
