"""Names in this directory's configuration, for completion."""

from collections.abc import Iterable, Mapping
from typing import Any

from activities.credentials.keys import Keys
from activities.model.providers import PROVIDERS
from worker import model_choices
from worker.cli.command_support import current_directory
from worker.project_config import effective_model, load_commands, load_project_config
from worker.settings import Settings
from workflows.domain.config.turn_config import TurnConfig


async def models(settings: Settings, _: object, incomplete: str) -> list[str]:
    config = (await _load(settings)).config
    ids = [incomplete.partition("/")[0]] if "/" in incomplete else model_choices.list_providers(settings, config)
    return [each.model for each in model_choices.list_models(settings, config, ids, lambda _: None)]


async def providers(settings: Settings, *_: object) -> list[str]:
    return model_choices.list_providers(settings, (await _load(settings)).config)


async def known_providers(*_: object) -> list[str]:
    return sorted(PROVIDERS)


async def stored_providers(settings: Settings, *_: object) -> list[str]:
    return sorted({provider for provider, _ in Keys(settings.auth).entries()})


async def key_names(settings: Settings, typed: Mapping[str, Any], _: str) -> list[str]:
    """The names of the keys of the provider that the line names."""
    entries = Keys(settings.auth).entries()
    return sorted({name for provider, name in entries if name and provider == typed.get("provider")})


async def variants(settings: Settings, typed: Mapping[str, Any], _: str) -> Iterable[str]:
    """The variants of the model that the line names, else of the configured one."""
    turn_config = await _load(settings)
    named = effective_model(turn_config, typed.get("model"))
    return model_choices.list_variants(settings, turn_config.config, named) if named else ()


async def agents(settings: Settings, *_: object) -> list[str]:
    """Those that people may choose."""
    found = (await _load(settings)).delegation.agents
    return sorted(each.name for each in found if each.selectable and not each.hidden)


async def all_agents(settings: Settings, *_: object) -> list[str]:
    return sorted(each.name for each in (await _load(settings)).delegation.agents)


async def commands(settings: Settings, *_: object) -> Iterable[str]:
    return (await load_commands(settings, await _load(settings))).commands


async def _load(settings: Settings) -> TurnConfig:
    return await load_project_config(settings, current_directory())
