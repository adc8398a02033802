"""Ollama's own protocol."""

from typing import Final

from activities.model.endpoint import Wire
from tests.providers import ollama_chat as service
from tests.providers.behaviours.played import played
from tests.providers.behaviours.script import Answer, End, Failure
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.double_outputs import Answer as Played
from tests.providers.provider_double import ProviderDouble

_LIMITED: Final = {"error": "you (me) have reached your session usage limit, please wait or upgrade to continue"}
_SPENT: Final = {
    "error": "you (me) have reached your weekly usage limit, upgrade for higher limits: https://ollama.com/upgrade"
}


class OllamaWire(WireUnderTest):
    name = "Ollama"
    wire = Wire.OLLAMA
    model = "ollama_chat/qwen3-vl"
    key = "k"
    endpoint = "/api/chat"
    headers = {}
    signs = False
    caches = False
    ends = {End.STOP: "stop", End.LENGTH: "length"}
    failures = {
        Failure.KEY: (401, {"error": "unauthorized", "signin_url": "https://ollama.com/connect?name=me&key=x"}),
        Failure.MODEL: (404, {"error": "model 'qwen3-vl' not found"}),
        Failure.TOO_LONG: (400, {"error": service.RULES["window"].words}),
        Failure.RATE: (429, _LIMITED),
        Failure.QUOTA: (429, _SPENT),
        Failure.SERVER: (500, {"error": "llama runner process has terminated: exit status 2"}),
        Failure.GATEWAY: (502, "<html>Bad gateway</html>"),
        Failure.OVERLOADED: (503, {"error": "server busy, please try again.  maximum pending requests exceeded"}),
        Failure.IN_STREAM: (200, service.error_line("an error was encountered while running the model")),
        Failure.AS_SUCCESS: (200, service.error_line("model runner has unexpectedly stopped")),
    }
    hints = ()

    def __init__(self) -> None:
        self.service = service.Ollama(Played(()), ids=True)

    @property
    def double(self) -> ProviderDouble:
        return self.service.double

    def play(self, *answers: Answer) -> None:
        self.service.answers = [Played([*map(played, each.output)], self.ends[each.end]) for each in answers]
