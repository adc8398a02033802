"""OpenAI's Responses."""

from activities.model.endpoint import Wire
from tests.providers import bills
from tests.providers import openai_responses as service
from tests.providers.behaviours.openai_failures import FAILURES, HINTS, error
from tests.providers.behaviours.script import Answer, Call, End, Failure, Output, Text, Thought
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.provider_double import ProviderDouble, event


def _event(code: str, message: str) -> bytes:
    return event({"type": "error", "code": code, "message": message, "param": None, "sequence_number": 9}, "error")


class ResponsesWire(WireUnderTest):
    name = "OpenAI Responses"
    wire = Wire.RESPONSES
    model = "openai/gpt-5.3-codex"
    key = service.KEY
    endpoint = "/v1/responses"
    headers = {"authorization": f"Bearer {service.KEY}"}
    path = "/v1"
    ends = {
        End.STOP: "completed",
        End.LENGTH: "max_output_tokens",
        End.FILTER: "content_filter",
        End.REFUSAL: "refusal",
        End.WINDOW: "context_length_exceeded",
    }
    failures = {
        **FAILURES,
        Failure.TOO_LONG: (400, error("Your input exceeds the context window.", "context_length_exceeded")),
        Failure.IN_STREAM: (200, _event("server_is_overloaded", "Our servers are currently overloaded.")),
        Failure.AS_SUCCESS: (200, _event("server_error", "The server had an error.")),
    }
    hints = HINTS

    def __init__(self, double: service.OpenAI | None = None) -> None:
        self.service = double or service.OpenAI()

    @property
    def double(self) -> ProviderDouble:
        return self.service.double

    def bill(self) -> bool:
        self.service.usage = bills.openai_responses()
        return True

    def play(self, *answers: Answer) -> None:
        self.service.answers = [*map(self._answer, answers)]

    def _answer(self, answer: Answer) -> service.Answer:
        output: list[service.Output] = [*map(_output, answer.output)]
        match answer.end:
            case End.REFUSAL:
                output.append(service.Refusal("I cannot help with that."))
            case End.WINDOW:
                output.append(_event(self.ends[answer.end], "Your input exceeds the context window."))
            case End.LENGTH | End.FILTER:
                return service.Answer(output, incomplete=self.ends[answer.end])
        return service.Answer(output)


def _output(output: Output) -> service.Output:
    match output:
        case Thought(text):
            return service.Thought((text,))
        case Text(text):
            return service.Text(text)
        case Call(name, arguments):
            return service.Call(name, arguments)
    return output
