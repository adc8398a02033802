"""Google's Gemini."""

import json
from typing import Any

from activities.model.endpoint import Wire
from tests.providers import bills
from tests.providers import google_gemini as service
from tests.providers.behaviours.script import Answer, Call, End, Failure, Output, Text, Thought
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.provider_double import ProviderDouble, event


def _error(code: int, status: str, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


_RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
_PER_DAY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
}
_EXHAUSTED = "You exceeded your current quota, please check your plan and billing details."
_OVERLOADED = _error(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")


class GeminiWire(WireUnderTest):
    name = "Gemini"
    wire = Wire.GEMINI
    model = "gemini/gemini-3.1-pro-preview"
    key = service.KEY
    endpoint = "/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse"
    headers = {"x-goog-api-key": service.KEY}
    path = "/v1beta"
    ends = {
        End.STOP: "STOP",
        End.LENGTH: "MAX_TOKENS",
        End.FILTER: "SAFETY",
        End.MALFORMED: "MALFORMED_FUNCTION_CALL",
    }
    failures = {
        Failure.KEY: (400, _error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")),
        Failure.MODEL: (404, _error(404, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta")),
        Failure.TIMEOUT: (408, _error(408, "DEADLINE_EXCEEDED", "Deadline expired")),
        Failure.TOO_LARGE: (413, _error(413, "INVALID_ARGUMENT", "Request payload size exceeds the limit")),
        Failure.TOO_LONG: (
            400,
            _error(400, "INVALID_ARGUMENT", "The input token count (3) exceeds the maximum number of tokens allowed."),
        ),
        Failure.RATE: (429, _error(429, "RESOURCE_EXHAUSTED", _EXHAUSTED, _RETRY)),
        Failure.QUOTA: (429, _error(429, "RESOURCE_EXHAUSTED", _EXHAUSTED, _PER_DAY, _RETRY)),
        Failure.SERVER: (500, _error(500, "INTERNAL", "An internal error has occurred.")),
        Failure.GATEWAY: (502, "<html>Bad gateway</html>"),
        Failure.OVERLOADED: (503, _OVERLOADED),
        Failure.IN_STREAM: (200, event(_OVERLOADED)),
        Failure.AS_SUCCESS: (200, event(_error(500, "INTERNAL", "An internal error has occurred."))),
    }
    hints = (
        ({}, _error(429, "RESOURCE_EXHAUSTED", _EXHAUSTED, _RETRY)),
        ({}, _error(429, "RESOURCE_EXHAUSTED", f"{_EXHAUSTED}\nPlease retry in 34.0s.")),
    )

    def __init__(self) -> None:
        self.service = service.Gemini()

    @property
    def double(self) -> ProviderDouble:
        return self.service.double

    def bill(self) -> bool:
        self.service.usage = bills.gemini()
        return True

    def play(self, *answers: Answer) -> None:
        self.service.answers = [
            service.Answer([*map(_output, answer.output)], finish=self.ends[answer.end]) for answer in answers
        ]


def _output(output: Output) -> service.Output:
    match output:
        case Thought(text):
            return service.Thought(text)
        case Text(text):
            return service.Text(text)
        case Call(name, arguments):
            return service.Call(name, json.loads(arguments or "{}"))
    return output
