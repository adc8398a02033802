"""What an exception of litellm, or of a library below it, tells about the provider's failure.

litellm wraps what happened, sometimes several times, and calls a dropped connection a server error of status 500; so
the whole chain is looked at. Its classes are told apart without importing them, which costs seconds.
"""

import json
import os
import socket
import ssl
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

from activities.model.failure_words import UNSENT
from activities.model.failures import ProviderFailure, from_response, from_stream, phrase, words_of

_TRANSPORTS: Final = ("httpx", "httpcore", "aiohttp", "anyio", "ssl")
_NO_CONNECTION: Final = ("ConnectError", "ClientConnectorError")  # of httpx and httpcore; of aiohttp
_GARBAGE: Final = (json.JSONDecodeError, UnicodeDecodeError)
_ADDRESS: Final = "its address (baseURL) is none that HTTP takes"
_CHARACTER: Final = "a message, an option or a header holds a character that cannot be encoded"
_NO_PROVIDER: Final = "LLM Provider NOT provided"
_IN_THE_STREAM: Final = "MidStreamFallbackError"  # what litellm calls whatever happens once an answer has begun
_FLAWS: Final = {  # classes of httpx, h11, aiohttp and pydantic → what is wrong with a request that cannot be written
    "LocalProtocolError": "its key or a header holds what HTTP does not take",  # its text quotes the header
    "InvalidURL": _ADDRESS,
    "UnsupportedProtocol": _ADDRESS,
    "NonHttpUrlClientError": _ADDRESS,
    "UnicodeEncodeError": _CHARACTER,
    "PydanticSerializationError": _CHARACTER,
}
_PASSING: Final = frozenset({408, 409, 425, 429})  # besides all server errors


def told(provider: str, error: Exception) -> ProviderFailure:
    """The failure behind `error`."""
    chain = tuple(_chain(error))
    headers = _headers(chain)
    if headers is not None:
        return _response(provider, chain, headers)
    return _stream_event(provider, chain) or _without_response(provider, chain)


def unsent(provider: str, error: Exception) -> ProviderFailure:
    """The failure of a request that could not be written because of `error`."""
    chain = tuple(_chain(error))
    return _unsent(provider, _flaw(chain) or f"its options cannot be used ({type(error).__name__}: {error})")


def _unsent(provider: str, flaw: str) -> ProviderFailure:
    return ProviderFailure(provider=provider, message=f"{flaw}.", code=UNSENT, retryable=False)


def _flaw(chain: tuple[BaseException, ...]) -> str | None:
    """What is wrong with a request that cannot be written; None where it is not known to be that."""
    return next((_FLAWS[name] for link in chain if (name := type(link).__name__) in _FLAWS), None)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and those that it wraps, outermost first."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = getattr(link, "original_exception", None) or link.__cause__ or link.__context__


def _headers(chain: tuple[BaseException, ...]) -> dict[str, str] | None:
    """The headers of the HTTP response, None when there was none: litellm makes up responses, without headers."""
    for link in chain:
        response = getattr(link, "response", None)
        for headers in (getattr(link, "litellm_response_headers", None), getattr(response, "headers", None)):
            if headers:
                return {str(name): str(value) for name, value in headers.items()}
    return None


def _response(provider: str, chain: tuple[BaseException, ...], headers: dict[str, str]) -> ProviderFailure:
    status = _status(chain) or HTTPStatus.INTERNAL_SERVER_ERROR
    body = _body(chain)
    message = words_of(body or "") or phrase(status)
    return from_response(provider, status, message, body, headers, retryable=passing(status))


def _status(chain: tuple[BaseException, ...]) -> int | None:
    """The innermost status: on the way out, litellm maps many to few."""
    statuses = (getattr(link, "status_code", None) for link in reversed(chain))
    return next((status for status in statuses if isinstance(status, int)), None)


def passing(status: int) -> bool:
    """Whether asking again may help after this status."""
    return status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _body(chain: tuple[BaseException, ...]) -> str | None:
    """The body of the response: as it came, else what a library has made of it; the innermost knows best."""
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
    except RuntimeError:  # httpx: the body of a streamed response was never read
        return None
    return text if isinstance(text, str) else None


def _stream_event(provider: str, chain: tuple[BaseException, ...]) -> ProviderFailure | None:
    """An error that was reported inside the stream: its body is there, a response is not."""
    for link in chain:
        body = getattr(link, "body", None)
        if isinstance(body, Mapping):
            return from_stream(provider, {"type": "error", "error": dict(body)})
    return None


def _without_response(provider: str, chain: tuple[BaseException, ...]) -> ProviderFailure:
    """Network or mistake: a lost connection and garbage in the stream pass, all else does not by asking again."""
    if flaw := _flaw(chain):
        return _unsent(provider, flaw)
    lost = next((link for link in reversed(chain) if _is_transport(link)), None)
    if lost is not None:
        message = f"Connection error: {lost or type(lost).__name__}"
        unreached = _cause(lost) if any(map(_is_no_connection, chain)) else None
        return ProviderFailure(provider=provider, message=message, retryable=True, unreached=unreached)
    if any(isinstance(link, _GARBAGE) or type(link).__name__ == _IN_THE_STREAM for link in chain):
        message = f"The provider sent something that is no piece of an answer: {chain[-1]}"
        return ProviderFailure(provider=provider, message=message, retryable=True)
    status = _status(chain)
    refused = status if status is not None and status < HTTPStatus.INTERNAL_SERVER_ERROR else None
    return ProviderFailure(
        provider=provider,
        message=_words(provider, str(chain[0]) or type(chain[0]).__name__),
        status=refused or HTTPStatus.BAD_REQUEST,
        retryable=refused in _PASSING,
    )


def _is_transport(link: BaseException) -> bool:
    library = type(link).__module__.partition(".")[0]
    return library in _TRANSPORTS or isinstance(link, (OSError, EOFError))


def _is_no_connection(link: BaseException) -> bool:
    return any(each.__name__ in _NO_CONNECTION for each in type(link).__mro__)


def _cause(lost: BaseException) -> str:
    """Why there is no connection, in the system's words: "Connection refused"."""
    if isinstance(lost, ssl.SSLCertVerificationError):
        return lost.verify_message
    if isinstance(lost, socket.gaierror):
        return lost.strerror or str(lost)
    if isinstance(lost, OSError) and lost.errno is not None and not isinstance(lost, ssl.SSLError):
        return os.strerror(lost.errno)
    return str(lost) or type(lost).__name__


def _words(provider: str, said: str) -> str:
    """litellm's own words, but where they advise the programmer who calls it."""
    if _NO_PROVIDER not in said:
        return said
    return f"litellm knows no provider {provider!r}: correct its name, or give its baseURL in opencode.json."
