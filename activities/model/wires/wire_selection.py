"""Selects a model's wire by the provider's protocol, its address and the model's name."""

import re
from typing import Final

from activities.model.addresses import is_openai, normalise_address
from activities.model.azure import AZURE, operation_address
from activities.model.endpoint import Endpoint, Wire
from activities.model.providers import company
from activities.model.vertex import VERTEX, vertex_wire
from workflows.domain.errors import UsageError

# models of OpenAI's that its Responses API does not serve
_CHAT_ONLY: Final = re.compile(r"gpt-3\.5|gpt-4o.*-(audio|search)|gpt-audio|.*-search-(preview|api)")
# with tools, OpenAI serves these by Responses only; of the older ones, those in litellm's table
_NO_TOOLS_IN_CHAT: Final = re.compile(r"gpt-(5\.([4-9]|\d\d)|[6-9]|\d\d)(?!.*-chat)")
_OWN: Final = {
    "anthropic": Wire.ANTHROPIC,
    "bedrock": Wire.BEDROCK,
    "gemini": Wire.GEMINI,
    "ollama_chat": Wire.OLLAMA,
}
_RESPONSES_TOO: Final = ("xai",)  # speak it at the address of their chat protocol


def needs_litellm(protocol: str) -> bool:
    """Whether litellm asks all models of the protocol."""
    return not (protocol in ("openai", AZURE, VERTEX, *_OWN) or company(protocol))


def select_wire(
    endpoint: Endpoint, *, responses: bool, package: str | None, id: str, behind: str | None = None
) -> Endpoint:
    """The endpoint with its wire, and that wire's address.

    `responses`: only the Responses protocol reaches the model. `behind`: its name in the configuration; of a
    deployment's two names, either may be the model's. Raises UsageError where we do not speak it.
    """
    protocol, wire = endpoint.model.partition("/")[0], Wire.LITELLM
    if protocol in _OWN:
        return endpoint.model_copy(update={"wire": _OWN[protocol]})
    if protocol == VERTEX:
        return endpoint.model_copy(update={"wire": vertex_wire(id, endpoint.name)})
    if protocol == "openai":
        return endpoint.model_copy(update={"wire": _openai(endpoint, package, id)})
    if protocol == AZURE and endpoint.base_url:
        by_name = any(map(_NO_TOOLS_IN_CHAT.match, (endpoint.name, behind or "")))
        wire = Wire.RESPONSES if responses or by_name else Wire.CHAT
        return _at(endpoint, wire, operation_address(endpoint.base_url, wire, endpoint.name))
    if (known := company(protocol)) is not None:
        wire = known.wire_of(endpoint.name) or wire
    if responses and protocol in _RESPONSES_TOO:
        wire = Wire.RESPONSES
    if responses and wire is not Wire.RESPONSES and protocol != AZURE:
        raise UsageError(
            f"{id}/{endpoint.name} is reached by the Responses protocol only, which Holdfast speaks with OpenAI, Azure "
            f"and xAI: name another model, or one of them."
        )
    return _at(endpoint, wire, endpoint.base_url and normalise_address(wire, endpoint.base_url))


def _at(endpoint: Endpoint, wire: Wire, address: str | None) -> Endpoint:
    return endpoint.model_copy(update={"wire": wire, "base_url": address})


def _openai(endpoint: Endpoint, package: str | None, id: str) -> Wire:
    """OpenAI is asked by Responses, also through a gateway; servers that only speak its chat protocol by that."""
    package = package or ("@ai-sdk/openai" if id == "openai" else None)
    reached = package == "@ai-sdk/openai" or is_openai(endpoint.base_url)
    return Wire.RESPONSES if reached and not _CHAT_ONLY.match(endpoint.name) else Wire.CHAT
