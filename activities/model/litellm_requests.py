"""Request bodies in a provider's form, made by litellm's functions; we send them.

By litellm's table, these leave out what a model does not take, adapt tools and their schemas, and turn efforts into
budgets or levels.
"""

import copy
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from pydantic_core import to_json

from activities.model.chat_format import build_body
from activities.model.port import ModelRequest
from activities.model.request_json import JsonDict
from activities.model.wires import anthropic as messages_api
from activities.model.wires import gemini as gemini_api
from activities.model.wires.http_wire import WireRequest

_NO_KEY: Final = "no-key"  # litellm insists on one; endpoints without keys ignore it


def anthropic_request(library: ModuleType, request: ModelRequest) -> WireRequest:
    """The request as Anthropic's Messages."""
    endpoint = request.endpoint
    messages, options = _messages_and_options(library, request, "anthropic")
    config, headers = library.AnthropicConfig(), dict(endpoint.headers)
    form = config.transform_request(
        model=endpoint.name, messages=messages, optional_params=options, litellm_params={}, headers=headers
    )
    headers = config.validate_environment(
        headers=headers,
        model=endpoint.name,
        messages=messages,
        optional_params=options,
        litellm_params={},
        api_key=endpoint.secret or _NO_KEY,
        api_base=endpoint.base_url,
    )
    url = messages_api.url(endpoint)
    return WireRequest(
        url, {**headers, **endpoint.headers}, to_json({**messages_api.mark_cache_points(form), "stream": True})
    )


def gemini_request(library: ModuleType, request: ModelRequest) -> WireRequest:
    """The request for Gemini."""
    endpoint = request.endpoint
    messages, options = _messages_and_options(library, request, "gemini")
    transform = import_module("litellm.llms.vertex_ai.gemini.transformation").transform_request_body
    form = transform(
        messages=messages,
        model=endpoint.name,
        optional_params=options,
        custom_llm_provider="gemini",
        litellm_params={},
        cached_content=None,
    )
    headers = {"x-goog-api-key": endpoint.secret} if endpoint.secret else {}
    return WireRequest(gemini_api.url(endpoint), {**headers, **endpoint.headers}, to_json(form))


def _messages_and_options(library: ModuleType, request: ModelRequest, provider: str) -> tuple[list[JsonDict], JsonDict]:
    parameters: dict[str, Any] = copy.deepcopy(build_body(request))  # litellm changes its arguments
    messages, _ = parameters.pop("messages"), parameters.pop("stream_options")
    if "thinking" in parameters:
        # takes OpenCode's `budgetTokens`, too
        parameters["thinking"] = library.utils.validate_and_fix_thinking_param(parameters["thinking"])
    options: JsonDict = library.get_optional_params(
        model=request.endpoint.name, custom_llm_provider=provider, messages=messages, drop_params=True, **parameters
    )
    options.pop("stream", None)
    return messages, options
