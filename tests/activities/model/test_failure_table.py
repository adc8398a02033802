"""Each row of the table of failures, by what providers have sent."""

import json
from typing import Any, get_args

import pytest
from openai.types.responses import ResponseError

from activities.model.failure_table import TABLE, Action, Remedy, Row, StopKind
from activities.model.failures import Overflow, Retry, Stop, classify, error_message, from_reported, from_response
from workflows.domain.provider_failure import ProviderFailure

_BUSY = "Rate limit reached for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, "
_LARGE = "Request too large for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Requested 41000. The "
_SPENT = "Your newly created team doesn't have any credits: it has used all available credits or reached its monthly "
_SCHEMA = '{"error": {"code": 400, "message": "Unknown name \\"text\\"", "status": "INVALID_ARGUMENT"}}'
_DAY = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}


def openai(message: str, code: str | None = None, type: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": type, "param": None, "code": code}}


def anthropic(type: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": type, "message": message}}


def google(code: int, status: str, message: str, *details: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def openrouter(code: int, message: str, raw: str | None = None) -> dict[str, Any]:
    metadata = {"metadata": {"raw": raw, "provider_name": "Google"}} if raw else {}
    return {"error": {"message": message, "code": code, **metadata}}


RESPONSES: list[tuple[str, int, Any, Action]] = [
    # too long
    ("openai", 400, openai("This model's maximum context …", "context_length_exceeded"), Remedy.COMPACT),
    ("openai", 429, openai(_LARGE, "rate_limit_exceeded", "tokens"), Remedy.COMPACT),
    ("groq", 413, openai(_LARGE, "rate_limit_exceeded", "tokens"), Remedy.COMPACT),
    ("anthropic", 400, anthropic("invalid_request_error", "prompt is too long: 3 tokens > 2 maximum"), Remedy.COMPACT),
    ("anthropic", 413, anthropic("request_too_large", "Request exceeds the maximum size"), Remedy.COMPACT),
    ("anthropic", 400, "input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000", Remedy.COMPACT),
    ("zai", 400, openai("Prompt 超长", "1261"), Remedy.COMPACT),
    ("cohere", 400, {"message": "too many tokens: max tokens must be less than 4096"}, StopKind.BAD_REQUEST),
    # the account
    ("openai", 429, openai("You exceeded your current quota", "insufficient_quota"), StopKind.QUOTA),
    ("anthropic", 400, anthropic("invalid_request_error", "Your credit balance is too low …"), StopKind.QUOTA),
    (
        *("anthropic", 400),
        anthropic(
            "invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2"
        ),
        StopKind.QUOTA,
    ),
    (
        *("anthropic", 429),
        anthropic("rate_limit_error", "Extra usage is required for long context requests."),
        StopKind.QUOTA,
    ),
    ("deepseek", 402, openai("Insufficient Balance", "invalid_request_error"), StopKind.QUOTA),
    ("gemini", 429, google(429, "RESOURCE_EXHAUSTED", "You exceeded …", {"violations": [_DAY]}), StopKind.QUOTA),
    ("gemini", 429, google(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted. …"), StopKind.QUOTA),
    (
        *("gemini", 429),
        google(429, "RESOURCE_EXHAUSTED", "Your project has exceeded its monthly spending cap."),
        StopKind.QUOTA,
    ),
    ("openrouter", 402, openrouter(402, "Insufficient credits. Add more …"), StopKind.QUOTA),
    ("openrouter", 403, openrouter(403, "Key limit exceeded (total limit)."), StopKind.QUOTA),
    ("xai", 403, {"code": "The caller has no permission", "error": _SPENT}, StopKind.QUOTA),
    ("moonshot", 429, openai("Your account is suspended", None, "exceeded_current_quota_error"), StopKind.QUOTA),
    ("openai", 401, openai("Incorrect API key provided.", "invalid_api_key"), StopKind.AUTH),
    ("gemini", 400, google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), StopKind.AUTH),
    ("mistral", 401, {"detail": "Unauthorized"}, StopKind.AUTH),
    (
        *("gemini", 400),
        google(400, "INVALID_ARGUMENT", "API key expired. Please renew it.", {"reason": "API_KEY_INVALID"}),
        StopKind.AUTH,
    ),
    # the request
    ("openrouter", 403, openrouter(403, "Your input was flagged."), StopKind.CONTENT),
    ("openai", 403, openai("Stopped for review.", "misalignment_policy_violation"), StopKind.CONTENT),
    ("openai", 400, openai("It was flagged for cybersecurity.", "cyber_policy_violation"), StopKind.CONTENT),
    ("azure", 400, openai("The response was filtered …", "content_filter", ""), StopKind.CONTENT),
    ("dashscope", 400, openai("<400> InternalError.Algo.DataInspectionFailed: Input …"), StopKind.CONTENT),
    ("openai", 404, openai("The model `x` does not exist", "model_not_found"), StopKind.NOT_FOUND),
    ("openai", 404, openrouter(404, "No endpoints found that support tool use."), StopKind.NOT_FOUND),
    (
        *("azure", 404),
        openai("The API deployment does not exist. Please wait a moment and try again.", "DeploymentNotFound"),
        StopKind.NOT_FOUND,
    ),
    ("anthropic", 404, anthropic("not_found_error", "model: claude-x"), StopKind.NOT_FOUND),
    ("openai", 400, openai("Invalid prompt: it was flagged …", "invalid_prompt"), StopKind.BAD_REQUEST),
    ("openrouter", 400, openrouter(400, "Provider returned error", _SCHEMA), StopKind.BAD_REQUEST),
    ("openai", 400, openai("Unknown parameter: 'x'.", "unknown_parameter"), StopKind.BAD_REQUEST),
    ("anthropic", 400, anthropic("invalid_request_error", "messages.500.content.0: wrong"), StopKind.BAD_REQUEST),
    # throttling
    ("openai", 429, openai(_BUSY, "rate_limit_exceeded", "tokens"), Remedy.WAIT),
    ("bedrock", 429, {"message": "Too many tokens, please wait before trying again."}, Remedy.WAIT),
    ("anthropic", 529, anthropic("overloaded_error", "Overloaded"), Remedy.WAIT),
    (
        "groq",
        413,
        openai("Request too large on tokens per minute (TPM): Limit 6000", "rate_limit_exceeded"),
        Remedy.WAIT,
    ),
    ("own", 400, openai("Rate limit: too many tokens"), Remedy.FEW),
    ("own", 413, openai("The body is large."), Remedy.COMPACT),
    # what may pass
    ("groq", 400, openai("Failed to call a function.", "tool_use_failed"), Remedy.FEW),
    ("openai", 404, openai("boom"), Remedy.FEW),
    ("bedrock", 424, {"message": "The model failed."}, Remedy.WAIT),
    ("bedrock", 424, {"message": "The model failed.", "originalStatusCode": 503}, Remedy.WAIT),
    ("bedrock", 424, {"message": "The model failed.", "originalStatusCode": 400}, StopKind.BAD_REQUEST),
    ("bedrock", 424, {"message": "Model produced invalid sequence as part of ToolUse."}, Remedy.FEW),
    ("bedrock", 403, {"Message": "User: me is not authorized to perform: bedrock:InvokeModel"}, StopKind.AUTH),
    ("own", 307, "<html>Server error</html>", StopKind.BAD_REQUEST),
    ("own", 500, "<html>Internal</html>", Remedy.WAIT),
    ("own", 400, "upstream: 503.", Remedy.FEW),
    ("openrouter", 400, openrouter(400, "Provider returned error", "upstream is full"), Remedy.FEW),
]
EVENTS: list[tuple[str, dict[str, Any], Action]] = [
    ("anthropic", anthropic("overloaded_error", "Overloaded"), Remedy.WAIT),
    ("anthropic", anthropic("authentication_error", "invalid x-api-key"), StopKind.AUTH),
    ("anthropic", anthropic("invalid_request_error", "messages: wrong"), StopKind.BAD_REQUEST),
    ("anthropic", anthropic("not_found_error", "model: claude-x"), StopKind.NOT_FOUND),
    ("anthropic", anthropic("request_too_large", "Request exceeds the maximum size"), Remedy.COMPACT),
    ("anthropic", anthropic("api_error", "Internal server error"), Remedy.WAIT),
    ("gemini", {"type": "error", **google(503, "UNAVAILABLE", "The model is overloaded.")}, Remedy.WAIT),
    ("openrouter", {"type": "error", **openrouter(400, "Provider returned error", _SCHEMA)}, StopKind.BAD_REQUEST),
    ("openrouter", {"type": "error", **openrouter(502, "Network connection lost.")}, Remedy.WAIT),
    ("openai", {"type": "error", **openai(_BUSY, "rate_limit_exceeded")}, Remedy.WAIT),
    ("openai", {"type": "error", **openai("It failed.", "server_error")}, Remedy.WAIT),
    ("openai", {"type": "error", **openai("It failed.", "code_of_tomorrow")}, Remedy.FEW),
    ("openai", {"type": "error", **openai("We are overloaded.", "code_of_tomorrow")}, Remedy.WAIT),
    ("openai", {"type": "error", **openai("It was flagged.", "cyber_policy")}, StopKind.CONTENT),
    ("anthropic", anthropic("timeout_error", "Too slow."), Remedy.WAIT),
    ("anthropic", anthropic("error_of_tomorrow", "No."), Remedy.FEW),
    ("own", {"type": "error", "error": "The slot is lost."}, Remedy.FEW),
    ("openai", {"type": "error", **openai("It is no image.", "invalid_image")}, StopKind.BAD_REQUEST),
    ("dashscope", {"type": "error", **openai("It may be inappropriate.", "data_inspection_failed")}, StopKind.CONTENT),
    ("zai", {"type": "error", **openai("It is unsafe.", "1301")}, StopKind.CONTENT),
    ("own", {"type": "error", "error": "Error rendering prompt with jinja template: no."}, StopKind.BAD_REQUEST),
]
PASSING_CODES = {"server_error", "rate_limit_exceeded", "vector_store_timeout", "failed_to_download_image"}
OTHERS: list[tuple[ProviderFailure, Action]] = [
    (ProviderFailure(provider="p", message="its address is none.", code="unsent", retryable=False), StopKind.UNSENT),
    (ProviderFailure(provider="p", message="It answered with a page.", code="no_stream"), Remedy.FEW),
    (ProviderFailure(provider="p", message="The answer broke off.", retryable=True), Remedy.WAIT),
    (ProviderFailure(provider="p", message="fetch failed"), Remedy.WAIT),
    (ProviderFailure(provider="p", message="Rate limit: please wait"), Remedy.WAIT),
    (ProviderFailure(provider="p", message='{"type":"too_many_requests"}'), Remedy.WAIT),
    (ProviderFailure(provider="p", message='{"code":"resource_exhausted"}'), Remedy.WAIT),
    (ProviderFailure(provider="p", message="no"), StopKind.BAD_REQUEST),
]


def answered(provider: str, status: int, body: Any) -> ProviderFailure:
    text = body if isinstance(body, str) else json.dumps(body)
    return from_response(provider, status, text, {}, message=error_message(text) or text)


FAILURES: list[tuple[ProviderFailure, Action]] = [
    *((answered(provider, status, body), action) for provider, status, body, action in RESPONSES),
    *((from_reported(provider, event["error"]), action) for provider, event, action in EVENTS),
    *OTHERS,
]


@pytest.mark.parametrize(("failure", "action"), FAILURES)
def test_what_follows_from_a_failure(failure: ProviderFailure, action: Action) -> None:
    match classify(failure):
        case Stop(kind=kind, message=message):
            assert (kind, message) == (action, failure.message)
        case Overflow():
            assert action is Remedy.COMPACT
        case Retry(few=few):
            assert action is (Remedy.FEW if few else Remedy.WAIT)


@pytest.mark.parametrize("code", get_args(ResponseError.model_fields["code"].annotation))
def test_a_code_of_openai_is_asked_again_only_if_it_may_pass(code: str) -> None:
    action = classify(from_reported("openai", {"code": code, "message": "No."}))
    assert isinstance(action, Retry) == (code in PASSING_CODES)
    assert not isinstance(action, Retry) or not action.few


def test_each_row_is_tried() -> None:
    untried = [number for number, row in enumerate(TABLE) if not any(row is first(failure) for failure, _ in FAILURES)]
    assert untried == []


def test_the_service_behind_a_gateway_is_named() -> None:
    failure = answered("openrouter", 400, openrouter(400, "Provider returned error", _SCHEMA))
    assert failure.message == 'Provider returned error (Google: Unknown name "text")'


def test_amazon_names_the_failure_in_a_header() -> None:
    named = {"X-Amzn-ErrorType": "ServiceQuotaExceededException:http://internal.amazon.com/coral/"}
    failure = from_response("bedrock", 400, "{}", named, message="Your request exceeds the quota")
    assert classify(failure) == Stop(kind=StopKind.QUOTA, message="Your request exceeds the quota")


def first(failure: ProviderFailure) -> Row:
    return next(row for row in TABLE if row.fits(failure))
