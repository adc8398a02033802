"""Cleans keys and headers: files and variables may end in blanks and hold characters that HTTP refuses.

A provider may repeat them in its errors, which are stored and shown. The headers that name Holdfast are here too.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import version
from typing import Final
from urllib.parse import unquote, urlsplit

from activities.model.endpoint import Endpoint
from activities.model.port import ModelRequest
from activities.redact import Redactor
from workflows.domain.errors import UsageError
from workflows.domain.provider_failure import ProviderFailure

_REFUSED: Final = re.compile(r"[^\t\x20-\x7e]")
_QUOTED: Final = 200  # characters
_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OF_PROVIDERS: Final = {  # for what they, or litellm's adapters for them, have headers of their own
    "novita": {"X-Novita-Source": "holdfast"},
    "openrouter": {"HTTP-Referer": "urn:holdfast", "X-Title": "Holdfast"},
    "vercel_ai_gateway": {"http-referer": "urn:holdfast", "x-title": "Holdfast"},
}


def request_headers(endpoint: Endpoint) -> dict[str, str]:
    """Holdfast's name in the provider's headers, and the configured headers, which win."""
    own = {"User-Agent": _user_agent(), **_OF_PROVIDERS.get(endpoint.model.partition("/")[0], {})}
    configured = {name.lower() for name in endpoint.headers}
    return {name: value for name, value in own.items() if name.lower() not in configured} | endpoint.headers


def session_headers(request: ModelRequest) -> dict[str, str]:
    """OpenCode's. The first one routes a session's requests to one cache at Fireworks, Cloudflare and gateways; by the
    others a gateway groups those of a session and of its subagents."""
    session, parent = request.session, request.parent
    own = {"x-session-affinity": session, "x-session-id": session} if session else {}
    return own | ({"x-parent-session-id": parent} if parent else {})


@cache
def _user_agent() -> str:
    return f"holdfast/{version('holdfast')}"


def header_value(field: str, text: str) -> str:
    """Strip surrounding blanks. Raises UsageError for a text that no header can hold; it names only `field`."""
    value = text.strip()
    refused = _REFUSED.search(value)
    if refused is None:
        return value
    kind = "a line break" if refused[0] in "\r\n" else "a control character" if refused[0].isascii() else "not ASCII"
    raise UsageError(f"{field} cannot be sent in a header: its character {refused.start() + 1} is {kind}.")


def header_name(field: str, name: str) -> str:
    """`name`. Raises UsageError for an invalid header name."""
    if not _TOKEN.fullmatch(name):
        raise UsageError(f"{field}.{name} is no header: its name may hold letters, digits and dashes.")
    return name


def redact_failure(
    failure: ProviderFailure, endpoint: Endpoint, redactor: Redactor, more: Callable[[], Iterable[str]] = tuple
) -> ProviderFailure:
    """`failure` without the secrets sent to the provider, `more`, and those of `redactor`; with the beginning of its
    quote.
    """
    sent = Redactor(lambda: (*_secrets(endpoint), *more()))

    def redact(text: str) -> str:
        return redactor.text(sent.text(text))

    message = redact(failure.message)
    if failure.quote is not None:
        message = f"{message.removesuffix('.')}: {redact(failure.quote)[:_QUOTED]!r}"
    return failure.model_copy(
        update={
            "message": message,
            "quote": None,
            "code": redact(failure.code) if failure.code else failure.code,
            "body": redact(failure.body) if failure.body else failure.body,
            "headers": failure.headers and {name: redact(value) for name, value in failure.headers.items()},
        }
    )


def _secrets(endpoint: Endpoint) -> Iterator[str]:
    if endpoint.secret:
        yield endpoint.secret
    signed = (endpoint.aws.secret_key, endpoint.aws.token) if endpoint.aws else ()
    yield from (value.get_secret_value() for value in (*endpoint.other_secrets, *signed) if value)
    if endpoint.route.proxy:
        yield endpoint.route.proxy.get_secret_value()
        yield from _login(endpoint.route.proxy.get_secret_value())
    yield from _login(endpoint.base_url or "")
    for value in endpoint.headers.values():
        yield value
        yield from value.split()  # the key after its scheme


def _login(address: str) -> Iterator[str]:
    """User, password, and both as they are sent; the redactor masks the base64 of each, too."""
    try:
        parts = urlsplit(address)
    except ValueError:  # the wire's own failure says what is wrong with it
        yield from (login := address.rpartition("@")[0].rpartition("//")[2]).split(":")
        yield login
        return
    user, password = (unquote(part or "") for part in (parts.username, parts.password))
    yield from (user, password, f"{user}:{password}")
