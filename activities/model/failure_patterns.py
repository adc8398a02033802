"""The codes and phrases that identify a provider's failure (opencode.md 4.5)."""

import re
from typing import Final

QUOTA_CODES: Final = frozenset({"insufficient_quota", "usage_not_included"})
QUOTA_PHRASES: Final = re.compile(r"credit balance is too low|insufficient[ _]balance|Requests?PerDay", re.IGNORECASE)
AUTH_PHRASES: Final = re.compile(r"API key not valid|API_KEY_INVALID", re.IGNORECASE)
CONTENT_CODES: Final = frozenset({"content_filter", "content_policy_violation"})
THROTTLING_CODES: Final = frozenset({"rate_limit_exceeded", "ThrottlingException"})
UNSENT: Final = "unsent"  # our code for a request that could not be written
NON_RETRYABLE_CODES: Final = QUOTA_CODES | CONTENT_CODES | {"invalid_prompt", "model_not_found", UNSENT}

STREAM_MESSAGES: Final = {
    "context_length_exceeded": "Input exceeds context window of this model",
    "insufficient_quota": "Quota exceeded. Check your plan and billing details.",
    "usage_not_included": "To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.",
}
HTML_START: Final = re.compile(r"\s*<(!doctype|html)", re.IGNORECASE)
GATEWAY_MESSAGES: Final = {
    401: "request was blocked by a gateway or proxy. Your authentication token may be missing or expired — try "
    "running `holdfast auth login <your provider URL>` to re-authenticate.",
    403: "a gateway or proxy refused the request. Check that your account may use this model, and the base URL.",
}

OVERFLOW_PHRASES: Final = re.compile(
    r"""
    (prompt|input)\ is\ too\ long | prompt\ too\ long | request_too_large | request\ entity\ too\ large
    | exceeds\ the\ (context\ window|available\ context\ size|limit\ of\ \d)
    | exceeds\ (the\ )?(model'?s?\ )?(maximum\ context\ length|maximum\ allowed\ input\ length)
    | input\ token\ count.*exceeds\ the\ maximum | tokens\ in\ request\ more\ than\ max\ tokens\ allowed
    | maximum\ prompt\ length\ is\ \d | reduce\ the\ length\ of\ the\ messages | maximum\ context\ length\ is\ \d
    | input\ \(.*tokens\)\ is\ longer\ than\ the\ model'?s?\ context\ length | greater\ than\ the\ context\ length
    | context\ window\ exceeds\ limit | exceeded\ model\ token\ limit | context[ _]length\ exceeded
    | exceeds?\ (the\ )?context\ limit | context\ length\ is\ only\ \d | input\ length.*exceeds.*context\ length
    | exceeded\ (max\ )?context\ length | too\ large\ for\ model\ with\ \d+\ maximum\ context\ length
    | prompt\ has\ [\d,]+\ tokens,\ but\ the\ configured\ context\ size\ is | model_context_window_exceeded
    | too\ many\ tokens | token\ limit\ exceeded | ^4(00|13)\ (status\ code\ )?\(no\ body\)
    """,
    re.IGNORECASE | re.VERBOSE,
)
NOT_OVERFLOW_PHRASES: Final = re.compile(
    r"^(throttling error|service unavailable):|rate limit|too many requests|please wait|\bTPM\b|tokens per minute",
    re.IGNORECASE,
)
RETRYABLE_PHRASES: Final = re.compile(
    r"""
    \b(429|500|502|503|504|524)\b | rate\ increased\ too\ quickly | rate[ _-]?limit | too\ many\ requests
    | overloaded | service\ unavailable | internal\ (server\ )?error | server\ error | provider\ returned\ error
    | terminated | fetch\ failed | network\ error | upstream\ connect | connection\ (error|refused|lost)
    | socket\ (closed|hang\ up|connection\ was\ closed) | reset\ before\ headers | getaddrinfo | ENOTFOUND | EAI_AGAIN
    | ECONNREFUSED | ECONNRESET | ETIMEDOUT | ^\s*timeout\s*$
    | (request|response|connection|network|stream|read)\ (timeout|timed\ out|time-out|time\ out)
    | (try|retry)\ your\ request\ again | resource\ exhausted | (try|retry)\ again\ (later|in\b)
    | (currently|temporarily)\ at\ capacity
    """,
    re.IGNORECASE | re.VERBOSE,
)
