"""OpenAI's chat completions."""

from activities.model.endpoint import Wire
from tests.providers import bills
from tests.providers import openai_chat as service
from tests.providers.behaviours.openai_failures import FAILURES, HINTS, error
from tests.providers.behaviours.script import Answer, Call, End, Failure, Output, Text, Thought
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.provider_double import ProviderDouble, event


class ChatWire(WireUnderTest):
    name = "OpenAI chat"
    wire = Wire.CHAT
    model = "openai/gpt-4.1"
    key = service.KEY
    endpoint = "/v1/chat/completions"
    headers = {"authorization": f"Bearer {service.KEY}"}
    path = "/v1"
    thinks = False
    ends = {End.STOP: "stop", End.LENGTH: "length", End.FILTER: "content_filter", End.REFUSAL: "refusal"}
    failures = {
        **FAILURES,
        Failure.TOO_LONG: (400, error("This model's maximum context length is 2 tokens.", "context_length_exceeded")),
        Failure.IN_STREAM: (200, event(error("The server is currently overloaded", None, "server_error"))),
        Failure.AS_SUCCESS: (200, event(error("The server had an error", None, "server_error"))),
    }
    hints = HINTS

    def __init__(self, double: service.OpenAIChat | None = None) -> None:
        self.service = double or service.OpenAIChat()

    @property
    def double(self) -> ProviderDouble:
        return self.service.double

    def bill(self) -> bool:
        self.service.usage = bills.openai_chat()
        return True

    def play(self, *answers: Answer) -> None:
        self.service.answers = [*map(self._answer, answers)]

    def _answer(self, answer: Answer) -> service.Answer:
        output = [_output(each) for each in answer.output]
        if answer.end is End.REFUSAL:
            return service.Answer([*output, service.Refusal("I cannot help with that.")])
        return service.Answer(output, None if answer.end is End.STOP else self.ends[answer.end])


def _output(output: Output) -> service.Output:
    match output:
        case Text(text):
            return service.Text(text)
        case Call(name, arguments):
            return service.Call(name, arguments)
        case Thought(text):
            return service.Thought(text)
    return output
