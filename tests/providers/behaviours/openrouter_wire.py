"""OpenRouter, with one of Anthropic's models."""

from typing import Final

from activities.model.endpoint import Wire
from tests.providers import bills
from tests.providers import openrouter_chat as service
from tests.providers.behaviours.script import Answer, Call, End, Failure, Output, Text, Thought
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.double_outputs import Answer as Played
from tests.providers.double_outputs import Call as PlayedCall
from tests.providers.double_outputs import Output as PlayedOutput
from tests.providers.double_outputs import Text as PlayedText
from tests.providers.double_outputs import Thought as PlayedThought
from tests.providers.provider_double import ProviderDouble, event

_error = service.error_body
_LIMITED: Final = service.passed_on(
    "Anthropic", {"type": "error", "error": {"type": "rate_limit_error", "message": "Too many requests"}}, 429
)
_RESET: Final = {"X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1767225634000"}


class OpenRouterWire(WireUnderTest):
    name = "OpenRouter"
    wire = Wire.CHAT
    model = f"openrouter/{service.MODELS[0]}"
    key = service.KEY
    endpoint = "/api/v1/chat/completions"
    headers = {"authorization": f"Bearer {service.KEY}"}
    path = "/api/v1"
    thinking = {"reasoning": {"max_tokens": 2048}}
    keep_alive = service.PROCESSING
    ends = {
        End.STOP: "stop",
        End.LENGTH: "length",
        End.FILTER: "content_filter",
        End.REFUSAL: "refusal",
        End.WINDOW: "model_context_window_exceeded",
    }
    failures = {
        Failure.KEY: (401, _error(service.RULES["key"].words, 401)),
        Failure.CREDIT: (
            402,
            _error("Insufficient credits. Add more using https://openrouter.ai/settings/credits", 402),
        ),
        Failure.MODEL: (404, _error("No endpoints found for anthropic/claude-sonnet-4.5.", 404)),
        Failure.TIMEOUT: (408, _error("Request timed out", 408)),
        Failure.TOO_LARGE: (413, _error("Request Entity Too Large", 413)),
        Failure.TOO_LONG: (
            400,
            _error(
                "This endpoint's maximum context length is 2 tokens. However, you requested about 3 tokens. Please "
                'reduce the length of either one, or use the "middle-out" transform to compress your prompt.',
                400,
            ),
        ),
        Failure.RATE: (429, _LIMITED),
        Failure.QUOTA: (403, _error("Key limit exceeded (total limit). Manage it using your keys' settings", 403)),
        Failure.SERVER: (500, _error("Internal Server Error", 500)),
        Failure.GATEWAY: (502, "<html>Bad gateway</html>"),
        Failure.OVERLOADED: (503, _error("There is no available model provider for your routing requirements", 503)),
        Failure.IN_STREAM: (200, service.error_chunk(502, "Provider disconnected")),
        Failure.AS_SUCCESS: (200, event(_error("Provider returned error", 502))),
    }
    hints = (
        ({"retry-after": "34"}, _LIMITED),
        (_RESET, _error("Rate limit exceeded: limit_rpm", 429)),
        ({}, _error("Rate limit exceeded: free-models-per-min. ", 429, headers=_RESET)),
    )

    def __init__(self) -> None:
        self.service = service.OpenRouter()

    @property
    def double(self) -> ProviderDouble:
        return self.service.double

    def bill(self) -> bool:
        self.service.usage = bills.openrouter()
        return True

    def play(self, *answers: Answer) -> None:
        self.service.answers = [
            Played([*map(_output, each.output)], None if each.end is End.STOP else self.ends[each.end])
            for each in answers
        ]


def _output(output: Output) -> PlayedOutput:
    match output:
        case Thought(text):
            return PlayedThought(text)
        case Text(text):
            return PlayedText(text)
        case Call(name, arguments):
            return PlayedCall(name, arguments)
    return output
