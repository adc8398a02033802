"""A provider's failure: what it was, and what to do about it: wait and ask again, compact, or stop.

Rules and constants: opencode.md 4.5. Retrying itself is the engine's work.
"""

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from activities.model.failure_words import (
    CONTENT_CODES,
    FINAL_CODES,
    GATEWAY,
    HTML,
    NO_OVERFLOW,
    OVERFLOW,
    QUOTA_CODES,
    STREAM_MESSAGES,
    TELLTALE,
    THROTTLING_CODES,
    UNSENT,
)
from workflows.domain.errors import HoldfastError
from workflows.domain.value import Value

INITIAL_DELAY: Final = 2.0  # seconds
FACTOR: Final = 2.0
JITTER: Final = 0.25
LONGEST_BLIND_DELAY: Final = 30.0  # seconds, where the failure brought no headers
LONGEST_DELAY: Final = (2**31 - 1) / 1000  # seconds
_THROTTLED: Final = frozenset({429, 503, 529})
_STEEPEST: Final = 8  # from this attempt on the delay grows no more: we never give up after a few tries


class ProviderFailure(Value):
    """What went wrong, as far as the provider or the network told.

    `status` and `headers` are those of the HTTP response, None without one. `code` is the provider's word for the
    error. `retryable` is what the transport thinks of it, None where nobody knows. `unreached` is why there was not
    even a connection, in a few words; None where there was one. `begun`: the answer had begun, and is paid. `quote` is
    what came instead of an answer, whole: it stands behind the message as soon as no secret is left in it.
    """

    provider: str
    message: str
    status: int | None = None
    code: str | None = None
    body: str | None = None
    headers: dict[str, str] | None = None
    retryable: bool | None = None
    unreached: str | None = None
    quote: str | None = None
    begun: bool = False


class ModelError(HoldfastError):
    """A model could not be asked, or did not finish its answer."""

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Retry(Value):
    """Ask again after a while; `reason` is a few words for watchers."""

    reason: str
    status: int | None = None
    headers: dict[str, str] | None = None

    def wait(self, attempt: int, now: datetime, jitter: float, first: float = INITIAL_DELAY) -> float:
        """Seconds until the next attempt; `attempt` counts failures from 1, `jitter` is between 0 and 1.

        `first` is the shortest pause where the provider does not say when to come back.
        """
        return delay(min(attempt, _STEEPEST), self.headers, now, jitter, first)


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


Posture: TypeAlias = Retry | Stop | Overflow


def posture(failure: ProviderFailure) -> Posture:
    """What to do about a failure."""
    if overflows(failure):
        return Overflow(message=failure.message)
    reason = retry_reason(failure)
    if reason is not None:
        return Retry(reason=reason, status=failure.status, headers=failure.headers)
    return Stop(kind=_stop_kind(failure), message=failure.message)


def delay(
    attempt: int, headers: Mapping[str, str] | None, now: datetime, jitter: float, first: float = INITIAL_DELAY
) -> float:
    """Seconds to wait after the n-th failure; a hint of the server wins, and is not jittered."""
    hinted = _hint({name.lower(): value for name, value in (headers or {}).items()}, now)
    if hinted is not None:
        return min(hinted, LONGEST_DELAY)
    guessed = first * FACTOR ** (attempt - 1) * (1 + JITTER * jitter)
    return min(guessed, LONGEST_BLIND_DELAY if headers is None else LONGEST_DELAY)


def overflows(failure: ProviderFailure) -> bool:
    """Whether the failure says that the context is too long; a provider that throttles counts tokens, too."""
    if failure.code == "context_length_exceeded":
        return True
    if failure.status in _THROTTLED or failure.code in THROTTLING_CODES or NO_OVERFLOW.search(failure.message):
        return False
    return failure.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or bool(OVERFLOW.search(failure.message))


