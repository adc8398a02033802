"""Bedrock's ConverseStream."""

from collections.abc import Mapping
from typing import Any

from activities.model.endpoint import Wire
from tests.providers import bedrock_converse as service
from tests.providers import bills
from tests.providers import double_outputs as played
from tests.providers.behaviours.script import Answer, Call, End, Failure, Output, Text, Thought
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.event_stream_frames import event_frame
from tests.providers.provider_double import ProviderDouble

_NAMES: dict[str, str] = {}  # of errors, by their messages: the service has them in a header


def _error(name: str, message: str) -> dict[str, str]:
    _NAMES[message] = name
    return {"message": message}


_LIMITED = _error("ThrottlingException", "Too many requests, please wait before trying again.")


class BedrockWire(WireUnderTest):
    name = "Bedrock"
    wire = Wire.BEDROCK
    model = f"bedrock/{service.CLAUDE}"
    key = service.API_KEY
    endpoint = f"/model/{service.CLAUDE}/converse-stream"
    headers = {"authorization": f"Bearer {service.API_KEY}"}
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
    keep_alive = event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": ""}})
    ends = {
        End.STOP: "end_turn",
        End.LENGTH: "max_tokens",
        End.FILTER: "content_filtered",
        End.WINDOW: "model_context_window_exceeded",
        End.MALFORMED: "malformed_tool_use",
    }
    failures = {
        Failure.KEY: (403, _error("UnrecognizedClientException", "The security token in the request is invalid.")),
        Failure.MODEL: (404, _error("ResourceNotFoundException", "The model is not found.")),
        Failure.TIMEOUT: (408, _error("ModelTimeoutException", "Model has timed out in processing the request.")),
        Failure.TOO_LARGE: (413, _error("RequestEntityTooLargeException", "Request Entity Too Large")),
        Failure.TOO_LONG: (400, _error("ValidationException", "Input is too long for requested model.")),
        Failure.RATE: (429, _LIMITED),
        Failure.QUOTA: (400, _error("ServiceQuotaExceededException", "Your request exceeds your account's quota.")),
        Failure.SERVER: (500, _error("InternalServerException", "The system encountered an unexpected error.")),
        Failure.GATEWAY: (502, "<html>Bad gateway</html>"),
        Failure.OVERLOADED: (503, _error("ServiceUnavailableException", "Bedrock is unable to process your request.")),
        Failure.IN_STREAM: (200, service.OVERLOADED),
        Failure.AS_SUCCESS: (200, service.BROKEN),
    }
    hints = (({"retry-after": "34"}, _LIMITED),)

    def __init__(self) -> None:
        self.service = service.Bedrock()

    @property
    def double(self) -> ProviderDouble:
        return self.service.double

    def bill(self) -> bool:
        self.service.usage = bills.bedrock()
        return True

    def play(self, *answers: Answer) -> None:
        self.service.answers = [
            played.Answer([*map(_output, answer.output)], None if answer.end is End.STOP else self.ends[answer.end])
            for answer in answers
        ]

    def refuse(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
        name = _NAMES[body["message"]] if isinstance(body, dict) else ""
        super().refuse(status, body, {"x-amzn-errortype": f"{name}:http://internal.amazon.com/", **headers})


def _output(output: Output) -> played.Output:
    match output:
        case Thought(text):
            return played.Thought(text)
        case Text(text):
            return played.Text(text)
        case Call(name, arguments):
            return played.Call(name, arguments)
    return output
