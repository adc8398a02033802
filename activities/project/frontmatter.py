"""Markdown files that begin with fields in YAML, between two lines of `---` (opencode.md 1.3)."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from workflows.domain.config.fields import JsonObject
from workflows.domain.errors import ConfigError

MAX_HEAD_CHARS: Final = 32 * 1024  # YAML is read slowly
_CACHED: Final = 512  # files: each turn of a directory reads the same ones
_BEGIN: Final = re.compile(r"\s*---[ \t]*\r?\n")
_END: Final = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True)
class MarkdownFile:
    """`fields` are shared between readings: change none."""

    fields: JsonObject
    body: str


@lru_cache(_CACHED)
def parse(text: str, file: Path) -> MarkdownFile:
    """Raises ConfigError with the file, and where what it has is no YAML, with line and column."""
    begin = _BEGIN.match(text)
    if begin is None:
        return MarkdownFile({}, text.strip())
    end = _END.search(text, begin.end())
    if end is None:
        raise ConfigError(f"{file}: the fields have no end: close them with ---.")
    head = text[begin.end() : end.start()]
    if len(head) > MAX_HEAD_CHARS:
        raise ConfigError(f"{file}: the fields have more than {MAX_HEAD_CHARS:,} characters.")
    from activities.project.yaml_fields import read_fields  # start-up time: many projects have no such file

    fields = read_fields(head, file, above=text.count("\n", 0, begin.end()))
    return MarkdownFile(fields, text[end.end() :].strip())
