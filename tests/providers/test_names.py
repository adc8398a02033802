"""The providers that are known by name, beside those that the installed litellm can ask."""

from importlib import import_module

from activities.model.litellm_providers import NAMES, TEXT_ONLY
from activities.model.providers import PROVIDERS, must_be_known
from activities.model.wires.router import WireRouter


async def test_what_litellm_can_ask_is_refused_nowhere_and_nothing_else_is_let_through(port: WireRouter) -> None:
    await port.warm()
    library, registry = import_module("litellm"), import_module("litellm.llms.openai_like.json_loader")
    asked = {provider.value for provider in library.LlmProviders} | {*registry.JSONProviderRegistry.list_providers()}
    ours = {provider.litellm for provider in PROVIDERS.values()}

    for id in {*asked, *PROVIDERS} - {*TEXT_ONLY}:
        must_be_known(id, {})

    assert asked == NAMES, "write what litellm knows into activities/model/litellm_providers.py"
    assert ours <= NAMES and set(TEXT_ONLY) <= NAMES
