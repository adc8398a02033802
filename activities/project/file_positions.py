"""Where fields stand in the configuration's files, as these are now."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.project import frontmatter, json_positions, jsonc
from activities.project.json_positions import JsonPath, TextPosition
from activities.project.markdown_text import read_text
from workflows.domain.errors import ConfigError
from workflows.domain.permissions.permission_keys import EDIT, SAME_AS_EDIT

_OLDER_FORMS: Final = (
    (re.compile(r"(agent\..+)\.steps"), r"\1.maxSteps"),
    (re.compile(r"(agent\..+)\.options\.(.+)"), r"\1.\2"),
    (re.compile(r"(.*\b)permission\.(.+?)(?:\.\*)?"), r"\1tools.\2"),
    *(
        (re.compile(rf"(.*\b)permission\.{EDIT}(?:\.\*)?"), rf"\1{table}.{key}")
        for key in sorted(SAME_AS_EDIT)
        for table in ("permission", "tools")
    ),
)


@dataclass(frozen=True)
class _File:
    """Fields by their joined paths, with offsets in a text of JSON, or positions."""

    fields: Mapping[str, int | TextPosition]
    text: str = ""

    def find(self, names: Iterable[str]) -> TextPosition | None:
        found = next((self.fields[name] for name in names if name in self.fields), None)
        return json_positions.position_at(self.text, found) if isinstance(found, int) else found


class FilePositions:
    """Reads each file once."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}

    def name(self, file: str, field: str) -> str:
        """The file, with the position of a field or of the nearest one that holds it."""
        found = self.find(file, field)
        return file if found is None else f"{file}:{found}"

    def find(self, file: str, field: str) -> TextPosition | None:
        if file not in self._files:
            self._files[file] = _read(file)
        return self._files[file].find(_names(field, file))


def _names(field: str, file: str) -> Iterator[str]:
    """Under which it may be written, from the nearest on."""
    while field:
        for name in (field, *_older(field)):
            yield name if file.endswith(".json") or file.endswith(".jsonc") else _below_name(name)
            yield f"mode.{name.removeprefix('agent.')}"
        field = field.rpartition(".")[0]


def _older(field: str) -> Iterator[str]:
    for form, older in _OLDER_FORMS:
        if (hit := form.fullmatch(field)) is not None:
            yield hit.expand(older)


def _below_name(field: str) -> str:
    """Its file holds one agent, or one command."""
    return field.partition(".")[2].partition(".")[2]


def _read(file: str) -> _File:
    """Nothing where it cannot be read any more, or is a variable."""
    path = Path(file)
    try:
        if not path.is_absolute():
            return _File({})
        if path.suffix == ".md":
            return _File(_joined(frontmatter.parse(read_text(path, None), path).positions))
        text = jsonc.read_text(path) or ""
    except ConfigError:
        return _File({})
    return _File(_joined(json_positions.field_offsets(text)), text)


def _joined(fields: Mapping[JsonPath, int] | Mapping[JsonPath, TextPosition]) -> dict[str, int | TextPosition]:
    return {".".join(map(str, at)): where for at, where in fields.items() if at}
