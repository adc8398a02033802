"""The provider's failure behind an exception of litellm: it calls a dropped connection a status 500, and makes up
responses."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from activities.model.failures import from_reported, from_response
from activities.model.wires import transport_failures
from activities.model.wires.transport_failures import exception_chain, missing_package
from workflows.domain.provider_failure import ProviderFailure

_NO_PROVIDER: Final = "LLM Provider NOT provided"


def from_exception(provider: str, error: Exception) -> ProviderFailure:
    chain = tuple(exception_chain(error))
    if not missing_package(chain):  # litellm may turn it into a response of status 500
        if (headers := _headers(chain)) is not None:
            return from_response(provider, _status(chain) or HTTPStatus.INTERNAL_SERVER_ERROR, _body(chain), headers)
        for link in chain:
            if isinstance(body := getattr(link, "body", None), Mapping):  # an event of the stream
                return from_reported(provider, dict(body))
    failure = transport_failures.from_exception(provider, error, _status(chain))
    return failure.model_copy(update={"message": _message(provider, failure.message)})


def _headers(chain: tuple[BaseException, ...]) -> dict[str, str] | None:
    """litellm makes up responses, without headers: these count as none."""
    for link in chain:
        response = getattr(link, "response", None)
        for headers in (getattr(link, "litellm_response_headers", None), getattr(response, "headers", None)):
            if headers:
                return {str(name): str(value) for name, value in headers.items()}
    return None


def _status(chain: tuple[BaseException, ...]) -> int | None:
    """The innermost status: on the way out, litellm maps many to few."""
    statuses = (getattr(link, "status_code", None) for link in reversed(chain))
    return next((status for status in statuses if isinstance(status, int)), None)


def _body(chain: tuple[BaseException, ...]) -> str | None:
    """The innermost is best: as it came, else as a library gives it."""
    for link in reversed(chain):
        text = _text(getattr(link, "response", None))
        if text:
            return text
    parsed = next((body for link in chain if (body := getattr(link, "body", None))), None)
    if parsed is None:
        return None
    return parsed if isinstance(parsed, str) else json.dumps({"error": parsed})


def _text(response: Any) -> str | None:
    try:
        text = getattr(response, "text", None)
    except RuntimeError:  # httpx: a streamed body was never read
        return None
    return text if isinstance(text, str) else None


def _message(provider: str, message: str) -> str:
    """The message without advice to programmers and stack traces."""
    if _NO_PROVIDER not in message:
        return message.partition("\nTraceback")[0]
    return f"litellm knows no provider {provider!r}: correct its name, or give its baseURL in opencode.json."
