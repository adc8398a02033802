"""OpenAI's models at Azure: chat completions and Responses."""

from typing import Any, Final

from tests.providers import azure_openai as service
from tests.providers.behaviours.chat_wire import ChatWire
from tests.providers.behaviours.responses_wire import ResponsesWire
from tests.providers.behaviours.script import Failure
from tests.providers.provider_double import event

_error = service.error_body
_LIMITED: Final = _error(
    "429",
    "Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded token rate limit of your "
    "current OpenAI S0 pricing tier. Please retry after 34 seconds.",
)
_FAILURES: Final[dict[Failure, tuple[int, Any]]] = {
    Failure.KEY: (401, _error("401", service.RULES["key"].words)),
    Failure.MODEL: (404, _error("DeploymentNotFound", service.RULES["deployment"].words)),
    Failure.TIMEOUT: (408, _error("Timeout", "The operation was timeout.")),
    Failure.TOO_LARGE: (413, _error("413", "Request entity too large")),
    Failure.RATE: (429, _LIMITED),
    Failure.QUOTA: (429, _error("insufficient_quota", "You exceeded your current quota.")),
    Failure.SERVER: (500, _error("InternalServerError", "Internal server error")),
    Failure.GATEWAY: (502, "<html>Bad gateway</html>"),
    Failure.OVERLOADED: (
        503,
        _error("ServiceUnavailable", "The service is temporarily unable to process your request."),
    ),
}
_HINTS: Final[tuple[tuple[dict[str, str], Any], ...]] = (
    ({"retry-after-ms": "34000", "retry-after": "34"}, _LIMITED),
    ({"retry-after": "34"}, _LIMITED),
    ({}, _LIMITED),
)


class AzureChatWire(ChatWire):
    name = "Azure chat"
    model = "azure/gpt-4.1"
    key = service.KEY
    endpoint = "/openai/v1/chat/completions"
    headers = {"api-key": service.KEY}
    path = "/openai/v1"
    failures = {
        **ChatWire.failures,
        **_FAILURES,
        Failure.IN_STREAM: (200, event(_error("server_error", "The server is currently overloaded"))),
    }
    hints = _HINTS

    def __init__(self) -> None:
        super().__init__(service.AzureChat())


class AzureResponsesWire(ResponsesWire):
    name = "Azure Responses"
    model = "azure/gpt-5.3-codex"
    key = service.KEY
    endpoint = "/openai/v1/responses"
    headers = {"api-key": service.KEY}
    path = "/openai/v1"
    failures = {**ResponsesWire.failures, **_FAILURES}
    hints = _HINTS

    def __init__(self) -> None:
        super().__init__(service.AzureResponses())
