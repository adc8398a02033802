"""When litellm is imported, and that it is litellm."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from activities.model.catalogue import has_litellm_key
from worker.scripted.model_server import serve
from worker.scripted.script import Script, ScriptedAnswer

_PROGRAM = """
import asyncio, os, sys
from contextlib import suppress
from pathlib import Path
from activities.model.endpoints import EndpointResolver
from workflows.domain.errors import ModelError
from activities.credentials.keys import Keys
from activities.model.endpoint import Wire
from activities.model.port import ModelRequest, UserInput
from activities.model.wires.router import WireRouter
from workflows.domain.config.config import Config

async def main(model: str, config: str) -> None:
    port = WireRouter(os.environ)
    resolver = EndpointResolver(Keys(Path("auth.json")), {}, port)
    resolved = await resolver.resolve(model, Config.model_validate_json(config))
    endpoint = resolved.endpoint
    if endpoint.wire is Wire.LITELLM:
        endpoint = endpoint.model_copy(update={"base_url": os.environ["SERVER"]})
    request = ModelRequest(endpoint=endpoint, messages=(UserInput(content="Hello?"),))
    with suppress(ModelError):  # the server speaks chat completions only
        async for _ in port.stream(request):
            pass
    await port.close()

asyncio.run(main(*sys.argv[1:]))
"""
_LOADED = "print(*(name for name in ('litellm', 'openai') if name in sys.modules))"
_REPLACED = """
def members(module):
    for name, value in vars(module).items():
        yield f"{module.__name__}.{name}", value
        if isinstance(value, type):
            yield from ((f"{module.__name__}.{name}.{inner}", member) for inner, member in vars(value).items())

for name, module in list(sys.modules.items()):
    if name.partition(".")[0] in ("litellm", "openai", "httpx"):
        for place, value in members(module):
            if callable(value) and str(getattr(value, "__module__", "")).startswith("activities"):
                print(place)
print("litellm" in sys.modules)
"""


async def run(model: str, ending: str, directory: Path) -> list[str]:
    """The output of a process that asked `model`, of a provider with its own address."""
    async with serve(Script(answers=(ScriptedAnswer(text="Hello"),))) as server:
        id = model.partition("/")[0]
        own = {} if id == "llamagate" else {"baseURL": server.url}  # with one, litellm asks no provider
        config = {"provider": {id: {"options": {**own, "apiKey": "k"}}}}
        command = [sys.executable, "-P", "-c", _PROGRAM + ending, model, json.dumps(config)]
        environment = {**os.environ, "SERVER": server.url, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
        ended = await asyncio.to_thread(
            subprocess.run, command, cwd=directory, env=environment, capture_output=True, text=True, check=False
        )
    assert ended.returncode == 0, ended.stderr
    return str(ended.stdout).split()


@pytest.mark.parametrize(
    "model", ["own/m", "anthropic/claude-opus-5-5", "google/gemini-3.1-pro", "openai/gpt-6", "ollama/qwen3", "groq/m"]
)
async def test_wires_of_our_own_need_no_litellm(tmp_path: Path, model: str) -> None:
    assert await run(model, _LOADED, tmp_path) == []


async def test_nothing_of_litellm_and_the_libraries_below_it_is_replaced(tmp_path: Path) -> None:
    assert await run("llamagate/some-model", _REPLACED, tmp_path) == ["True"]


@pytest.mark.parametrize(
    ("stored", "environment", "needed"),
    [
        ((), {}, False),
        (("openai",), {"OPENAI_API_KEY": "k"}, False),
        (("own",), {}, False),
        (("anthropic",), {"GEMINI_API_KEY": "k"}, False),
        (("groq",), {}, False),
        (("llamagate",), {}, True),
        ((), {"MISTRAL_API_KEY": "k"}, False),
        ((), {"CO_API_KEY": "k"}, False),
        ((), {"LLAMAGATE_API_KEY": "k"}, True),
    ],
)
def test_it_is_imported_beforehand_where_there_is_a_key_for_it(
    stored: tuple[str, ...], environment: dict[str, str], needed: bool
) -> None:
    assert has_litellm_key(stored, environment) is needed
