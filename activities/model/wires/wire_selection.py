"""Selects a model's wire by the provider's protocol, its address and the model's name."""

import re
from typing import Final

from activities.model.port import Endpoint, Wire
from activities.model.providers import OPENAI_URL
from workflows.domain.errors import UsageError

# models of OpenAI's that its Responses API does not serve
_CHAT_ONLY: Final = re.compile(r"gpt-3\.5|gpt-4o.*-(audio|search)|gpt-audio|.*-search-(preview|api)")
# with tools, OpenAI serves these by Responses only; of the older ones, those in litellm's table
_NO_TOOLS_IN_CHAT: Final = re.compile(r"gpt-(5\.([4-9]|\d\d)|[6-9]|\d\d)(?!.*-chat)")
_OWN: Final = {"anthropic": Wire.ANTHROPIC, "gemini": Wire.GEMINI}
OWN_WIRES: Final = frozenset({"openai", *_OWN})  # protocols that need no litellm
_RESPONSES_ADDRESSES: Final = {"xai": "https://api.x.ai/v1"}


def select_wire(endpoint: Endpoint, *, responses: bool, package: str | None, id: str) -> Endpoint:
    """The endpoint with its wire, and that wire's address.

    `responses`: only the Responses protocol reaches the model. Raises UsageError where we do not speak it.
    """
    protocol = endpoint.model.partition("/")[0]
    if protocol in _OWN:
        return endpoint.model_copy(update={"wire": _OWN[protocol]})
    if protocol == "openai":
        return endpoint.model_copy(update={"wire": _openai(endpoint, responses, package, id)})
    if protocol == "azure" and endpoint.base_url and (responses or _NO_TOOLS_IN_CHAT.match(endpoint.name)):
        return _at(endpoint, f"{endpoint.base_url}/openai/v1")
    if responses and protocol in _RESPONSES_ADDRESSES:
        return _at(endpoint, endpoint.base_url or _RESPONSES_ADDRESSES[protocol])
    if responses and protocol != "azure":
        raise UsageError(
            f"{id}/{endpoint.name} is reached by the Responses protocol only, which Holdfast speaks with OpenAI, Azure "
            f"and xAI: name another model, or one of them."
        )
    return endpoint


def _at(endpoint: Endpoint, address: str) -> Endpoint:
    return endpoint.model_copy(update={"wire": Wire.RESPONSES, "base_url": address})


def _openai(endpoint: Endpoint, responses: bool, package: str | None, id: str) -> Wire:
    """OpenAI itself is asked by Responses; a person's own endpoint by chat, unless it must be the other."""
    if endpoint.base_url == OPENAI_URL:
        return Wire.LITELLM if _CHAT_ONLY.match(endpoint.name) else Wire.RESPONSES
    forced = responses and (package == "@ai-sdk/openai" or (package is None and id == "openai"))
    return Wire.RESPONSES if forced else Wire.CHAT
