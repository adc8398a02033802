"""What Anthropic carries out itself in an answer: its calls, their results, its summaries of a conversation.

They stand among the details of thoughts, and go back to their model as they came.
"""

import re
from itertools import pairwise
from typing import Final

from activities.model.port import AssistantInput, InputMessage, UserInput
from activities.model.request_json import JsonDict
from workflows.domain.messages import ReasoningPart

CONTAINER: Final = "container"  # where calls were carried out: a parameter of the next request, no block
_CALL: Final = "_tool_use"
_BLOCK: Final = re.compile(rf"(server|mcp){_CALL}|\w+_tool_result|compaction|container_upload")


def is_served(detail: JsonDict) -> bool:
    return is_sent(detail) or detail.get("type") == CONTAINER


def is_sent(detail: JsonDict) -> bool:
    """Whether it is a block of the answer."""
    return bool(_BLOCK.fullmatch(str(detail.get("type"))))


def container_of(messages: tuple[InputMessage, ...]) -> JsonDict:
    """The parameter for going on with an answer that the provider has paused in."""
    newest = messages[-1] if messages else None
    details = newest.details if isinstance(newest, AssistantInput) else ()
    return next(({CONTAINER: detail["id"]} for detail in details if detail.get("type") == CONTAINER), {})


def resumable(messages: tuple[InputMessage, ...]) -> tuple[InputMessage, ...]:
    """The messages. A prompt behind an answer that the provider has paused in ends its work: calls without results are
    left out."""
    prompted = (message for message, following in pairwise(messages) if isinstance(following, UserInput))
    ended = {id(each): each for each in prompted if isinstance(each, AssistantInput) and _pending(each)}
    if not ended:
        return messages
    return tuple(_without_pending(ended[id(each)]) if id(each) in ended else each for each in messages)


def _pending(answer: AssistantInput) -> set[str]:
    """The ids of the provider's calls without results."""
    calls = {
        str(detail["id"]) for detail in answer.details if is_served(detail) and str(detail["type"]).endswith(_CALL)
    }
    return calls - {str(detail.get("tool_use_id")) for detail in answer.details}


def _without_pending(answer: AssistantInput) -> AssistantInput:
    pending = _pending(answer)

    def without(thought: ReasoningPart) -> ReasoningPart:
        kept = tuple(detail for detail in thought.details if detail.get("id") not in pending)
        return thought.model_copy(update={"details": kept})

    parts = tuple(without(part) if isinstance(part, ReasoningPart) else part for part in answer.parts)
    return answer.model_copy(update={"parts": parts})
