"""Claude's thoughts on Bedrock, as far as litellm gives them back: signed ones, before all calls of an answer.

It leaves encrypted thoughts out, and moves those between calls before them. The service refuses such an answer, and a
turn that thinks on without its thoughts, or has some without thinking.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from activities.model.port import AssistantInput, ModelRequest
from activities.model.turn_thoughts import answers_of_turn, without_thoughts
from activities.model.wires.anthropic_options import is_adaptive
from workflows.domain.messages import ReasoningPart, RequestedCall

_THINKING: Final = ("thinking", "reasoning_effort")
_OWN_EFFORT: Final = re.compile(r"gpt|deepseek|nova")  # litellm makes no budget of their `reasoning_effort`


def settle_thinking(request: ModelRequest) -> ModelRequest:
    """The request, without thoughts and without thinking where the service would refuse them after calls."""
    answers = answers_of_turn(request.messages) if request.endpoint.provider == "bedrock" else ()
    budgeted = _has_budget(request.endpoint.name, request.options)
    if not answers or not (budgeted or any(answer.details for answer in answers)):
        return request
    thinks = budgeted or is_adaptive(request.endpoint.name)
    if thinks and any(answer.details and _comes_back(answer) for answer in answers):
        changed = tuple(answer for answer in answers if not _comes_back(answer))
        return replace(request, messages=without_thoughts(request.messages, changed))
    options = {name: value for name, value in request.options.items() if name not in _THINKING}
    return replace(request, messages=without_thoughts(request.messages, answers), options=options)


def _has_budget(model: str, options: Mapping[str, JsonValue]) -> bool:
    thinking = options.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled":
        return True
    effort = options.get("reasoning_effort")
    return effort not in (None, "none") and not is_adaptive(model) and not _OWN_EFFORT.search(model)


def _comes_back(answer: AssistantInput) -> bool:
    first_call = next((n for n, part in enumerate(answer.parts) if isinstance(part, RequestedCall)), len(answer.parts))
    thinks_later = any(isinstance(part, ReasoningPart) and part.details for part in answer.parts[first_call:])
    return not thinks_later and all(block.get("signature") for block in answer.details)
