"""JSON with comments."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyjson5
from pydantic import JsonValue

from activities.files.real_paths import broken_link
from activities.files.safe_open import failure_reason, read_whole
from workflows.domain.config.fields import JsonObject
from workflows.domain.errors import ConfigError, ToolError

_LIMIT: Final = 1 << 20  # bytes; far above any real configuration
_TOKEN: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|(?P<mark>[{}\[\],])|(?P<word>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s{}\[\],:"'/]+)""",
    re.DOTALL,
)


def read_text(file: Path, real: Path | None = None) -> str | None:
    """None without such a file; a link to nothing is a mistake, as what it was to forbid would be lost.

    `real`: where it led when that was judged; a link made since is not followed."""
    try:
        found = real or file.resolve(strict=True)
        found.stat()  # raises where there is none
        return read_whole(found, _LIMIT).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        if (link := broken_link(file)) is not None:
            raise ConfigError(f"{link}: it is a link to what is not there: restore that, or remove the link.") from None
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: the file is not UTF-8 text: write it again in that encoding.") from error
    except (OSError, RuntimeError, ValueError, ToolError) as error:
        raise ConfigError(f"{str(file)!r}: the file cannot be read: {failure_reason(error)}") from error


def parse(text: str, file: Path) -> JsonObject:
    """An empty text is an empty object. ConfigError names the line and column of a mistake."""
    tree = parse_value(text, file)
    if not isinstance(tree, dict):
        raise ConfigError(f"{file}: a configuration is one object: put all fields between {{ and }}.")
    return tree


def parse_value(text: str, file: Path) -> JsonValue:
    """As `parse`, of any kind."""
    try:
        value: JsonValue = pyjson5.decode(text)
    except pyjson5.Json5DecoderException as error:
        return _empty_or_error(error, text, file)
    return value


def _empty_or_error(error: pyjson5.Json5DecoderException, text: str, file: Path) -> JsonObject:
    message = str(error.args[0])
    if message.startswith("No JSON data"):
        return {}
    message = re.sub(r"\bb'(\w+)'", r"\1", message)
    message = re.sub(r"U\+([0-9a-fA-F]{4,6})", lambda hit: repr(chr(int(hit[1], 16))), message)
    what, _, offset = message.rpartition(" near ")
    at, problem = max(int(re.sub(r"\D.*", "", offset) or 1) - 1, 0), what.removesuffix(" starting")
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    raise ConfigError(f"{file}:{line}:{column}: this is not JSON: {problem}.") from error


def duplicate_keys(text: str) -> Iterator[str]:
    """The paths of keys that stand in their object already. `text`: one that `parse` reads."""
    path: list[str | int | None] = []  # of each open object its key, None before one; of a list its index
    keys: list[set[str]] = []  # of each open object
    for token in _TOKEN.finditer(text):
        mark, word = token["mark"] or "", token["word"]
        if mark in ("{", "["):
            path.append(None if mark == "{" else 0)
            keys.append(set())
        elif mark in ("}", "]"):
            del path[-1:], keys[-1:]
        elif mark:
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
        elif word and path and path[-1] is None:
            path[-1] = key = word.strip("\"'")
            if key in keys[-1]:
                yield ".".join(map(str, path))
            keys[-1].add(key)
