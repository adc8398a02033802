"""Asks a person for the model of a session that is about to begin."""

from collections.abc import Sequence
from pathlib import Path

import click

from worker.cli.command_support import print_note
from worker.cli.own_config import add_field
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.settings import Settings
from workflows.domain.errors import ConfigError, MisspeltModel


def choose_default(settings: Settings, models: Sequence[str]) -> str:
    """The model where nothing names one; the person's configuration names it from now on. Raises Abort."""
    print_note("No model is configured, and several providers can be asked:")
    for number, model in enumerate(models, start=1):
        click.echo(f"  {number}  {escape_exact(model)}", err=True)
    model = models[click.prompt("Which one", type=click.IntRange(1, len(models)), default=1, err=True) - 1]
    try:
        file = keep_model(settings.config, model)
    except ConfigError as error:
        print_note(f"Not kept: {escape_prose(str(error))}")
    else:
        print_note(f"Kept as `model` in {escape_exact(str(file))}; `run -m` names another one.")
    return model


def confirm_spelling(misspelt: MisspeltModel) -> str:
    """The model that was meant. Raises MisspeltModel if the person says that it was not."""
    if not click.confirm(escape_prose(misspelt.question), default=True, err=True):
        raise misspelt
    return misspelt.meant


def keep_model(folder: Path, model: str) -> Path:
    """Have `model` work where nothing else is named; one that was written meanwhile stays. Returns the file. Raises
    ConfigError."""
    return add_field(folder, ("model",), model)
