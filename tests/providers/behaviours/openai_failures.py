"""How OpenAI's APIs fail."""

from typing import Any, Final

from tests.providers.behaviours.script import Failure


def error(message: str, code: str | None = None, kind: str = "invalid_request_error") -> dict[str, Any]:
    """The body of a failure."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


_LIMITED: Final = error("Rate limit reached for requests", "rate_limit_exceeded", "requests")
FAILURES: Final[dict[Failure, tuple[int, Any]]] = {
    Failure.KEY: (401, error("Incorrect API key provided.", "invalid_api_key")),
    Failure.MODEL: (404, error("The model does not exist or you do not have access to it.", "model_not_found")),
    Failure.TIMEOUT: (408, error("Request timed out", None, "timeout")),
    Failure.TOO_LARGE: (413, error("Request entity too large")),
    Failure.RATE: (429, _LIMITED),
    Failure.QUOTA: (429, error("You exceeded your current quota", "insufficient_quota", "insufficient_quota")),
    Failure.SERVER: (500, error("The server had an error", None, "server_error")),
    Failure.GATEWAY: (502, "<html>Bad gateway</html>"),
    Failure.OVERLOADED: (
        503,
        error("The engine is currently overloaded, try again later", None, "server_error"),
    ),
}
HINTS: Final[tuple[tuple[dict[str, str], Any], ...]] = (
    ({"retry-after-ms": "34000"}, _LIMITED),
    ({"retry-after": "34"}, _LIMITED),
    ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "34s"}, _LIMITED),
    ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "0m34s"}, _LIMITED),
    ({}, error("Rate limit reached. Please try again in 34s.", "rate_limit_exceeded")),
)
