"""A baseURL as people write it leads to the path that its provider serves."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from activities.model.endpoints import Endpoints
from activities.model.failures import ModelError
from activities.model.keys import Keys
from activities.model.port import ModelRequest
from activities.model.wires.router import WireRouter
from tests.providers.asking import GO, answered
from tests.providers.playing import Double, Play, Refused, playing
from workflows.domain.config.config import Config

GEMINI = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"
SERVED = {  # model → the path that is asked, and the ways to write what stands before it
    "anthropic/claude-opus-4-5": ("/v1/messages", ("", "/", "/v1", "/v1/", "/v1/messages")),
    "google/gemini-2.5-pro": (GEMINI, ("", "/", "/v1beta", "/v1beta/")),
    "azure/gpt-5.4": ("/openai/v1/responses", ("", "/", "/openai", "/openai/", "/openai/v1", "/openai/v1/")),
    "azure/mine": ("/openai/deployments/mine/chat/completions", ("", "/", "/openai", "/openai/v1/")),
    "ollama/llama3.1": ("/api/chat", ("", "/", "/api", "/api/", "/api/chat")),
    "mistral/mistral-large-latest": ("/v1/chat/completions", ("/v1", "/v1/")),
    "openrouter/openai/gpt-4o": ("/api/v1/chat/completions", ("/api/v1", "/api/v1/")),
    "mine/llama": ("/v1/chat/completions", ("/v1", "/v1/", "/v1/chat/completions")),
}


def refuses(request: web.Request, body: dict[str, Any]) -> Play:
    raise Refused(401, {"error": {"message": "no such key", "type": "invalid_request_error"}})


@pytest.mark.parametrize(
    ("model", "path", "written"),
    [(model, path, written) for model, (path, forms) in SERVED.items() for written in forms],
)
async def test_an_address_as_people_write_it_leads_to_the_path_that_is_served(
    port: WireRouter, tmp_path: Path, model: str, path: str, written: str
) -> None:
    async with playing(Double(refuses)) as double:
        options = {"baseURL": double.url + written, "apiKey": "k"}
        config = Config.model_validate({"provider": {model.partition("/")[0]: {"options": options}}})
        reached = await Endpoints(Keys(tmp_path / "auth.json"), {}, port).reach(model, config)

        with pytest.raises(ModelError, match="no such key"):
            await answered(port, ModelRequest(endpoint=reached.endpoint, messages=GO))

    assert set(double.paths) == {path}
