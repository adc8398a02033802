"""What a provider's failure means."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from activities.model.failures import (
    BACKOFF_FACTOR,
    INITIAL_DELAY,
    JITTER,
    MAX_DELAY,
    MAX_DELAY_WITHOUT_HEADERS,
    Overflow,
    Retry,
    Stop,
    StopKind,
    classify,
    error_message,
    from_reported,
    from_response,
    refuses_thoughts,
)
from activities.model.request_json import parse_arguments
from activities.model.wires.chat import ChatReader
from tests.cases import Case, load
from workflows.domain.provider_failure import ProviderFailure

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
SOON = "2026-01-01T12:00:09Z"
EPOCH = f"{NOW.timestamp() + 40:.0f}"
HOLDFAST = {
    "an event that has a message in place of an answer's members is an error, in its own words": "Too many requests",
    "an event with the member `error` is an error, whatever its type": "x",
    "a message is shown as it is written, JSON or not": '{"type":"error","error":{"code":"insufficient_quota"}}',
}


@pytest.mark.parametrize("case", load("provider_errors", op="stream_error"))
def test_an_error_event_of_a_stream_is_read_as_in_the_case(case: Case) -> None:
    error = ChatReader("test").read((case.input["error"],))[1]

    assert error is not None
    if case.holdfast is None:
        assert {**shown(error.failure), "responseBody": error.failure.body} == {"isRetryable": None, **case.expected}
    else:
        assert error.failure.message == HOLDFAST[case.holdfast]


@pytest.mark.parametrize("case", load("provider_errors", op="api_error"))
def test_an_http_error_is_read_as_in_the_case(case: Case) -> None:
    error = case.input["error"]
    provider, status, body = case.input["provider"], error["statusCode"], error["responseBody"]
    failure = from_response(provider, status, body, {}, message=error["message"], retryable=error["isRetryable"])

    assert shown(failure) == {"isRetryable": None, **ours(case.expected)}


@pytest.mark.parametrize(
    ("status", "message", "refused"),
    [
        (400, "messages.1.content.0: Invalid `signature` in `thinking` block", True),  # claude-code 10627
        (400, "messages.1.content.0: Invalid signature in thinking block", True),  # openclaw 99382
        (400, "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.", True),
        (400, "The encrypted content gAAA...DQ== could not be verified.", True),  # codex 8145
        (
            None,
            "The encrypted content gAAA... could not be verified. Reason: Encrypted content organization_id did not "
            "match the target organization.",
            True,
        ),  # codex 13724
        (400, "Corrupted thought signature.", True),  # gemini-cli 13467
        (400, "Unable to submit request because Thought signature is not valid..", True),  # 9router 301
        (400, "Invalid thought signature.", True),  # Antigravity-Manager 3342
        (400, "Function call is missing a thought_signature in functionCall parts.", False),
        (400, "thinking.adaptive.block_binding: Extra inputs are not permitted", False),
        (401, "The encrypted content could not be verified.", False),
    ],
)
def test_a_refusal_of_earlier_thoughts_is_known_by_its_words(status: int | None, message: str, refused: bool) -> None:
    assert refuses_thoughts(ProviderFailure(provider="test", message=message, status=status)) == refused


@pytest.mark.parametrize("case", load("retry", op="retryable"))
def test_asking_again_is_decided_as_in_the_case(case: Case) -> None:
    name, data = case.input["error"]["name"], case.input["error"]["data"]
    failure = ProviderFailure(
        provider="test",
        message=data.get("message", ""),
        status=data.get("statusCode"),
        body=data.get("responseBody"),
        retryable=data.get("isRetryable"),
    )

    reason = None if name == "MessageAbortedError" else retry_reason(failure)
    assert {"retry": reason is not None, "message": reason} == case.expected


@pytest.mark.parametrize("case", load("retry", op="delay_ms"))
def test_the_delay_is_that_of_the_case(case: Case) -> None:
    retry = Retry(reason="x", headers=case.input["headers"])
    seconds = retry.pause_seconds(case.input["attempt"], NOW, case.input["jitter_random"])

    assert round(seconds * 1000) == case.expected


@pytest.mark.parametrize("case", load("retry", op="policy"))
def test_the_policy_has_the_constants_of_the_case_and_no_maximum(case: Case) -> None:
    constants = {
        "initial_delay_ms": INITIAL_DELAY * 1000,
        "factor": BACKOFF_FACTOR,
        "jitter_factor": JITTER,
        "max_delay_without_headers_ms": MAX_DELAY_WITHOUT_HEADERS * 1000,
        "absolute_max_delay_ms": MAX_DELAY * 1000,
    }

    assert case.expected == {**constants, "max_retries": case.expected["max_retries"]}
    assert [Retry(reason="x").pause_seconds(attempt, NOW, 0) for attempt in (6, 7, 1000)] == [30, 30, 30]


def test_a_hint_of_no_time_counts_once() -> None:
    retry = Retry(reason="Overloaded", headers={"retry-after": "0"})

    assert [retry.pause_seconds(attempt, NOW, 0) for attempt in (1, 2, 3)] == [0, 4, 8]


def test_a_delay_without_a_retry_after_stops_growing_at_minutes() -> None:
    retry = Retry(reason="Overloaded", headers={"content-type": "text/html"})

    assert retry.pause_seconds(8, NOW, 1) == retry.pause_seconds(100_000, NOW, 1) == 320


def test_a_date_as_hint_counts_only_while_it_lies_ahead() -> None:
    ahead = (NOW + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    past = (NOW - timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")

    assert first_pause({"Retry-After": ahead}) == 90
    assert first_pause({"Retry-After": past}) == 2


@pytest.mark.parametrize("hint", ["-1", "nan", "inf", "", "soon"])
def test_a_hint_that_is_no_time_is_ignored(hint: str) -> None:
    assert first_pause({"retry-after": hint, "retry-after-ms": hint}) == 2


def test_no_hint_waits_longer_than_a_timer_can() -> None:
    assert first_pause({"retry-after": "1e12"}) == MAX_DELAY


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, None, StopKind.AUTH),
        (403, None, StopKind.AUTH),
        (404, None, StopKind.NOT_FOUND),
        (402, None, StopKind.QUOTA),
        (429, '{"error": {"code": "insufficient_quota"}}', StopKind.QUOTA),
        (400, '{"error": {"code": "content_policy_violation"}}', StopKind.CONTENT),
        (400, None, StopKind.BAD_REQUEST),
        (422, None, StopKind.BAD_REQUEST),
    ],
)
def test_what_asking_again_cannot_mend_stops_the_turn(status: int, body: str | None, kind: StopKind) -> None:
    failure = from_response("test", status, body, {}, message="no")

    assert classify(failure) == Stop(kind=kind, message="no")


@pytest.mark.parametrize("status", [500, 502, 503, 504, 524, 529])
def test_every_server_error_is_asked_again_with_its_headers(status: int) -> None:
    failure = from_response("test", status, None, {"retry-after": "7"}, message="hm")

    assert classify(failure) == Retry(reason="hm", status=status, headers={"retry-after": "7"})


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (429, None, "Too many tokens, please wait before trying again."),
        (None, "ThrottlingException", "Too many tokens, please wait before trying again."),
        (503, None, "Too many tokens in flight"),
        (529, None, "The token limit exceeded its share"),
        (413, "rate_limit_exceeded", "Request too large for model on tokens per minute (TPM): Limit 6000"),
    ],
)
def test_throttling_is_asked_again_and_no_overflow(status: int | None, code: str | None, message: str) -> None:
    failure = ProviderFailure(provider="p", message=message, status=status, code=code, retryable=status == 429)

    assert isinstance(classify(failure), Retry)


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (429, "context_length_exceeded", "no"),
        (413, None, "no"),
        (400, None, "input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000"),
    ],
)
def test_what_is_too_long_is_an_overflow(status: int, code: str | None, message: str) -> None:
    failure = ProviderFailure(provider="p", message=message, status=status, code=code, retryable=False)

    assert isinstance(classify(failure), Overflow)


def test_a_rate_limit_that_speaks_of_tokens_is_no_overflow() -> None:
    failure = ProviderFailure(provider="test", message="Rate limit reached: too many tokens per minute", status=429)

    assert isinstance(classify(failure), Retry)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens",
        "input length and max_tokens exceed context limit: input length 9 exceeds the context length",
        "Requested token count exceeds the model's maximum context length of 131072 tokens",
        "400 status code (no body)",
        "the prompt has 12,000 tokens, but the configured context size is 8,192",
        "The model returned … errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
        "Unable to submit request because the input token count is 1251952 but model only supports up to 1048576.",
        "[address=0.0.0.0:1] The decoder prompt (length 17772) is longer than the maximum model length of 16384.",
        "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
        "5021: The estimated number of input and maximum output tokens (8810) exceeded this model context window limit",
        "Requested input length 40000 exceeds maximum input length 32768",
        "Input is longer than the model's context length.",
        "Input token count + max_tokens parameter must be less than the context length of the model being queried.",
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        "Total message token length exceed model limit (10000000 tokens).",
        "Input token length too long",
        "Prompt tokens too long",
    ],
)
def test_an_overflow_is_known_by_its_words(message: str) -> None:
    failure = ProviderFailure(provider="test", message=message, status=400)

    assert classify(failure) == Overflow(message=message)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"type":"error","error":{"type":"too_many_requests"}}', "Too Many Requests"),
        ('{"code":"resource_exhausted"}', "Provider is overloaded"),
        ("Overloaded", "Provider is overloaded"),
    ],
)
def test_a_failure_without_a_status_has_a_plain_reason(text: str, reason: str) -> None:
    assert retry_reason(ProviderFailure(provider="test", message=text)) == reason


def test_a_404_of_openai_is_asked_again() -> None:
    assert from_response("openai", 404, None, {}).retryable


def test_a_page_of_a_gateway_is_not_shown_as_it_stands() -> None:
    failure = from_response("test", 403, "<html><body>secret portal</body></html>", {})

    assert "gateway or proxy" in failure.message
    assert "portal" not in failure.message


def test_the_words_of_the_providers_behind_vercels_gateway_are_shown_and_count() -> None:
    long = "prompt is too long: 3 tokens > 2 maximum"
    tried = [{"provider": name, "error": text} for name, text in (("anthropic", long), ("bedrock", "Bad Request"))]
    routing = {"modelAttempts": [{"providerAttempts": [*tried, {**tried[0], "credentialType": "system"}]}]}
    body = json.dumps({"error": {"message": "Bad Request"}, "providerMetadata": {"gateway": {"routing": routing}}})
    message = error_message(body)

    assert message == f"Bad Request (anthropic: {long}; bedrock: Bad Request)"
    assert isinstance(classify(from_response("vercel", 400, body, {})), Overflow)


def retry_reason(failure: ProviderFailure) -> str | None:
    action = classify(failure)
    return action.reason if isinstance(action, Retry) else None


def first_pause(headers: dict[str, str], text: str = "") -> float:
    return Retry(reason="x", headers=headers or None, text=text).pause_seconds(1, NOW, 0)


def shown(failure: ProviderFailure) -> dict[str, Any]:
    if isinstance(classify(failure), Overflow):
        return {"type": "context_overflow", "message": failure.message, "isRetryable": None}
    return {"type": "api_error", "message": failure.message, "isRetryable": failure.retryable}


def ours(expected: dict[str, Any]) -> dict[str, Any]:
    """The hint to log in names this program."""
    return {**expected, "message": expected["message"].replace("`opencode ", "`holdfast ")}


BEHIND = [
    ('{"error": {"message": "Bad schema", "code": 400}}', "Provider returned error (Google: Bad schema)"),
    ("upstream is full", "Provider returned error (Google: upstream is full)"),
    ("", "Provider returned error"),
    ({"error": 1}, "Provider returned error"),
]


@pytest.mark.parametrize(("raw", "said"), BEHIND)
def test_the_error_of_the_provider_behind_openrouter_is_shown(raw: object, said: str) -> None:
    metadata = {"raw": raw, "provider_name": "Google"}
    error = {"message": "Provider returned error", "code": 400, "metadata": metadata}

    failure = from_reported("openrouter", error)

    assert error_message(json.dumps({"error": error})) == said
    assert failure.message == said


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({}, "Please try again in 500ms.", 0.5),
        ({}, "Please try again in 6m0s.", 360),
        ({}, '{"retryDelay": "34.5s"}', 34.5),
        ({"retry-after": "3"}, "Please try again in 6m0s.", 3),
        ({"x-ratelimit-remaining-tokens": "7", "x-ratelimit-reset-tokens": "6m0s"}, "", 2),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "soon"}, "", 2),
        ({}, "Try again in a while.", 2),
        ({}, '{"retryDelay": "0s"}', 2),
        ({}, "Please retry after 34 seconds.", 34),
        ({}, f'{{"headers": {{"X-RateLimit-Reset": "{(NOW.timestamp() + 40) * 1000:.0f}"}}}}', 40),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "34"}, "", 34),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "0"}, "", 2),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{(NOW.timestamp() + 40) * 1000:.0f}"}, "", 40),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{NOW.timestamp() + 40:.0f}"}, "", 40),
        ({"x-ratelimit-remaining": "3", "x-ratelimit-reset": f"{NOW.timestamp() + 40:.0f}"}, "", 2),
        ({}, "Please try again in 20.5s. Visit https://platform.openai.com", 20.5),
        ({}, "Please try again in 1m26.4s. Need more tokens?", 86.4),  # Groq
        ({}, "exceeded token rate limit of your current S0 pricing tier. Please retry after 26 seconds.", 26),  # Azure
        ({}, "Please retry in 34.074824224s.", 34.074824224),  # Gemini
        ({}, "Please try again in 3 minutes", 180),
        ({}, f'{{"headers":{{"X-RateLimit-Reset":"{(NOW.timestamp() + 40) * 1000:.0f}"}}}}', 40),  # OpenRouter
        ({}, '{"metadata":{"headers":{"X-RateLimit-Reset":"1741305600000"}}}', 2),
        (
            {
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-reset": "2026-01-01T12:00:09Z",
            },
            "",
            9,
        ),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, "", 360),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2025-01-01T00:00:00Z"}, "", 2),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "nan"}, "", 2),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "-40"}, "", 2),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" * 20}, "", MAX_DELAY),
        ({}, "Rate limited. Please try again in 1 minute 5 seconds.", 65),
        ({}, "Please retry after 1 hour, 2 minutes and 3 seconds, or later.", 3723),
        ({"anthropic-priority-input-tokens-remaining": "0", "anthropic-priority-input-tokens-reset": SOON}, "", 9),
        ({"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": EPOCH}, "", 40),
        ({"anthropic-ratelimit-unified-status": "allowed", "anthropic-ratelimit-unified-reset": EPOCH}, "", 2),
        ({"ratelimitbysize-remaining": "0", "ratelimitbysize-reset": "34"}, "", 34),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "34"}, "", 34),
        ({"ratelimit": '"minute";r=3;t=7, "day";r=0;t=34'}, "", 34),
        ({"ratelimit": '"minute";r=3;t=7'}, "", 2),
        ({"retry-after": "0001-01-01T00:00:00+23:59"}, "", 2),
        ({"retry-after": "Mon, 01 Jan 9999 00:00:00 GMT"}, "", MAX_DELAY),
    ],
)
def test_a_hint_is_found_wherever_a_provider_writes_it(headers: dict[str, str], text: str, seconds: float) -> None:
    assert first_pause(headers, text) == seconds


def test_json_that_is_nested_too_deeply_is_read_as_none() -> None:
    failure = from_response("own", 503, "[" * 16_000, {})
    assert isinstance(classify(failure), Retry)
    assert parse_arguments("[" * 16_000) == {"arguments": "[" * 16_000}
