"""A merged configuration as a table and JSON."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import JsonValue

from activities.project.config_values import MergedConfig, PlacedValue, to_tree
from activities.project.file_positions import FilePositions
from activities.project.json_positions import TextPosition
from activities.redact import Redactor
from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.short_files import short_file
from worker.cli.render.styles import Row, joined, styled
from worker.cli.render.text_table import format_table
from worker.cli.render.wrap import wrap_text
from workflows.domain.config.turn_config import TurnConfig

_LONGEST: Final = 120  # characters of a value
_NOT_ACTED_ON: Final = "Holdfast does not act on it"


@dataclass(frozen=True)
class IgnoredField:
    """A field without effect, and why. `field`: with its path joined."""

    field: str
    value: JsonValue
    file: str
    position: TextPosition | None
    why: str


def find_ignored(merged: MergedConfig, turn_config: TurnConfig, redactor: Redactor) -> Iterator[IgnoredField]:
    positions = FilePositions()
    held = [(each.file, each.field, each.why) for each in turn_config.untrusted_fields]
    held += [(each.file, each.field, _NOT_ACTED_ON) for each in turn_config.unsupported_fields]
    for file, field, why in held:
        value = merged.value_of(file, field, redactor)
        yield IgnoredField(redactor.text(field), value, file, positions.find(file, field), why)


def render_config(
    values: Sequence[PlacedValue], ignored: Sequence[IgnoredField], max_columns: int | None, *, origin: bool
) -> Iterator[Row]:
    """The configuration's values: in a pipe with the origin as a column."""
    if not values:
        yield "Nothing is configured here: what is built in holds."
    yield from format_table([_cells(each, origin, max_columns) for each in values], max_columns)
    if ignored:
        yield ""
        yield styled("Ignored", "bold")
    for each in ignored:
        text = escape_exact(each.field) + ("" if each.value is None else f": {_shown(each.value)}")
        inner = None if max_columns is None else max_columns - 2
        yield from (joined("  ", row) for row in wrap_text(text, inner, 2))
        why = f"{_where(each.file, each.position)}: {one_line(each.why, 300)}."
        yield from (joined("    ", row) for row in wrap_text(why, inner and inner - 2))


def to_json(
    values: Sequence[PlacedValue], ignored: Sequence[IgnoredField], warnings: Sequence[str], *, origin: bool
) -> dict[str, Any]:
    placed = [{"path": list(each.path), "value": each.value, **_place(each.file, each.position)} for each in values]
    return {
        "config": to_tree(values),
        **({"values": placed} if origin else {}),
        "ignored": [
            {"field": each.field, "value": each.value, **_place(each.file, each.position), "why": each.why}
            for each in ignored
        ],
        "warnings": list(warnings),
    }


def _cells(value: PlacedValue, origin: bool, max_columns: int | None) -> tuple[str, ...]:
    name, shown = escape_exact(".".join(value.path)), _shown(value.value)
    if not origin:
        return name, shown
    where = "several files" if value.file is None else _where(value.file, value.position)
    return (name, shown, where) if max_columns is None else (name, f"{shown} ({where})")


def _shown(value: JsonValue) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _LONGEST)


def _where(file: str, position: TextPosition | None) -> str:
    return short_file(file) + (f":{position.line}" if position else "")


def _place(file: str | None, position: TextPosition | None) -> dict[str, JsonValue]:
    line, column = position or (None, None)
    return {"file": file, "line": line, "column": column}
