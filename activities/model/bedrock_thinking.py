"""Claude's thoughts on Bedrock, as far as litellm gives them back: signed ones, before all calls of an answer.

It leaves encrypted thoughts out, and moves those between calls before them. The service refuses such an answer, and one
without thoughts, when the results of its calls are sent and the model is to think on.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from activities.model.port import AssistantInput, ModelRequest
from workflows.domain.messages import ReasoningPart, RequestedCall

_THINKING: Final = ("thinking", "reasoning_effort")


def settle_thinking(request: ModelRequest) -> ModelRequest:
    """The request, without thoughts and without thinking where the service would refuse them after calls."""
    place = max((n for n, message in enumerate(request.messages) if isinstance(message, AssistantInput)), default=None)
    if place is None or request.endpoint.provider != "bedrock":
        return request
    newest = request.messages[place]
    if not isinstance(newest, AssistantInput) or not newest.calls or _comes_back(newest, request.options):
        return request
    shortened = newest.model_copy(update={"parts": tuple(p for p in newest.parts if not isinstance(p, ReasoningPart))})
    messages = (*request.messages[:place], shortened, *request.messages[place + 1 :])
    options = {name: value for name, value in request.options.items() if name not in _THINKING}
    return replace(request, messages=messages, options=options)


def _comes_back(answer: AssistantInput, options: Mapping[str, JsonValue]) -> bool:
    if not answer.details:
        thinking = options.get("thinking")
        return not (isinstance(thinking, dict) and thinking.get("type") == "enabled")
    first_call = next(n for n, part in enumerate(answer.parts) if isinstance(part, RequestedCall))
    thinks_later = any(isinstance(part, ReasoningPart) and part.details for part in answer.parts[first_call:])
    return not thinks_later and all(block.get("signature") for block in answer.details)
