"""A merged configuration as a table and JSON."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from pydantic import JsonValue

from activities.project.config_values import PlacedValue, to_tree
from activities.redact import Redactor
from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.short_files import short_file
from worker.cli.render.styles import Row, joined, styled
from worker.cli.render.text_table import format_table
from worker.cli.render.wrap import wrap_text
from workflows.domain.config.trust_items import UntrustedField
from workflows.domain.config.turn_config import TurnConfig

_LONGEST: Final = 120  # characters of a value
_NOT_ACTED_ON: Final = "Holdfast does not act on it"


def find_ignored(turn_config: TurnConfig, redactor: Redactor) -> Iterator[UntrustedField]:
    """The fields without effect, without secrets."""
    for held in turn_config.untrusted_fields:
        yield held.model_copy(update={"field": redactor.text(held.field)})
    for each in turn_config.unsupported_fields:
        yield UntrustedField(file=each.file, field=redactor.text(each.field), why=_NOT_ACTED_ON)


def render_config(
    values: Sequence[PlacedValue], ignored: Sequence[UntrustedField], max_columns: int | None
) -> Iterator[Row]:
    """The configuration's values: in a pipe with the file as a column."""
    if not values:
        yield "Nothing is configured here: what is built in holds."
    yield from format_table([_cells(each, max_columns) for each in values], max_columns)
    if ignored:
        yield ""
        yield styled("Ignored", "bold")
    for each in ignored:
        text = f"{escape_exact(each.field)} of {short_file(each.file)}: {one_line(each.why, 300)}."
        yield from (joined("  ", row) for row in wrap_text(text, None if max_columns is None else max_columns - 2, 2))


def to_json(values: Sequence[PlacedValue], ignored: Sequence[UntrustedField], remarks: Sequence[str]) -> dict[str, Any]:
    return {
        "config": to_tree(values),
        "values": [asdict(each) for each in values],
        "ignored": [each.model_dump() for each in ignored],
        "warnings": list(remarks),
    }


def _cells(value: PlacedValue, max_columns: int | None) -> tuple[str, ...]:
    name, shown = escape_exact(".".join(value.path)), _shown(value.value)
    where = "several files" if value.file is None else short_file(value.file)
    return (name, shown, where) if max_columns is None else (name, f"{shown} ({where})")


def _shown(value: JsonValue) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _LONGEST)
