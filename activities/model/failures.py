"""Classifies a provider's failure: wait and ask again, compact, or stop.

Rules and constants: opencode.md 4.5. The engine does the retrying.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from activities.model.failure_patterns import (
    AUTH_PHRASES,
    CONTENT_CODES,
    GATEWAY_MESSAGES,
    HTML_START,
    NON_RETRYABLE_CODES,
    NOT_OVERFLOW_PHRASES,
    OVERFLOW_PHRASES,
    QUOTA_CODES,
    QUOTA_PHRASES,
    RETRYABLE_PHRASES,
    STREAM_MESSAGES,
    THROTTLING_CODES,
    UNSENT,
)
from activities.model.retry_hints import hinted_seconds
from workflows.domain.errors import HoldfastError
from workflows.domain.value import Value

INITIAL_DELAY: Final = 2.0  # seconds
BACKOFF_FACTOR: Final = 2.0
JITTER: Final = 0.25
MAX_DELAY_WITHOUT_HEADERS: Final = 30.0  # seconds, for a failure without headers
MAX_DELAY: Final = (2**31 - 1) / 1000  # seconds
_THROTTLED: Final = frozenset({429, 503, 529})
_MAX_BACKOFF_ATTEMPT: Final = 8  # the delay grows no more from this attempt on


class ProviderFailure(Value):
    """What went wrong, as far as the provider or the network says.

    `status`, `headers`: of the response, if any. `code`: the provider's. `retryable`: the transport's view, None if
    unknown. `connect_error`: why there was no connection, if there was none. `begun`: the answer had begun, and is
    paid. `quote`: what came instead of an answer; appended to the message once redacted.
    """

    provider: str
    message: str
    status: int | None = None
    code: str | None = None
    body: str | None = None
    headers: dict[str, str] | None = None
    retryable: bool | None = None
    connect_error: str | None = None
    quote: str | None = None
    begun: bool = False


class ModelError(HoldfastError):
    """A model could not be asked, or did not finish its answer."""

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Retry(Value):
    """Ask again. `reason`: a few words for watchers; `text`: all that the provider wrote."""

    reason: str
    status: int | None = None
    headers: dict[str, str] | None = None
    text: str = ""

    def pause_seconds(self, attempt: int, now: datetime, jitter: float, first: float = INITIAL_DELAY) -> float:
        """Seconds until the next attempt; `attempt` counts failures from 1, `jitter` is between 0 and 1.

        `first`: the shortest pause if the provider names none.
        """
        text = self.text or self.reason
        return retry_delay(min(attempt, _MAX_BACKOFF_ATTEMPT), self.headers, now, jitter, first, text)


class StopKind(StrEnum):
    """Why asking again is of no use."""

    AUTH = "auth"
    QUOTA = "quota"
    NOT_FOUND = "not-found"
    CONTENT = "content"
    BAD_REQUEST = "bad-request"
    UNSENT = "unsent"


_STOPS: Final = {401: StopKind.AUTH, 403: StopKind.AUTH, 404: StopKind.NOT_FOUND}


class Stop(Value):
    """The turn ends with this message."""

    kind: StopKind
    message: str


class Overflow(Value):
    """The conversation is too long for the model."""

    message: str


FailureAction: TypeAlias = Retry | Stop | Overflow


def classify(failure: ProviderFailure) -> FailureAction:
    if overflows(failure):
        return Overflow(message=failure.message)
    reason = retry_reason(failure)
    if reason is not None:
        return Retry(reason=reason, status=failure.status, headers=failure.headers, text=failure.body or "")
    return Stop(kind=_stop_kind(failure), message=failure.message)


def retry_delay(
    attempt: int,
    headers: Mapping[str, str] | None,
    now: datetime,
    jitter: float,
    first: float = INITIAL_DELAY,
    text: str = "",
) -> float:
    """Seconds to wait after the n-th failure; the server's hint, in its headers or its `text`, wins, without jitter."""
    hinted = hinted_seconds(headers or {}, text, now)
    if hinted is not None:
        return min(hinted, MAX_DELAY)
    guessed = first * BACKOFF_FACTOR ** (attempt - 1) * (1 + JITTER * jitter)
    return min(guessed, MAX_DELAY_WITHOUT_HEADERS if headers is None else MAX_DELAY)


def overflows(failure: ProviderFailure) -> bool:
    """Whether the context is too long; throttling providers count tokens, too."""
    if failure.code == "context_length_exceeded":
        return True
    if failure.status in _THROTTLED or failure.code in THROTTLING_CODES or NOT_OVERFLOW_PHRASES.search(failure.message):
        return False
    return failure.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or bool(OVERFLOW_PHRASES.search(failure.message))


