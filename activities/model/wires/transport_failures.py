"""The provider's failure behind an exception of the libraries that send: a response, a lost connection, or what cannot
be sent.

They wrap causes, sometimes repeatedly: so the whole exception chain counts. Classes are recognised by name: importing
them costs seconds.
"""

import json
import os
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from activities.model.failure_table import UNSENT
from activities.model.failures import BROKEN_OFF, from_reported, from_response, is_transient_status
from workflows.domain.provider_failure import ProviderFailure

_TRANSPORTS: Final = ("httpx", "httpcore", "httpx2", "httpcore2", "aiohttp", "anyio", "ssl")
_NO_CONNECTION: Final = ("ConnectError", "ProxyError", "ClientConnectorError")  # of httpx and httpcore; of aiohttp
UNTRUSTED: Final = (
    "its certificate is not trusted here ({}): if an authority of your own has signed it, name that one's file in "
    "SSL_CERT_FILE, or in the provider's option `caFile`"
)
_SILENT: Final = ("ReadTimeout", "SocketTimeoutError")  # of httpx and httpcore; of aiohttp
_GARBAGE: Final = (json.JSONDecodeError, UnicodeDecodeError)
_ADDRESS: Final = "its address (baseURL) is none that HTTP takes"
_CHARACTER: Final = "a message, an option or a header holds a character that cannot be encoded"
_IN_THE_STREAM: Final = "MidStreamFallbackError"  # litellm's name for every failure after an answer has begun
_NO_PROVIDER: Final = "LLM Provider NOT provided"  # so does litellm
_EXTRAS: Final = {"google": "vertex", "boto3": "bedrock", "botocore": "bedrock"}  # packages → extras of Holdfast
_FLAWS: Final = {  # classes of httpx, h11, aiohttp and pydantic → what is wrong with a request that cannot be written
    "LocalProtocolError": "its key or a header holds what HTTP does not take",  # its text quotes the header
    "InvalidURL": _ADDRESS,
    "UnsupportedProtocol": _ADDRESS,
    "NonHttpUrlClientError": _ADDRESS,
    "UnicodeEncodeError": _CHARACTER,
    "PydanticSerializationError": _CHARACTER,
}


def from_exception(provider: str, error: Exception) -> ProviderFailure:
    chain = tuple(exception_chain(error))
    if missing := _missing_package(chain):  # litellm may make it a response
        return _unsendable(provider, missing)
    if headers := _headers(chain):
        return from_response(provider, _status(chain), _body(chain), headers)
    if (event := next((body for body in _bodies(chain) if isinstance(body, Mapping)), None)) is not None:
        return from_reported(provider, dict(event))
    if flaw := _request_flaw(chain):
        return _unsendable(provider, flaw)
    lost = next((link for link in reversed(chain) if _is_transport(link)), None)
    if lost is not None:
        message = f"Connection error: {lost or type(lost).__name__}"
        connect_error = _cause(lost) if any(map(_is_no_connection, chain)) else None
        return ProviderFailure(provider=provider, message=message, retryable=True, connect_error=connect_error)
    if isinstance(chain[-1], StopAsyncIteration):  # litellm notices itself that no finish reason has come
        return ProviderFailure(provider=provider, message=BROKEN_OFF, retryable=True)
    if any(isinstance(link, _GARBAGE) or type(link).__name__ == _IN_THE_STREAM for link in chain):
        message = f"The provider sent something that is not part of an answer: {_words(chain[-1])}"
        return ProviderFailure(provider=provider, message=message, retryable=True)
    message, status = _words(chain[0]) or type(chain[0]).__name__, _status(chain)
    if _NO_PROVIDER in message:
        message = f"litellm knows no provider {provider!r}: correct its name, or give its baseURL in opencode.json."
    refused = HTTPStatus.BAD_REQUEST if status >= HTTPStatus.INTERNAL_SERVER_ERROR else status
    return ProviderFailure(provider=provider, message=message, status=refused, retryable=is_transient_status(refused))


