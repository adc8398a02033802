"""`holdfast config`: what this directory's configuration comes to."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

import click

from activities.project.config_values import PlacedValue, list_values, to_tree
from activities.redact import Redactor
from worker.cli.agent_listing import load_any_config
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, current_directory
from worker.cli.render.console import Row, joined, styled, terminal_columns
from worker.cli.render.escaping import escape_exact, escape_prose, one_line
from worker.cli.render.formatting import short_file
from worker.cli.render.text_table import format_table
from worker.cli.render.wrap import wrap_text
from worker.config_remarks import find_other_remarks
from worker.config_schema import build_schema
from worker.project_config import load_checked_config
from worker.redaction import redactor
from worker.settings import Settings
from workflows.domain.config.trust_items import UntrustedField
from workflows.domain.config.turn_config import TurnConfig

_LONGEST: Final = 120  # characters of a value
_NOT_ACTED_ON: Final = "Holdfast does not act on it"


@click.command()
@click.option("--schema", is_flag=True, help="Print the JSON schema of configuration files instead, for editors.")
@async_command
@with_json("As JSON, in the shape of OpenCode's files.")
async def config(settings: Settings, schema: bool) -> CommandOutput:
    """Show the configuration that applies here, and where each value comes from.

    What all files and variables come to in this directory, as a turn that starts now would find it, and what of them
    is ignored, with the reason. References such as {env:NAME} are shown as they are written, secrets not at all.

    \b
    Examples:
      holdfast config
      holdfast config --json | jq .config.permission
      holdfast config --schema > ~/.config/opencode/config.schema.json
    """
    if schema:
        text = json.dumps(build_schema(), indent=2)
        return CommandOutput(text, lambda: text)
    checked = await load_checked_config(settings, current_directory())
    turn_config, problem = await load_any_config(settings)
    mask = redactor(settings)
    values = [*list_values(checked, mask)]
    ignored = [*_find_ignored(turn_config, mask)]
    remarks = [*([f"Warning: {problem}"] if problem else []), *find_other_remarks(settings, turn_config)]
    return CommandOutput(
        _to_json(values, ignored, remarks),
        lambda: _rows(values, ignored, terminal_columns()),
        remarks=map(escape_prose, remarks),
    )


def _find_ignored(turn_config: TurnConfig, redactor: Redactor) -> Iterator[UntrustedField]:
    """The fields without effect, without secrets."""
    for held in (*turn_config.held, *turn_config.untrusted_fields):
        yield held.model_copy(update={"field": redactor.text(held.field)})
    for each in turn_config.unsupported_fields:
        yield UntrustedField(file=each.file, field=redactor.text(each.field), why=_NOT_ACTED_ON)


def _rows(values: Sequence[PlacedValue], ignored: Sequence[UntrustedField], max_columns: int | None) -> Iterator[Row]:
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


def _to_json(
    values: Sequence[PlacedValue], ignored: Sequence[UntrustedField], remarks: Sequence[str]
) -> dict[str, Any]:
    return {
        "config": to_tree(values),
        "values": [asdict(each) for each in values],
        "ignored": [each.model_dump() for each in ignored],
        "warnings": list(remarks),
    }


def _cells(value: PlacedValue, max_columns: int | None) -> tuple[str, ...]:
    name, shown = escape_exact(".".join(value.path)), value.value
    text = one_line(shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False), _LONGEST)
    where = "several files" if value.file is None else short_file(value.file)
    return (name, text, where) if max_columns is None else (name, f"{text} ({where})")
