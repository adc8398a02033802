"""The generated table of providers."""

import json
import os
from urllib.parse import urlsplit

import pytest

from activities.model.endpoint import Wire
from activities.model.providers import FILE, PROVIDERS, company, provider_named
from activities.model.wires.litellm.litellm_names import LITELLM_PROVIDERS, isolate

pytestmark = pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning")  # litellm's
RENAMED = {  # litellm's name → its host; the company names the other today
    "github": "models.inference.ai.azure.com",
    "nebius": "api.studio.nebius.ai",
    "together_ai": "api.together.ai",
}
NAMED_BY_OPENCODES_USERS = {
    *("alibaba", "baseten", "chutes", "github-models", "minimax", "moonshotai-cn", "opencode", "requesty", "vercel"),
    *("zai", "zai-coding-plan", "zhipuai", "groq", "mistral", "openrouter", "togetherai", "xai"),
}


def test_it_names_its_sources_and_reaches_every_provider_by_an_encrypted_connection() -> None:
    table = json.loads(FILE.read_text())

    assert {*table["sources"]} == {"models.dev", "litellm"}
    assert table["providers"].keys() >= NAMED_BY_OPENCODES_USERS
    for id in table["providers"]:
        provider = PROVIDERS[id]
        assert (provider.address or "").startswith("https://") and not (provider.address or "").endswith("/"), id
        assert provider.wire is not None and provider.variables, id


def test_the_addresses_are_those_that_litellm_has_of_the_same_companies() -> None:
    isolate(os.environ)
    litellm = pytest.importorskip("litellm")
    compared = 0
    for name in sorted(LITELLM_PROVIDERS):
        known = provider_named(name)
        if (same := company(name)) is None or same.wire is not Wire.CHAT:
            continue
        theirs = litellm.get_llm_provider(f"{name}/model")[3]
        if theirs is not None:
            compared += 1
            assert RENAMED.get(name, urlsplit(known.address).hostname) == urlsplit(theirs).hostname, name

    assert compared > 50


@pytest.mark.parametrize(
    ("model", "wire"),
    [
        ("opencode/claude-of-next-year", Wire.ANTHROPIC),
        ("opencode/gpt-9", Wire.RESPONSES),
        ("opencode/minimax-m2.5", Wire.CHAT),
        ("opencode/minimax-m2.5-free", Wire.ANTHROPIC),
        ("opencode-go/qwen3.8-flash", Wire.ANTHROPIC),
        ("zenmux/anthropic/claude-opus-4.5", Wire.CHAT),
    ],
)
def test_some_providers_reach_their_models_by_several_protocols(model: str, wire: Wire) -> None:
    id, _, name = model.partition("/")

    assert PROVIDERS[id].wire_of(name) is wire
