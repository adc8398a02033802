"""Classifies a provider's failure: wait and ask again, compact, or stop.

Rules and constants: opencode.md 4.5. The engine does the retrying.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from activities.model.failure_table import STOPPING_CODES, TABLE, Remedy
from activities.model.failure_table import StopKind as StopKind
from activities.model.retry_hints import hinted_seconds
from workflows.domain.provider_failure import ProviderFailure
from workflows.domain.value import Value

INITIAL_DELAY: Final = 2.0  # seconds
BACKOFF_FACTOR: Final = 2.0
JITTER: Final = 0.25
MAX_DELAY_WITHOUT_HEADERS: Final = 30.0  # seconds, unless headers say otherwise
MAX_DELAY: Final = (2**31 - 1) / 1000  # seconds
BROKEN_OFF: Final = "The answer broke off: the stream ended without a finish reason."
_MAX_BACKOFF_ATTEMPT: Final = 8  # the delay grows no more from this attempt on
_END_OF_STATUSES: Final = 600
_PASSING: Final = frozenset({408, 409, 424, 425, 429})  # besides all server errors; 424: a model of Bedrock's failed
_AMAZON_CODE: Final = "x-amzn-errortype"
_OF_CODES: Final = {  # within a stream
    "context_length_exceeded": "Input exceeds context window of this model",
    "insufficient_quota": "Quota exceeded. Check your plan and billing details.",
    "usage_not_included": "To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.",
}
_REFUSALS: Final = (400, 404, 415, 422, 500)  # the last one: llama.cpp's "image input is not supported"
_OF_FILES: Final = re.compile(  # of servers that know pictures and PDF files, and of those that know no such member
    r"(?i)\b(images?|pdf|documents?)\b|image_url|vision|multi-?modal|modalit|must be a string|unknown variant"
)
_OF_THOUGHTS: Final = re.compile(  # Anthropic, also by Bedrock, Vertex and gateways; OpenAI; Google
    r"(?i)signature`? in `?thinking|thinking`? (or `redacted_thinking` )?blocks? .*cannot be modified"
    r"|encrypted.content.*could not be verified|invalid_encrypted_content|thought signature"
)
_HTML_START: Final = re.compile(r"\s*<(!doctype|html)", re.IGNORECASE)
_OF_GATEWAYS: Final = {
    401: "request was blocked by a gateway or proxy. Your authentication token may be missing or expired — try "
    "running `holdfast auth login <your provider URL>` to re-authenticate.",
    403: "a gateway or proxy refused the request. Check that your account may use this model, and the base URL.",
}


class Retry(Value):
    """Ask again. `reason`: a few words for watchers; `text`: all that the provider wrote; `few`: a few times only;
    `thoughtless`: without the model's thoughts so far."""

    reason: str
    few: bool = False
    status: int | None = None
    headers: dict[str, str] | None = None
    text: str = ""
    thoughtless: bool = False

    def pause_seconds(self, attempt: int, now: datetime, jitter: float, first: float = INITIAL_DELAY) -> float:
        """Seconds until the next attempt; `attempt` counts failures from 1, `jitter` is between 0 and 1.

        `first`: the shortest pause if the provider names none. Its hint, in headers or text, wins, without jitter.
        """
        hinted = hinted_seconds(self.headers or {}, self.text or self.reason, now)
        if hinted is not None and (hinted > 0 or attempt == 1):  # "at once" each time would ask without a pause
            return min(hinted, MAX_DELAY)
        guessed = first * BACKOFF_FACTOR ** (min(attempt, _MAX_BACKOFF_ATTEMPT) - 1) * (1 + JITTER * jitter)
        return min(guessed, MAX_DELAY_WITHOUT_HEADERS if self.headers is None else MAX_DELAY)


class Stop(Value):
    """The turn ends with this message."""

    kind: StopKind
    message: str


class Overflow(Value):
    """The conversation is too long for the model."""

    message: str


FailureAction: TypeAlias = Retry | Stop | Overflow


def classify(failure: ProviderFailure) -> FailureAction:
    """The decision of the first row of the table that fits."""
    row = next(row for row in TABLE if row.fits(failure))
    match row.action:
        case StopKind() as kind:
            return Stop(kind=kind, message=failure.message)
        case Remedy.COMPACT:
            return Overflow(message=failure.message)
    return Retry(
        reason=row.text or failure.message,
        few=row.action is Remedy.FEW,
        status=failure.status,
        headers=failure.headers,
        text=failure.body or "",
    )


def refuses_files(failure: ProviderFailure) -> bool:
    """Whether a refusal speaks of pictures, documents, or a content that is no text."""
    return failure.status in _REFUSALS and bool(_OF_FILES.search(f"{failure.message} {failure.body}"))


def refuses_thoughts(failure: ProviderFailure) -> bool:
    """Whether a request or, within a stream, its answer is refused for earlier thoughts: those of another account or
    conversation, or changed on the way."""
    refused = failure.status in (HTTPStatus.BAD_REQUEST, None)
    return refused and bool(_OF_THOUGHTS.search(f"{failure.message} {failure.body}"))