def fell_silent(error: Exception) -> bool:
    """Whether a read from the socket timed out."""
    return any(type(link).__name__ in _SILENT for link in exception_chain(error))


def from_unsendable(provider: str, error: Exception) -> ProviderFailure:
    chain = tuple(exception_chain(error))
    return _unsendable(
        provider, _request_flaw(chain) or f"its options cannot be used ({type(error).__name__}: {error})"
    )


def _unsendable(provider: str, flaw: str) -> ProviderFailure:
    return ProviderFailure(provider=provider, message=f"{flaw}.", code=UNSENT, retryable=False)


def _request_flaw(chain: tuple[BaseException, ...]) -> str | None:
    return next((_FLAWS[name] for link in chain if (name := type(link).__name__) in _FLAWS), None)


def _missing_package(chain: tuple[BaseException, ...]) -> str | None:
    names = [link.name for link in reversed(chain) if isinstance(link, ImportError) and link.name]
    if not names:
        return None
    extra = _EXTRAS.get(names[0].partition(".")[0])
    remedy = f"install holdfast[{extra}]" if extra else "install it in Holdfast's environment"
    return f"the Python package of {names[0]!r}, which this provider needs, is not installed: {remedy}"


def exception_chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what it wraps or was caused by, and so on."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = getattr(link, "original_exception", None) or link.__cause__ or link.__context__


def _headers(chain: tuple[BaseException, ...]) -> dict[str, str]:
    """litellm makes up responses, without headers: these count as none."""
    for link in chain:
        given = getattr(link, "litellm_response_headers", None) or getattr(_response(link), "headers", None)
        if given:
            return {str(name): str(value) for name, value in given.items()}
    return {}


def _status(chain: tuple[BaseException, ...]) -> int:
    """The innermost: on the way out, litellm maps many to few."""
    statuses = (getattr(link, "status_code", None) for link in reversed(chain))
    return next((each for each in statuses if isinstance(each, int)), HTTPStatus.INTERNAL_SERVER_ERROR)


def _body(chain: tuple[BaseException, ...]) -> str | None:
    """The innermost is best: as it came, else as a library gives it."""
    for link in reversed(chain):
        with suppress(RuntimeError):  # httpx: a streamed body was never read
            if isinstance(text := getattr(_response(link), "text", None), str) and text:
                return text
    parsed = next(filter(None, _bodies(chain)), None)
    return json.dumps({"error": parsed}) if parsed and not isinstance(parsed, str) else parsed


def _bodies(chain: tuple[BaseException, ...]) -> Iterator[Any]:
    """As a library has parsed them: of responses, and of events within a stream."""
    return (getattr(link, "body", None) for link in chain)


def _response(link: BaseException) -> Any:
    return getattr(link, "response", None)


def _words(link: BaseException) -> str:
    return str(link).partition("\nTraceback")[0]


def _is_transport(link: BaseException) -> bool:
    library = type(link).__module__.partition(".")[0]
    return library in _TRANSPORTS or isinstance(link, (OSError, EOFError))


def _is_no_connection(link: BaseException) -> bool:
    return any(each.__name__ in _NO_CONNECTION for each in type(link).__mro__)


def _cause(lost: BaseException) -> str:
    """The operating system's message, such as "Connection refused"."""
    if isinstance(lost, ssl.SSLCertVerificationError):
        return UNTRUSTED.format(lost.verify_message)
    if type(lost).__name__ == "ProxyError":
        return f"the proxy answers {lost}: see HTTPS_PROXY, or the provider's option `proxy`"
    if isinstance(lost, socket.gaierror):
        return lost.strerror or str(lost)
    if isinstance(lost, OSError) and lost.errno is not None and not isinstance(lost, ssl.SSLError):
        return os.strerror(lost.errno)
    return str(lost) or type(lost).__name__
