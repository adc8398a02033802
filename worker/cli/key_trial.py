"""Tries a provider's key before it is stored, and says how to go on."""

from datetime import date
from typing import Final, NamedTuple

from activities.model.default_model import main_model
from activities.model.model_table import ModelTables
from worker.cli.command_support import current_directory, print_note
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.project_config import default_models, effective_model, load_project_config
from worker.settings import Settings
from workflows.domain.config.config import Config
from workflows.domain.config.provider_settings import Provider
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError

_TIMEOUT: Final = 20.0  # seconds; a key can be stored untried


class TriedKey(NamedTuple):
    """`refused`: by the provider. `text`: the outcome, for people."""

    refused: bool
    text: str


async def try_key(settings: Settings, provider: str, key: str) -> TriedKey:
    """Ask the provider's main model for a word with this key."""
    from worker.probe import probe  # start-up time: model clients take seconds to load

    config = await _config(settings)
    model = _main_model(settings, config, provider)
    if model is None:
        known = f"no main model of {provider} is known. `holdfast doctor --model {provider}/NAME` tries it"
        return TriedKey(refused=False, text=f"Not tried: {known}.")
    print_note(f"Trying it with {escape_exact(model)}.")
    own = config.provider.get(provider) or Provider()
    keyed = own.model_copy(update={"options": own.options.model_copy(update={"api_key": key, "key_name": None})})
    trial = config.model_copy(update={"provider": {**config.provider, provider: keyed}})
    probed = await probe(settings, model, trial, _TIMEOUT)
    message = escape_prose(probed.message.replace(key, "…"))
    if probed.answered:
        return TriedKey(refused=False, text=f"It works: {message}.")
    return TriedKey(refused=probed.refused, text=message if probed.refused else f"It could not be tried: {message}")


async def next_step(settings: Settings, provider: str, name: str | None) -> str:
    """What to type with a key that is stored."""
    if name is not None:
        return f"write provider.{provider}.options.keyName: {name!r} into opencode.json, to have it used"
    turn_config = await _turn_config(settings)
    config = turn_config.config if turn_config is not None else Config()
    if _names_model(turn_config) or len(default_models(settings).candidates(config)) == 1:
        return "holdfast"
    model = _main_model(settings, config, provider)
    return f"holdfast run -m {model}" if model is not None else f"holdfast models {provider}"


def _main_model(settings: Settings, config: Config, provider: str) -> str | None:
    return main_model(provider, config, ModelTables(settings.models_file).all(), date.today())


def _names_model(turn_config: TurnConfig | None) -> bool:
    try:
        return turn_config is not None and effective_model(turn_config, None) is not None
    except UsageError:
        return False


async def _config(settings: Settings) -> Config:
    turn_config = await _turn_config(settings)
    return turn_config.config if turn_config is not None else Config()


async def _turn_config(settings: Settings) -> TurnConfig | None:
    """A configuration that cannot be read keeps no key out."""
    try:
        return await load_project_config(settings, current_directory())
    except UsageError:
        return None
