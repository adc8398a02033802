"""Providers known by name beside those of the installed litellm."""

from importlib import import_module

from activities.model.other_programs_keys import BY_SIGN_IN
from activities.model.providers import KNOWN, PROVIDERS, check_provider
from activities.model.wires.litellm.litellm_names import LITELLM_PROVIDERS, TEXT_ONLY
from activities.model.wires.router import WireRouter


async def test_what_litellm_can_ask_is_refused_nowhere_and_nothing_else_is_let_through(port: WireRouter) -> None:
    await port.warm()
    library, registry = import_module("litellm"), import_module("litellm.llms.openai_like.json_loader")
    asked = {provider.value for provider in library.LlmProviders} | {*registry.JSONProviderRegistry.list_providers()}
    by_name = {provider.litellm for provider in KNOWN.values()}

    for id in {*asked, *PROVIDERS} - {*TEXT_ONLY, *BY_SIGN_IN}:
        check_provider(id, {})

    assert asked == LITELLM_PROVIDERS, "write what litellm knows into activities/model/wires/litellm/litellm_names.py"
    assert by_name <= LITELLM_PROVIDERS and set(TEXT_ONLY) <= LITELLM_PROVIDERS
