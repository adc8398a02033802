"""Anthropic's Messages."""

from typing import Any

from activities.model.endpoint import Wire
from tests.providers import anthropic_messages as service
from tests.providers import bills
from tests.providers.behaviours.script import Answer, Call, End, Failure, Output, Text, Thought
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.provider_double import ProviderDouble, event


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


_LIMITED = _error("rate_limit_error", "This request would exceed your organization's rate limit.")


class AnthropicWire(WireUnderTest):
    name = "Anthropic"
    wire = Wire.ANTHROPIC
    model = "anthropic/claude-sonnet-4-5"
    key = service.KEY
    endpoint = "/v1/messages"
    headers = {"x-api-key": service.KEY, "anthropic-version": "2023-06-01"}
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
    keep_alive = service.PING
    ends = {
        End.STOP: "end_turn",
        End.LENGTH: "max_tokens",
        End.REFUSAL: "refusal",
        End.WINDOW: "model_context_window_exceeded",
    }
    failures = {
        Failure.KEY: (401, _error("authentication_error", "invalid x-api-key")),
        Failure.CREDIT: (402, _error("billing_error", "Your credit balance is too low to access the Anthropic API.")),
        Failure.MODEL: (404, _error("not_found_error", "model: claude-sonnet-4-5")),
        Failure.TIMEOUT: (408, _error("timeout_error", "Request timed out")),
        Failure.TOO_LARGE: (413, _error("request_too_large", "Request exceeds the maximum size")),
        Failure.TOO_LONG: (400, _error("invalid_request_error", "prompt is too long: 3 tokens > 2 maximum")),
        Failure.RATE: (429, _LIMITED),
        Failure.QUOTA: (400, _error("invalid_request_error", "Your credit balance is too low to access the API.")),
        Failure.SERVER: (500, _error("api_error", "Internal server error")),
        Failure.GATEWAY: (502, "<html>Bad gateway</html>"),
        Failure.OVERLOADED: (529, _error("overloaded_error", "Overloaded")),
        Failure.IN_STREAM: (200, service.OVERLOADED),
        Failure.AS_SUCCESS: (200, event(_error("api_error", "Internal server error"), "error")),
    }
    hints = (
        ({"retry-after": "34"}, _LIMITED),
        (
            {
                "anthropic-ratelimit-requests-remaining": "3",
                "anthropic-ratelimit-requests-reset": "2026-01-01T01:00:00Z",
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:34Z",
            },
            _LIMITED,
        ),
    )

    def __init__(self) -> None:
        self.service = service.Anthropic()

    @property
    def double(self) -> ProviderDouble:
        return self.service.double

    def bill(self) -> bool:
        self.service.usage = bills.anthropic()
        return True

    def play(self, *answers: Answer) -> None:
        self.service.answers = [
            service.Answer([*map(_output, answer.output)], None if answer.end is End.STOP else self.ends[answer.end])
            for answer in answers
        ]


def _output(output: Output) -> service.Output:
    match output:
        case Thought(text):
            return service.Thought(text)
        case Text(text):
            return service.Text(text)
        case Call(name, arguments):
            return service.Call(name, arguments)
    return output
