"""A baseURL as people write it leads to the path that its provider serves."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from activities.credentials.keys import Keys
from activities.model.endpoints import EndpointResolver
from activities.model.port import ModelRequest
from activities.model.wires.router import WireRouter
from tests.providers.double_requests import GO, collect_answer
from tests.providers.provider_double import ProviderDouble, RefusedRequest, StreamPlan, serve_double
from workflows.domain.config.config import Config
from workflows.domain.errors import ModelError

GEMINI = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"
SERVED = {  # model → the path that is asked, and the ways to write what stands before it
    "anthropic/claude-opus-4-5": ("/v1/messages", ("", "/", "/v1", "/v1/", "/v1/messages")),
    "google/gemini-2.5-pro": (GEMINI, ("", "/", "/v1beta", "/v1beta/", "/v1beta/openai/", "/v1beta/models")),
    "azure/gpt-5.4": (
        "/openai/v1/responses",
        ("", "/", "/openai", "/openai/", "/openai/v1", "/openai/v1/", "/openai/v1/responses"),
    ),
    "azure/mine": (
        "/openai/v1/chat/completions",
        ("", "/", "/openai", "/openai/v1/", "/openai/deployments/mine", "/openai/deployments/mine/chat/completions"),
    ),
    "ollama/llama3.1": ("/api/chat", ("", "/", "/api", "/api/", "/api/chat", "/v1", "/v1/chat/completions")),
    "mistral/mistral-large-latest": ("/v1/chat/completions", ("/v1", "/v1/", "/v1/chat/completions")),
    "openrouter/openai/gpt-4o": ("/api/v1/chat/completions", ("/api/v1", "/api/v1/", "/api/v1/chat/completions")),
    "mine/llama": ("/v1/chat/completions", ("/v1", "/v1/", "/v1/chat/completions")),
}


def refuses(request: web.Request, body: dict[str, Any]) -> StreamPlan:
    raise RefusedRequest(401, {"error": {"message": "no such key", "type": "invalid_request_error"}})


@pytest.mark.parametrize(
    ("model", "path", "written"),
    [(model, path, written) for model, (path, forms) in SERVED.items() for written in forms],
)
async def test_an_address_as_people_write_it_leads_to_the_path_that_is_served(
    port: WireRouter, tmp_path: Path, model: str, path: str, written: str
) -> None:
    async with serve_double(ProviderDouble(refuses)) as double:
        options = {"baseURL": double.url + written, "apiKey": "k"}
        config = Config.model_validate({"provider": {model.partition("/")[0]: {"options": options}}})
        resolved = await EndpointResolver(Keys(tmp_path / "auth.json"), {}, port).resolve(model, config)

        with pytest.raises(ModelError, match="no such key"):
            await collect_answer(port, ModelRequest(endpoint=resolved.endpoint, messages=GO))

    assert set(double.paths) == {path}
