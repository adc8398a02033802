"""The model of a session that is about to begin: says which one is chosen, and asks where it may be another one."""

from typing import NamedTuple

import click

from worker.cli import config_remarks, model_choices, own_config
from worker.cli.command_support import print_note
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.terminal_input import is_interactive
from worker.project_config import default_models
from worker.settings import Settings
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import ConfigError, UsageError


class ChosenModel(NamedTuple):
    """`kept`: the person's configuration names it from now on."""

    model: str
    kept: bool = False


def choose_default(settings: Settings, turn_config: TurnConfig) -> ChosenModel:
    """The model where nothing names one. On a terminal, a person chooses between several, once. Raises UsageError,
    Abort."""
    found = default_models(settings).candidates(turn_config.config)
    if len(found) < 2 or turn_config.agent.model_family or not is_interactive():
        model = config_remarks.choose_model(settings, turn_config, None)
        print_note(f"{escape_exact(model)} (nothing is configured; `run -m` changes it)")
        return ChosenModel(model)
    print_note("No model is configured, and several providers can be asked:")
    for number, model in enumerate(found, start=1):
        click.echo(f"  {number}  {escape_exact(model)}", err=True)
    model = found[click.prompt("Which one", type=click.IntRange(1, len(found)), default=1, err=True) - 1]
    try:
        file = own_config.keep_model(settings.config, model)
    except ConfigError as error:
        print_note(f"Not kept: {escape_prose(str(error))}")
        return ChosenModel(model)
    print_note(f"Kept as `model` in {escape_exact(str(file))}; `run -m` names another one.")
    return ChosenModel(model, kept=True)


def confirm_spelling(settings: Settings, turn_config: TurnConfig, model: str) -> str:
    """The model, or the one that was meant, as the person says on a terminal. Raises UsageError."""
    if (meant := model_choices.meant_model(settings, turn_config.config, model)) is None:
        return model
    text = config_remarks.describe_misspelt(model, meant)
    if is_interactive() and click.confirm(escape_prose(text), default=True, err=True):
        return meant
    raise UsageError(f"{text} To have {model!r} asked all the same, add --any-model.")
