"""Mistral's chat completions."""

from typing import Final

from activities.model.endpoint import Wire
from tests.providers import bills
from tests.providers import mistral_chat as service
from tests.providers.behaviours.played import played
from tests.providers.behaviours.script import Answer, End, Failure
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.double_outputs import Answer as Played
from tests.providers.provider_double import ProviderDouble, event

_BROKEN: Final = {"object": "error", "message": "Service unavailable.", "type": "unavailable", "code": "1"}
_LIMITED: Final = service.error_body("Rate limit exceeded", "rate_limited", "1300")


class MistralWire(WireUnderTest):
    name = "Mistral"
    wire = Wire.CHAT
    model = "mistral/magistral-medium-latest"
    key = service.KEY
    endpoint = "/v1/chat/completions"
    headers = {"authorization": f"Bearer {service.KEY}"}
    path = "/v1"
    signs = False
    ends = {End.STOP: "stop", End.LENGTH: "length"}
    failures = {
        Failure.KEY: (401, {"detail": "Unauthorized"}),
        Failure.CREDIT: (402, {"detail": "Payment required"}),
        Failure.MODEL: (404, {"detail": "Not Found"}),
        Failure.TIMEOUT: (408, {"message": "Request timeout"}),
        Failure.TOO_LARGE: (413, {"message": "Request body too large"}),
        Failure.TOO_LONG: (
            400,
            service.error_body(
                "Prompt contains 140000 tokens, too large for model with 131072 maximum context length",
                "invalid_request_prompt",
                "3051",
            ),
        ),
        Failure.RATE: (429, _LIMITED),
        Failure.SERVER: (500, service.error_body("Service unavailable.", "internal_server_error", "1000")),
        Failure.GATEWAY: (502, "<html>Bad gateway</html>"),
        Failure.OVERLOADED: (503, {"message": "Service tier capacity exceeded for this model."}),
        Failure.IN_STREAM: (200, event(_BROKEN)),
        Failure.AS_SUCCESS: (200, event(_BROKEN)),
    }
    hints = (({"retry-after": "34"}, _LIMITED),)

    def __init__(self) -> None:
        self.service = service.Mistral(Played(()))

    @property
    def double(self) -> ProviderDouble:
        return self.service.double

    def bill(self) -> bool:
        self.service.usage = bills.openai_chat()
        return True

    def play(self, *answers: Answer) -> None:
        self.service.answers = [
            Played([*map(played, each.output)], None if each.end is End.STOP else self.ends[each.end])
            for each in answers
        ]
