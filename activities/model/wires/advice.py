"""What to do about the failures of some servers, which say it in their own words or not at all."""

import re
from collections.abc import Container
from http import HTTPStatus
from typing import Final, NamedTuple

from activities.model.addresses import is_openai
from activities.model.endpoint import Endpoint, Wire
from activities.model.failures import error_message
from workflows.domain.provider_failure import ProviderFailure

_HOPELESS: Final = "invalid_prompt"  # a code of requests for which a retry is useless
_OWN: Final = ("compatible", "openai")  # providers: a person's own servers and gateways, and OpenAI
_UNSERVED: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)
_OTHER_PROTOCOL: Final = 'set `"npm": "{}"` in this provider\'s entry in opencode.json, which asks it {}'


class _Advice(NamedTuple):
    """`hopeless`: of failures whose status says that they might pass."""

    wire: Wire
    pattern: re.Pattern[str]
    text: str = ""
    hopeless: bool = False
    providers: Container[str] | None = None


_TABLE: Final = (
    # in the words of Ollama's server/routes.go, server/sched.go, api/types.go, and llama.cpp's server
    _Advice(
        Wire.OLLAMA,
        re.compile("^model .* not found"),
        "fetch it with `ollama pull`, or name one that `ollama list` shows",
    ),
    _Advice(
        Wire.OLLAMA,
        re.compile("does not support .*tools"),
        "an agent needs a model with the capability `tools` in `ollama show`",
    ),
    _Advice(
        Wire.OLLAMA,
        re.compile("does not support thinking"),
        "take `think` and the reasoning effort out of its options",
    ),
    _Advice(
        Wire.OLLAMA,
        re.compile("exceeds the (available )?context|longer than the context"),
        "give it a larger window, as `limit.context` in opencode.json or OLLAMA_CONTEXT_LENGTH there",
    ),
    _Advice(
        Wire.OLLAMA,
        re.compile("requires more system memory"),
        "name a smaller model, or give it a smaller `limit.context`",
        True,
    ),
    _Advice(Wire.OLLAMA, re.compile("must be of type|only supports one image"), hopeless=True),
    # in OpenAI's words, of models that get no tools by chat completions, or none at all
    _Advice(
        Wire.CHAT,
        re.compile("v1/responses"),
        _OTHER_PROTOCOL.format("@ai-sdk/openai", "by the Responses API"),
        True,
        providers=_OWN,
    ),
    _Advice(
        Wire.CHAT,
        re.compile("v1/responses"),
        "name its entry in opencode.json after the model, with the deployment as `id`",
        True,
        providers=("azure",),
    ),
)
_CHAT_ALONE: Final = _OTHER_PROTOCOL.format("@ai-sdk/openai-compatible", "by chat completions")


def advise(endpoint: Endpoint, failure: ProviderFailure) -> ProviderFailure:
    """The failure with what to do about it, and with a code if a retry is useless."""
    if _lacks_responses(endpoint, failure):
        text = f"{failure.message.rstrip('. ')}: if this server does not serve the Responses API, {_CHAT_ALONE}."
        return failure.model_copy(update={"message": text, "code": _HOPELESS})
    if endpoint.wire is Wire.OLLAMA:  # llama.cpp's answer comes as JSON in a text
        failure = failure.model_copy(update={"message": error_message(failure.message) or failure.message})
    advice = next((each for each in _TABLE if _fits(each, endpoint, failure)), None)
    if advice is None:
        return failure
    text = f"{failure.message.rstrip('. ')}: {advice.text}." if advice.text else failure.message
    code = _HOPELESS if advice.hopeless else failure.code
    return failure.model_copy(update={"message": text, "code": code})


def _fits(advice: _Advice, endpoint: Endpoint, failure: ProviderFailure) -> bool:
    asked = advice.wire is endpoint.wire and (advice.providers is None or endpoint.provider in advice.providers)
    return asked and bool(advice.pattern.search(failure.message))


def _lacks_responses(endpoint: Endpoint, failure: ProviderFailure) -> bool:
    """Whether the address may be unknown to the server, rather than the model, which it would name."""
    asked = endpoint.wire is Wire.RESPONSES and endpoint.provider == "openai" and not is_openai(endpoint.base_url)
    named = failure.code == "model_not_found" or endpoint.name in f"{failure.message}{failure.body}"
    return asked and failure.status in _UNSERVED and not named