def is_transient_status(status: int) -> bool:
    return status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def from_response(
    provider: str,
    status: int,
    body: str | None,
    headers: Mapping[str, str] | None,
    *,
    message: str = "",
    retryable: bool | None = None,
) -> ProviderFailure:
    """`message`: instead of the body's own. `retryable`: what the transport makes of it, if not by the status."""
    error, named = _error_object(body), {name.lower(): value for name, value in (headers or {}).items()}
    original = original_status(error)
    passing = is_transient_status(status) if retryable is None else retryable
    passing = passing or (status == HTTPStatus.NOT_FOUND and provider.startswith("openai"))
    return ProviderFailure(
        provider=provider,
        message=_response_message(message, status, body or ""),
        status=original or status,
        code=_code(error) or named.get(_AMAZON_CODE, "").partition(":")[0] or None,
        body=body,
        headers=None if headers is None else dict(headers),
        retryable=passing and original is None,
    )


def from_reported(provider: str, reported: Any) -> ProviderFailure:
    """The failure of an error that an event within a stream reports, in any form."""
    error = _error_object(reported)
    code, status = _code(error), _status(error)
    message = _OF_CODES.get(code or "") or object_message(error or {"message": reported})
    return ProviderFailure(
        provider=provider,
        message=message or "Server error.",
        status=status,
        code=code,
        body=json.dumps({"type": "error", "error": reported}, separators=(",", ":"), ensure_ascii=False),
        retryable=None if status else code not in STOPPING_CODES,
        quote=None if message or not reported else json.dumps(reported, ensure_ascii=False),
    )


def error_message(body: str) -> str | None:
    """The provider's own message, if it is in a usual place."""
    content = parse_body(body)
    message = object_message(_error_object(content))
    return message and message + _behind_vercel(content)


def object_message(error: Mapping[str, Any]) -> str | None:
    """The same for a parsed error. AWS's gateways and IAM write `Message`, FastAPI `detail`."""
    texts = (error.get(name) for name in ("message", "Message", "error", "detail"))
    text = next((text for text in texts if isinstance(text, str) and text), None)
    return text and text + _details(error)


def original_status(error: Mapping[str, Any]) -> int | None:
    """The status that the model behind Bedrock has answered: Bedrock's own is always 424, and none in a stream."""
    return _as_status(error.get("originalStatusCode"))


def reported_error(content: Mapping[str, Any]) -> Any:
    """The error in an object, empty if there is none; MiniMax has it in `base_resp`, with a status of 200."""
    response = content.get("base_resp")
    if isinstance(response, dict) and response.get("status_code"):
        return {"message": response.get("status_msg"), "code": str(response["status_code"])}
    return content.get("error")


def _error_object(content: Any) -> Mapping[str, Any]:
    """The error in a body, as text or parsed; empty without one."""
    content = parse_body(content) if isinstance(content, str) else content
    if isinstance(content, list) and content:  # Vertex AI's form
        content = content[0]
    if not isinstance(content, dict):
        return {}
    inner = reported_error(content)
    return inner if isinstance(inner, dict) else content


def _details(error: Mapping[str, Any]) -> str:
    """What other members say, behind the message."""
    match error:
        case {"misalignment": {"detailed_explanation": str(explanation)}} if explanation:  # OpenAI, of what it blocks
            return f" {explanation}"
        case {"originalMessage": str(original)}:  # of the model behind Bedrock
            return f" ({original})"
        case {"metadata": {"raw": str(raw), **metadata}} if raw.strip():  # of the provider behind OpenRouter
            name = metadata.get("provider_name") or "the provider behind it"
            return f" ({name}: {error_message(raw) or raw.strip()})"
    return ""


def _behind_vercel(content: Any) -> str:
    """Each message of the providers behind Vercel's gateway, once: its own may be just "Bad Request"."""
    try:
        models = content["providerMetadata"]["gateway"]["routing"]["modelAttempts"]
        tried = [each for model in models for each in model["providerAttempts"]]
        texts = dict.fromkeys(f"{each['provider']}: {each['error']}" for each in tried if each.get("error"))
    except (AttributeError, LookupError, TypeError):
        return ""
    return f" ({'; '.join(texts)})" if texts else ""


def _response_message(given: str, status: int, body: str) -> str:
    phrase = next((each.phrase for each in HTTPStatus if each == status), f"HTTP {status}")
    if given not in ("", phrase) or not body:
        return given or phrase
    own = error_message(body)
    if own and not given:
        return own
    if _HTML_START.match(body):
        return f"{phrase}: {_OF_GATEWAYS[status]}" if status in _OF_GATEWAYS else phrase
    words = own or body
    return phrase if words == phrase else f"{phrase}: {words}"


def _code(error: Mapping[str, Any]) -> str | None:
    """The error's code, in the members of OpenAI, Anthropic, and Google, whose codes are numbers."""
    codes = (error.get(name) for name in ("code", "type", "status"))
    return next((code for code in codes if isinstance(code, str) and not _as_status(code)), None)


def _status(error: Mapping[str, Any]) -> int | None:
    """The status, in the members of OpenAI and Google, of gateways, and of Groq."""
    return next(filter(None, (_as_status(error.get(name)) for name in ("code", "status", "status_code"))), None)


def _as_status(value: Any) -> int | None:
    """A status as a number: litellm's proxy writes it as text."""
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) == 3 else value
    return number if isinstance(number, int) and HTTPStatus.BAD_REQUEST <= number < _END_OF_STATUSES else None


def parse_body(text: str) -> Any:
    """None for what is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
