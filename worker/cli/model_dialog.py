"""Asks a person for the model of a session that is about to begin."""

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from activities.project import jsonc
from worker.cli.command_support import print_note
from worker.cli.render.escaping import escape_exact, escape_prose
from worker.settings import Settings
from workflows.domain.errors import ConfigError, MisspeltModel

_SCHEMA: Final = "https://opencode.ai/config.json"
_BEGIN: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*+\{", re.DOTALL)


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
