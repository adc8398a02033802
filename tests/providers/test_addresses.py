"""A conversation goes to the provider that was named, and to no other company."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from activities.credentials.keys import Keys
from activities.model.endpoints import EndpointResolver
from activities.model.port import ModelRequest
from activities.model.wires.router import WireRouter
from tests.providers import anthropic_messages as messages
from tests.providers.double_requests import GO, collect_answer
from tests.providers.provider_double import serve_double
from workflows.domain.config.config import Config
from workflows.domain.messages import TextPart
from workflows.domain.value import Value

ROOT = Path(__file__).resolve().parents[2]
HOSTS = ROOT / "tests" / "data" / "provider_hosts.json"  # of each provider: the hosts of its company, or this machine


class Seen(Value):
    """The output of the program that asks every provider."""

    hosts: dict[str, tuple[str, ...]]


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/messages"])
async def test_anthropic_is_reached_however_its_address_is_written(
    port: WireRouter, tmp_path: Path, ending: str
) -> None:
    service = messages.Anthropic(messages.Answer((messages.Text("Hi"),)))
    async with serve_double(service.double):
        written = {"options": {"baseURL": f"{service.double.url}{ending}", "apiKey": messages.KEY}}
        config = Config.model_validate({"provider": {"anthropic": written}})
        resolved = await EndpointResolver(Keys(tmp_path / "auth.json"), {}, port).resolve(
            "anthropic/claude-opus-4-5", config
        )
        answer = await collect_answer(port, ModelRequest(endpoint=resolved.endpoint, messages=GO))
    assert answer.parts == (TextPart(text="Hi"),)


def test_no_provider_looks_for_another_companys_host(tmp_path: Path) -> None:
    program = [sys.executable, "-P", "-m", "tests.providers.dns_lookups", str(tmp_path)]
    no_cloud = {"AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true"}  # this machine is in none
    environment = {**os.environ, **no_cloud, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    asked = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)
    assert asked.returncode == 0, asked.stderr[-2000:]

    seen = Seen(hosts=json.loads(asked.stdout.splitlines()[-1])).hosts
    expected = Seen(hosts=json.loads(HOSTS.read_text())).hosts

    strangers = {id: set(hosts) - set(expected.get(id, ())) for id, hosts in seen.items()}
    assert not {id: hosts for id, hosts in strangers.items() if hosts}, "look whose hosts these are"
    assert [id for id, hosts in seen.items() if "api.openai.com" in hosts] == ["openai"]
    assert seen["lmstudio"] == ("127.0.0.1",)
