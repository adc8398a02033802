"""Markdown files that begin with fields in YAML, between two lines of `---` (opencode.md 1.3)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from activities.project.excerpts import Located, excerpt_line
from activities.project.json_positions import START, JsonPath, TextPosition, position_at
from workflows.domain.config.fields import JsonObject
from workflows.domain.errors import ConfigError

MAX_HEAD_CHARS: Final = 32 * 1024  # YAML is read slowly
_CACHED: Final = 512  # files: each turn of a directory reads the same ones
_BEGIN: Final = re.compile(r"\s*---[ \t]*\r?\n")
_END: Final = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True)
class MarkdownFile:
    """`fields` are shared between readings: change none. `positions`: of the fields, by their paths. `text`: the
    whole file."""

    fields: JsonObject
    body: str
    positions: Mapping[JsonPath, TextPosition]
    text: str

    def locate(self, path: Sequence[str | int]) -> Located:
        """The longest known part of `path`; skips what is no key or index."""
        found: JsonPath = ()
        for part in path:
            if (*found, part) in self.positions:
                found = (*found, part)
        line, column = at = self.positions.get(found, START)
        return Located(found, at, excerpt_line(self.text.split("\n")[line - 1], column - 1))


@lru_cache(_CACHED)
def parse(text: str, file: Path) -> MarkdownFile:
    """Raises ConfigError with file and position."""
    begin = _BEGIN.match(text)
    if begin is None:
        return MarkdownFile({}, text.strip(), {}, text)
    end = _END.search(text, begin.end())
    if end is None:
        at = position_at(text, begin.end())
        raise ConfigError(f"{file}:{at}: the fields have no end: close them with ---.")
    head, above = text[begin.end() : end.start()], position_at(text, begin.end()).line
    if len(head) > MAX_HEAD_CHARS:
        raise ConfigError(f"{file}:{above}:1: the fields have more than {MAX_HEAD_CHARS:,} characters.")
    from activities.project.yaml_fields import read_fields  # start-up time: many projects have no such file

    fields, positions = read_fields(head, file, above)
    return MarkdownFile(fields, text[end.end() :].strip(), positions, text)