def retry_reason(failure: ProviderFailure) -> str | None:
    """Why asking again may help, in a few words; None if it does not."""
    if failure.code in NON_RETRYABLE_CODES or overflows(failure) or _quota_is_used_up(failure):
        return None
    passing = (
        failure.retryable
        or failure.code in THROTTLING_CODES
        or (failure.status or 0) >= HTTPStatus.INTERNAL_SERVER_ERROR
    )
    if passing or _looks_retryable(failure):
        return "Provider is overloaded" if "Overloaded" in failure.message else failure.message
    return _untyped_reason(failure)


def _looks_retryable(failure: ProviderFailure) -> bool:
    return any(RETRYABLE_PHRASES.search(text) for text in (failure.message, failure.body or ""))


def from_response(
    provider: str, status: int, message: str, body: str | None, headers: Mapping[str, str] | None, retryable: bool
) -> ProviderFailure:
    """`retryable`: what the transport makes of the response's status."""
    return ProviderFailure(
        provider=provider,
        message=_readable_message(message, status, body),
        status=status,
        code=_code(body),
        body=body,
        headers=None if headers is None else dict(headers),
        retryable=retryable or (status == HTTPStatus.NOT_FOUND and provider.startswith("openai")),
    )


def from_stream(provider: str, error: object) -> ProviderFailure | None:
    """The failure in a stream's error event; None for other events."""
    event = _error_event(error)
    if event is None:
        return None
    inner = event.get("error")
    error_object: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    code = error_object.get("code")
    known = STREAM_MESSAGES.get(code) if isinstance(code, str) else None
    message = error_object.get("message")
    return ProviderFailure(
        provider=provider,
        message=known
        or (message + _upstream_error(error_object) if isinstance(message, str) and message else "Server error."),
        code=code if isinstance(code, str) else None,
        body=json.dumps(event, separators=(",", ":"), ensure_ascii=False),
        retryable=code not in NON_RETRYABLE_CODES,
    )


def status_phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"HTTP {status}"


def error_message(body: str) -> str | None:
    """The provider's own message, if it is in a usual place."""
    error_object = _error_object(body)
    for text in (error_object.get("message"), error_object.get("error")):
        if isinstance(text, str) and text:
            return text + _upstream_error(error_object)
    return None


def _upstream_error(error_object: Mapping[str, Any]) -> str:
    """OpenRouter has the name and words of the provider behind it in `metadata`."""
    inner = error_object.get("metadata")
    metadata: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    raw = metadata.get("raw")
    if not isinstance(raw, str) or not raw.strip():
        return ""
    name = metadata.get("provider_name") or "the provider behind it"
    return f" ({name}: {error_message(raw) or raw.strip()})"


def _readable_message(message: str, status: int, body: str | None) -> str:
    if not message:
        return body or status_phrase(status)
    if message != status_phrase(status) or not body:
        return message
    if HTML_START.match(body):
        return f"{message}: {GATEWAY_MESSAGES[status]}" if status in GATEWAY_MESSAGES else message
    return f"{message}: {error_message(body) or body}"


def _code(body: str | None) -> str | None:
    code = _error_object(body or "").get("code")
    return code if isinstance(code, str) else None


def _error_object(body: str) -> Mapping[str, Any]:
    content = _json(body)
    if not isinstance(content, dict):
        return {}
    inner = content.get("error")
    return inner if isinstance(inner, dict) else content


def _error_event(error: object) -> Mapping[str, Any] | None:
    event = _json(error) if isinstance(error, str) else error
    if not isinstance(event, dict):
        return None
    if event.get("type") == "error":
        return event
    message = event.get("message")
    return _error_event(message) if isinstance(message, str) else None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _quota_is_used_up(failure: ProviderFailure) -> bool:
    if failure.code in QUOTA_CODES or failure.status == HTTPStatus.PAYMENT_REQUIRED:
        return True
    return any(QUOTA_PHRASES.search(text) for text in (failure.message, failure.body or ""))


def _untyped_reason(failure: ProviderFailure) -> str | None:
    if failure.status is not None or not isinstance(_json(failure.message), dict):
        return None
    if "too_many_requests" in failure.message:
        return "Too Many Requests"
    overloaded = any(word in failure.message for word in ("exhausted", "unavailable"))
    return "Provider is overloaded" if overloaded else None


def _stop_kind(failure: ProviderFailure) -> StopKind:
    if _quota_is_used_up(failure):
        return StopKind.QUOTA
    if AUTH_PHRASES.search(failure.message):
        return StopKind.AUTH
    if failure.code in CONTENT_CODES:
        return StopKind.CONTENT
    if failure.code == UNSENT:
        return StopKind.UNSENT
    return _STOPS.get(failure.status or 0, StopKind.BAD_REQUEST)
