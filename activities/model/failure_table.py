"""What follows from a provider's failure: the action of the first row that fits (opencode.md 4.5)."""

import re
from collections.abc import Container
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from workflows.domain.provider_failure import ProviderFailure

UNSENT: Final = "unsent"  # our code for a request that could not be written
NO_STREAM: Final = "no_stream"  # our code for a page instead of an answer: a wrong address, a login


class StopKind(StrEnum):
    """Why asking again is useless."""

    AUTH = "auth"
    QUOTA = "quota"
    NOT_FOUND = "not-found"
    CONTENT = "content"
    BAD_REQUEST = "bad-request"
    UNSENT = "unsent"


class Remedy(StrEnum):
    """What may help."""

    WAIT = "wait"  # until the provider's hint, or longer each time; a day in all (setting)
    FEW = "few"  # the same, five times at most: it may never succeed
    COMPACT = "compact"  # a shorter conversation


Action: TypeAlias = StopKind | Remedy


@dataclass(frozen=True, slots=True)
class Row:
    """Fits a failure that has all that the row names. `status`: None is a failure without one, as within a stream.

    `codes`: words. `message`: patterns in the provider's message, with " | " between them; `anywhere`: there or in the
    body; case does not count. `passing`: by the network or the transport; `reported`: in the provider's own words, or
    by its code. `text`: for people, instead of the provider's.
    """

    action: Action
    codes: str = ""
    _: KW_ONLY
    status: Container[int | None] | None = None
    message: str = ""
    anywhere: str = ""
    provider: str = ""
    passing: bool = False
    reported: bool = False
    text: str = ""

    def fits(self, failure: ProviderFailure) -> bool:
        body = failure.body or ""
        return (
            (not self.codes or failure.code in self.codes.split())
            and (self.status is None or failure.status in self.status)
            and (bool(failure.retryable) or not self.passing)
            and (bool(body) or not self.reported)
            and failure.provider.startswith(self.provider)
            and _says(failure.message, self.message)
            and (_says(failure.message, self.anywhere) or _says(body, self.anywhere))
        )


def _says(text: str, phrases: str) -> bool:
    return any(re.search(each, text, re.IGNORECASE) for each in re.split(r"\s+\|\s+", phrases.strip()))


_REDIRECT: Final = range(300, 400)
_CLIENT: Final = range(400, 500)
_SERVER: Final = range(500, 1000)
_THROTTLED: Final = r"""
    ^(throttling error|service unavailable): | rate limit | too many requests | please wait | \bTPM\b
    | tokens per minute
"""
_TOO_LONG: Final = r"""
    (prompt|input) is too long | prompt too long | request_too_large | request entity too large
    | exceeds the (context window|available context size|limit of \d)
    | exceeds (the )?(model'?s? )?(maximum context length|maximum allowed input length)
    | input token count.*exceeds the maximum | tokens in request more than max tokens allowed
    | maximum prompt length is \d | reduce the length of the messages | maximum context length is \d
    | input (\(.*tokens\) )?is longer than the model'?s? context length | greater than the context length
    | context window exceeds limit | exceeded model token limit | context[ _]length exceeded
    | exceeds? (the )?context limit | context length (is|of) only \d | input length.*exceeds.*context length
    | exceeded (max )?context length | too large for model with \d+ maximum context length
    | prompt has [\d,]+ tokens, but the configured context size is | model_context_window_exceeded
    | prompt exceeds max length | range of input length should be
    | `inputs` (tokens \+ `max_new_tokens` must be|must have less than) | number of input tokens exceeds
    | input token count is \d+ but model only supports | longer than the maximum model length
    | too long to fit into the model | exceeded this model context window
    | input length \d+ exceeds maximum input length | must be less than the context length
    | message token length exceed model limit | (prompt tokens|token length) too long | too many tokens
    | token limit exceeded | ^4(00|13) (status code )?\(no body\)
"""
_MAY_PASS: Final = r"""
    (?<!\.)\b(429|500|502|503|504|524)\b(?!\.\w) | rate increased too quickly | rate[ _-]?limit | too many requests
    | overloaded | service unavailable | internal (server )?error | server error | provider returned error | terminated
    | fetch failed | network error | upstream connect | connection (error|refused|lost)
    | socket (closed|hang up|connection was closed) | reset before headers | getaddrinfo | ENOTFOUND | EAI_AGAIN
    | ECONNREFUSED | ECONNRESET | ETIMEDOUT | ^\s*timeout\s*$
    | (request|response|connection|network|stream|read) (timeout|timed out|time-out|time out)
    | (try|retry) your request again | resource exhausted | (try|retry) again (later|in\b)
    | (currently|temporarily) at capacity
"""
_USED_UP: Final = r"""
    credit balance is too low | insufficient[ _]balance | regain access on | Requests?PerDay | exceeded_current_quota
    | (weekly|monthly) (usage limit|limit exhausted) | extra usage is required | key limit exceeded
    | (used all available|insufficient|doesn't have any) credits | credits are depleted
    | (reached|exceeded).{0,30} spending (limit|cap)
"""

