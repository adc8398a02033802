"""Adds to a person's own opencode.json; all else in it stays as it is, comments too."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from activities.project import jsonc
from workflows.domain.config.fields import JsonObject, value_at, with_value_at
from workflows.domain.errors import ConfigError

_SCHEMA: Final = "https://opencode.ai/config.json"
_BLANK: Final = r"(?:\s+|//[^\n]*|/\*.*?\*/)*+"
_BEGIN: Final = re.compile(rf"{_BLANK}\{{", re.DOTALL)


def own_file(folder: Path) -> Path:
    files = [folder / name for name in ("opencode.json", "opencode.jsonc")]
    return next((each for each in files if each.exists()), files[0])


def read_field(folder: Path, path: tuple[str, ...]) -> JsonValue:
    """None if it is not there. Raises ConfigError."""
    text = jsonc.read_text(own_file(folder))
    return None if text is None else value_at(jsonc.parse(text, own_file(folder)), path)


def add_field(folder: Path, path: tuple[str, ...], value: JsonValue) -> Path:
    """Returns the file; a field that is there already stays. Raises ConfigError."""
    file = own_file(folder)
    text = jsonc.read_text(file)
    known = jsonc.parse(text, file) if text is not None else {}
    if text is None:
        wanted: JsonObject = with_value_at({"$schema": _SCHEMA}, path, value)
        _replace(file, json.dumps(wanted, indent=2, ensure_ascii=False) + "\n")
    elif value_at(known, path) is None:
        wanted = with_value_at(known, path, value)
        written = next((each for each in _written(text, known, path, value) if _parses_as(each, file, wanted)), None)
        if written is None:
            raise ConfigError(f"{str(file)!r}: `{'.'.join(path)}` cannot be added without changing more.")
        _replace(file, written)
    return file


def _written(text: str, known: JsonObject, path: tuple[str, ...], value: JsonValue) -> Iterator[str]:
    """The text with the field in the innermost table that is there, by each place that may be its beginning."""
    if len(path) > 1 and isinstance(inner := known.get(path[0]), dict):
        opening = re.compile(rf"{re.escape(json.dumps(path[0]))}{_BLANK}:{_BLANK}\{{", re.DOTALL)
        places = [found.end() for found in opening.finditer(text)]
        yield from (_with_field(text, at, "    ", path[1], value, empty=not inner) for at in places)
        return
    for name in reversed(path[1:]):
        value = {name: value}
    begin = _BEGIN.match(text)
    if begin is None:  # nothing, or comments alone
        yield f"{text}{json.dumps({path[0]: value}, indent=2, ensure_ascii=False)}\n"
    else:
        yield _with_field(text, begin.end(), "  ", path[0], value, empty=not known)


def _with_field(text: str, at: int, indent: str, name: str, value: JsonValue, *, empty: bool) -> str:
    shown = json.dumps(value, indent=2, ensure_ascii=False).replace("\n", f"\n{indent}")
    before, after = text[:at], text[at:]
    comma, line_end = "" if empty else ",", "" if after.lstrip(" \t\r").startswith("\n") else "\n"
    return f"{before}\n{indent}{json.dumps(name, ensure_ascii=False)}: {shown}{comma}{line_end}{after}"


def _parses_as(text: str, file: Path, wanted: JsonObject) -> bool:
    try:
        return jsonc.parse(text, file) == wanted
    except ConfigError:
        return False


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
