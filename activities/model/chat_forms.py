"""What some models refuse in chat messages that all others take; by the model's name, as many providers serve them."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from activities.model.port import AssistantInput, Endpoint, InputMessage
from activities.model.request_json import sendable_id
from workflows.domain.messages import TextPart

_MISTRAL: Final = re.compile(r"mistral|devstral|codestral|magistral|ministral|pixtral", re.IGNORECASE)
_MISTRAL_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")
_BEDROCK_LLAMA: Final = re.compile(r"bedrock/.*\bllama", re.IGNORECASE)
_CLOSING: Final = AssistantInput(parts=(TextPart(text="Done."),))


def is_mistral(endpoint: Endpoint) -> bool:
    return bool(_MISTRAL.search(endpoint.model))


def mistral_id(id: str) -> str:
    """Mistral's models take nine letters and digits."""
    return sendable_id(id, _MISTRAL_ID)[:9]


def arrange(endpoint: Endpoint, messages: tuple[InputMessage, ...]) -> Iterator[InputMessage]:
    """The messages, with a word of the model between calls' results and a prompt where one may not follow the other.

    Mistral's models refuse the role ("Unexpected role 'user' after role 'tool'"), Llama on Bedrock the message that
    holds both ("Conversation blocks and tool result blocks cannot be provided in the same turn").
    """
    closes = is_mistral(endpoint) or bool(_BEDROCK_LLAMA.match(endpoint.model))
    yield from messages[:1]
    for before, message in pairwise(messages):
        if closes and before.role == "tool" and message.role == "user":
            yield _CLOSING
        yield message
