"""The model of a session that is about to begin: says which one is chosen, and asks where it may be another one."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Final, NamedTuple

import click

from activities.project import jsonc
from worker.cli import config_remarks, model_choices
from worker.cli.command_support import print_note
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.cli.terminal_input import is_interactive
from worker.project_config import default_models
from worker.settings import Settings
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import ConfigError, UsageError

_SCHEMA: Final = "https://opencode.ai/config.json"
_BEGIN: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*+\{", re.DOTALL)


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
        file = keep_model(settings.config, model)
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


def keep_model(folder: Path, model: str) -> Path:
    """Have `model` work where nothing else is named; all else in the file stays, comments too, and so does a model that
    was written meanwhile. Returns the file. Raises ConfigError."""
    files = [folder / name for name in ("opencode.json", "opencode.jsonc")]
    file = next((each for each in files if each.exists()), files[0])
    text = jsonc.read_text(file)
    if text is None:
        _replace(file, json.dumps({"$schema": _SCHEMA, "model": model}, indent=2) + "\n")
    elif "model" not in (known := jsonc.parse(text, file)):
        written = _with_model(text, model, empty=not known)
        if jsonc.parse(written, file) != {"model": model, **known}:
            raise ConfigError(f"{str(file)!r}: `model` cannot be added without changing more.")
        _replace(file, written)
    return file


def _with_model(text: str, model: str, *, empty: bool) -> str:
    field = f'\n  "model": {json.dumps(model)}'
    begin = _BEGIN.match(text)
    if begin is None:  # nothing, or comments alone
        return f"{text}{{{field}\n}}\n"
    before, after = text[: begin.end()], text[begin.end() :]
    comma, line_end = "" if empty else ",", "" if after.lstrip(" \t\r").startswith("\n") else "\n"
    return f"{before}{field}{comma}{line_end}{after}"


def _replace(file: Path, text: str) -> None:
    """Atomically; a link, as to a folder of such files, stays one."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        real = file.resolve()
        draft = real.with_name(f".{real.name}.{os.getpid()}")
        with draft.open("x", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        if real.exists():
            shutil.copymode(real, draft)
        draft.replace(real)
    except OSError as error:
        raise ConfigError(f"{str(file)!r} cannot be written: {error.strerror}.") from error
