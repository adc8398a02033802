"""Writes into the person's own opencode.json."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Final

from activities.project import jsonc
from workflows.domain.errors import ConfigError

_SCHEMA: Final = "https://opencode.ai/config.json"
_BEGIN: Final = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*+\{", re.DOTALL)


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