TABLE: Final = (
    # ours
    Row(StopKind.UNSENT, UNSENT),
    Row(Remedy.FEW, NO_STREAM),
    # too long, whatever else is said; 1261: Z.ai
    Row(Remedy.COMPACT, "context_length_exceeded request_too_large 1261"),
    # no limit grows by waiting: OpenAI, Groq
    Row(Remedy.COMPACT, message=r"request too large\b.*\blimit:? [\d,]+, requested:? [\d,]+"),
    # the account: OpenAI, ChatGPT, Anthropic, Moonshot, DashScope, Bedrock; then by status, and by words, of Anthropic,
    # DeepSeek, Gemini (a day's requests, prepaid credits, a month's cap), Ollama's cloud, OpenRouter, xAI
    Row(
        StopKind.QUOTA,
        "insufficient_quota usage_not_included billing_error exceeded_current_quota_error Arrearage "
        "ServiceQuotaExceededException",
    ),
    Row(StopKind.QUOTA, status={402}),
    Row(StopKind.QUOTA, anywhere=_USED_UP),
    # Gemini and xAI: status 400; MiniMax: 200
    Row(StopKind.AUTH, anywhere=r"API key not valid | API_KEY_INVALID | incorrect API key | login fail"),
    Row(StopKind.AUTH, "authentication_error permission_error", status={None}),
    # what the request is: OpenAI; DashScope; Z.ai (1301); MiniMax, of prompts and of answers
    Row(
        StopKind.CONTENT,
        "content_filter content_policy_violation image_content_policy_violation bio_policy "
        "misalignment_policy_violation data_inspection_failed DataInspectionFailed 1301 1026 1027",
    ),
    Row(StopKind.CONTENT, anywhere=r"DataInspectionFailed | \bcyber_policy"),
    Row(StopKind.CONTENT, status={403}, message=r"input was flagged"),  # OpenRouter
    Row(StopKind.NOT_FOUND, "model_not_found DeploymentNotFound"),  # OpenAI; Azure
    Row(StopKind.NOT_FOUND, "not_found_error", status={None}),  # Anthropic
    Row(StopKind.NOT_FOUND, status={404}, message=r"no endpoints|no allowed providers"),  # OpenRouter
    Row(StopKind.BAD_REQUEST, "invalid_prompt"),
    Row(StopKind.BAD_REQUEST, message=r"rendering prompt with jinja"),  # LM Studio
    Row(  # OpenAI: openai.types.responses.ResponseError
        StopKind.BAD_REQUEST,
        "data_residency_mismatch empty_image_file image_file_not_found image_file_too_large image_parse_error "
        "image_too_large image_too_small invalid_base64_image invalid_image invalid_image_format invalid_image_mode "
        "invalid_image_url unsupported_image_media_type",
        status={None},
    ),
    # throttling, whose words speak of tokens too
    Row(Remedy.WAIT, message="(?-i:Overloaded)", text="Provider is overloaded"),
    Row(Remedy.WAIT, status={429, 503, 529}),
    Row(Remedy.WAIT, "rate_limit_exceeded rate_limit_error ThrottlingException"),
    Row(Remedy.FEW, status=_CLIENT, message=_THROTTLED),
    Row(Remedy.WAIT, message=_THROTTLED),
    # too long; but no shorter conversation helps against an output limit that the model does not have: Cohere
    Row(StopKind.BAD_REQUEST, message=r"max[_ ]tokens must be less than"),
    Row(Remedy.COMPACT, status={413}),
    Row(Remedy.COMPACT, message=_TOO_LONG),
    # what may pass, and what never does although its words speak of it; first OpenRouter, of the company behind it
    Row(StopKind.BAD_REQUEST, status=_REDIRECT),
    Row(
        StopKind.BAD_REQUEST,
        status={400},
        message=r"provider returned error",
        anywhere=r"invalid | schema | unsupported | not supported",
    ),
    Row(StopKind.BAD_REQUEST, "invalid_request_error", status={None}),
    Row(Remedy.FEW, "tool_use_failed"),  # Groq: a malformed call
    Row(Remedy.FEW, message=r"invalid sequence as part of ToolUse"),  # Nova: the same
    Row(Remedy.FEW, status={404}, provider="openai"),
    Row(Remedy.WAIT, status={408, 409, 424, 425}),  # 424: a model of Bedrock's failed
    Row(Remedy.WAIT, status=_SERVER),
    Row(Remedy.FEW, status=_CLIENT, anywhere=_MAY_PASS),
    Row(Remedy.WAIT, anywhere=_MAY_PASS),
    Row(  # within a stream: OpenAI and gateways, Anthropic, Bedrock
        Remedy.WAIT,
        "server_error internal_error internal_server_error slow_down flex_unavailable service_unavailable "
        "service_unavailable_error timeout request_timeout vector_store_timeout failed_to_download_image api_error "
        "timeout_error InternalServerException ServiceUnavailableException ModelNotReadyException "
        "ModelStreamErrorException ModelTimeoutException",
        status={None},
    ),
    Row(Remedy.FEW, status={None}, passing=True, reported=True),  # by a code or in words that are not known here
    Row(Remedy.WAIT, passing=True),
    Row(Remedy.WAIT, status={None}, message=r"^\s*\{.*(?-i:too_many_requests)", text="Too Many Requests"),
    Row(Remedy.WAIT, status={None}, message=r"^\s*\{.*(?-i:exhausted|unavailable)", text="Provider is overloaded"),
    # all else
    Row(StopKind.AUTH, status={401, 403}),
    Row(StopKind.NOT_FOUND, status={404}),
    Row(StopKind.BAD_REQUEST),
)
# of an error within a stream; all others may pass
STOPPING_CODES: Final = frozenset(
    code for row in TABLE if isinstance(row.action, StopKind) for code in row.codes.split()
)
