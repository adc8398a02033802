"""The wires to Gemini and Claude on Google's Vertex AI, signed in."""

from dataclasses import replace
from typing import Any

from activities.model.port import InputMessage, ModelRequest
from tests.providers import anthropic_messages, google_gemini
from tests.providers.behaviours.anthropic_wire import AnthropicWire
from tests.providers.behaviours.gemini_wire import GeminiWire
from tests.providers.behaviours.script import Failure
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.double_requests import GO

_GEMINI_MODELS = "/v1beta1/projects/some-project/locations/global/publishers/google"


def _google_error(code: int, status: str, message: str) -> list[dict[str, Any]]:
    """Google's, in place of Anthropic's; an array, as requests for streams are answered there."""
    return [{"error": {"code": code, "message": message, "status": status}}]


class _OnVertex(WireUnderTest):
    def request(self, messages: tuple[InputMessage, ...] = GO, **more: Any) -> ModelRequest:
        """With a token, as it is once the wires have signed in."""
        asked = super().request(messages, **more)
        signed = asked.endpoint.model_copy(update={"key": None, "headers": dict(self.headers)})
        return replace(asked, endpoint=signed)


class VertexGeminiWire(_OnVertex, GeminiWire):
    name = "Gemini on Vertex"
    model = "vertex_ai/gemini-3.1-pro-preview"
    endpoint = f"{_GEMINI_MODELS}/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse"
    headers = {"authorization": f"Bearer {google_gemini.TOKEN}"}
    path = _GEMINI_MODELS

    def __init__(self) -> None:
        self.service = google_gemini.Gemini(vertex=True)


class VertexClaudeWire(_OnVertex, AnthropicWire):
    name = "Claude on Vertex"
    model = "vertex_ai/claude-sonnet-4-5@20250929"
    endpoint = f"{anthropic_messages.VERTEX_MODELS}/claude-sonnet-4-5@20250929:streamRawPredict"
    headers = {"authorization": f"Bearer {anthropic_messages.TOKEN}"}
    path = anthropic_messages.VERTEX_MODELS
    failures = {
        **AnthropicWire.failures,
        Failure.KEY: (401, _google_error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")),
        Failure.MODEL: (404, _google_error(404, "NOT_FOUND", "Publisher Model `claude-9` was not found.")),
        Failure.RATE: (429, _google_error(429, "RESOURCE_EXHAUSTED", "Quota exceeded for aiplatform.googleapis.com.")),
        Failure.SERVER: (500, _google_error(500, "INTERNAL", "Internal error encountered.")),
        Failure.OVERLOADED: (503, _google_error(503, "UNAVAILABLE", "The service is currently unavailable.")),
    }

    def __init__(self) -> None:
        self.service = anthropic_messages.Anthropic(vertex=True)