def retry_reason(failure: ProviderFailure) -> str | None:
    """Why asking again may help, in a few words; None when it does not."""
    if failure.code in FINAL_CODES or overflows(failure):
        return None
    passing = (
        failure.retryable
        or failure.code in THROTTLING_CODES
        or (failure.status or 0) >= HTTPStatus.INTERNAL_SERVER_ERROR
    )
    if passing or _telltale(failure):
        return "Provider is overloaded" if "Overloaded" in failure.message else failure.message
    return _untyped_reason(failure)


def _telltale(failure: ProviderFailure) -> bool:
    return any(TELLTALE.search(text) for text in (failure.message, failure.body or ""))


def from_response(
    provider: str, status: int, message: str, body: str | None, headers: Mapping[str, str] | None, retryable: bool
) -> ProviderFailure:
    """The failure that an HTTP response tells; `retryable` is what its status means to the transport."""
    return ProviderFailure(
        provider=provider,
        message=_words(message, status, body),
        status=status,
        code=_code(body),
        body=body,
        headers=None if headers is None else dict(headers),
        retryable=retryable or (status == HTTPStatus.NOT_FOUND and provider.startswith("openai")),
    )


def from_stream(provider: str, error: object) -> ProviderFailure | None:
    """The failure that an error event inside a stream tells; None when it is no such event."""
    event = _error_event(error)
    if event is None:
        return None
    inner = event.get("error")
    told: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    code = told.get("code")
    known = STREAM_MESSAGES.get(code) if isinstance(code, str) else None
    message = told.get("message")
    return ProviderFailure(
        provider=provider,
        message=known or (message + _behind(told) if isinstance(message, str) and message else "Server error."),
        code=code if isinstance(code, str) else None,
        body=json.dumps(event, separators=(",", ":"), ensure_ascii=False),
        retryable=code not in FINAL_CODES,
    )


def phrase(status: int) -> str:
    """What a status line says beside the number."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"HTTP {status}"


def words_of(body: str) -> str | None:
    """The provider's own words in the body of its response, if they are where one looks for them."""
    told = _error_object(body)
    for said in (told.get("message"), told.get("error")):
        if isinstance(said, str) and said:
            return said + _behind(told)
    return None


def _behind(told: Mapping[str, Any]) -> str:
    """What OpenRouter passes on of the provider behind it, whose name and words it has in `metadata`."""
    inner = told.get("metadata")
    metadata: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    raw = metadata.get("raw")
    if not isinstance(raw, str) or not raw.strip():
        return ""
    name = metadata.get("provider_name") or "the provider behind it"
    return f" ({name}: {words_of(raw) or raw.strip()})"


def _hint(headers: Mapping[str, str], now: datetime) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is not None:
        return math.ceil(seconds * 1000) / 1000
    return _until(given, now) if given else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _until(date: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
    return seconds if seconds > 0 else None


def _words(message: str, status: int, body: str | None) -> str:
    """The message for people: the provider's own, else that of the status line together with the body's."""
    if not message:
        return body or phrase(status)
    if message != phrase(status) or not body:
        return message
    if HTML.match(body):
        return f"{message}: {GATEWAY[status]}" if status in GATEWAY else message
    return f"{message}: {words_of(body) or body}"


def _code(body: str | None) -> str | None:
    code = _error_object(body or "").get("code")
    return code if isinstance(code, str) else None


def _error_object(body: str) -> Mapping[str, Any]:
    """The object of a body that tells the error: its `error`, or itself."""
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


def _untyped_reason(failure: ProviderFailure) -> str | None:
    """A failure without a status is told by the words in its JSON."""
    if failure.status is not None or not isinstance(_json(failure.message), dict):
        return None
    if "too_many_requests" in failure.message:
        return "Too Many Requests"
    overloaded = any(word in failure.message for word in ("exhausted", "unavailable"))
    return "Provider is overloaded" if overloaded else None


def _stop_kind(failure: ProviderFailure) -> StopKind:
    if failure.code in QUOTA_CODES or failure.status == HTTPStatus.PAYMENT_REQUIRED:
        return StopKind.QUOTA
    if failure.code in CONTENT_CODES:
        return StopKind.CONTENT
    if failure.code == UNSENT:
        return StopKind.UNSENT
    return _STOPS.get(failure.status or 0, StopKind.BAD_REQUEST)
