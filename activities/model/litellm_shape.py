"""Requests in a provider's form, made by litellm's functions for that: only the body, for we send it ourselves.

What a model does not take is left out, tools and their schemas are adapted, and efforts become budgets or levels, as
litellm's table of models has it.
"""

import copy
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from pydantic_core import to_json

from activities.model.litellm_form import body
from activities.model.port import ModelRequest
from activities.model.sendable import Form
from activities.model.wires import anthropic as messages_api
from activities.model.wires import gemini as gemini_api
from activities.model.wires.http_wire import Prepared

_NO_KEY: Final = "no-key"  # litellm insists on one; endpoints without keys ignore it


def anthropic(library: ModuleType, request: ModelRequest) -> Prepared:
    """The request in the form of Anthropic's Messages."""
    endpoint = request.endpoint
    messages, options = _parted(library, request, "anthropic")
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
    return Prepared(url, {**headers, **endpoint.headers}, to_json({**messages_api.marked(form), "stream": True}))


def gemini(library: ModuleType, request: ModelRequest) -> Prepared:
    """The request in the form of Gemini."""
    endpoint = request.endpoint
    messages, options = _parted(library, request, "gemini")
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
    return Prepared(gemini_api.url(endpoint), {**headers, **endpoint.headers}, to_json(form))


def _parted(library: ModuleType, request: ModelRequest, provider: str) -> tuple[list[Form], Form]:
    """The messages in OpenAI's form, and everything else as the provider has it."""
    asked: dict[str, Any] = copy.deepcopy(body(request))  # litellm changes what it is given
    messages, _ = asked.pop("messages"), asked.pop("stream_options")
    if "thinking" in asked:
        # which takes OpenCode's `budgetTokens`, too
        asked["thinking"] = library.utils.validate_and_fix_thinking_param(asked["thinking"])
    options: Form = library.get_optional_params(
        model=request.endpoint.name, custom_llm_provider=provider, messages=messages, drop_params=True, **asked
    )
    options.pop("stream", None)
    return messages, options
