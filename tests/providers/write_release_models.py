"""Writes the release's table of models: the locked litellm's, with the corrections of `model_corrections.jsonl`.

    python -m tests.providers.write_release_models

A correction has the columns of an entry, where they are from, and of when; they replace litellm's.
"""

import json
import re
from collections.abc import Mapping
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any, Final

from activities.model import model_table
from activities.model.litellm_table import PRICE_COLUMNS, SEARCH, TERM_COLUMNS, search_fee

CORRECTIONS: Final = Path(__file__).with_name("model_corrections.jsonl")
COLUMNS: Final = re.compile(  # those that are read
    r"mode|litellm_provider|deprecation_date|max_(input_|output_|prompt_)?tokens|supported_output_modalities"
    r"|reasoning_effort_levels|supports_(function_calling|vision|pdf_input|reasoning)"
    rf"|{PRICE_COLUMNS.pattern}|{TERM_COLUMNS.pattern}"
)
_FILE: Final = "litellm/model_prices_and_context_window_backup.json"
_MODES: Final = ("chat", "responses")


def read_litellm_table() -> dict[str, dict[str, Any]]:
    """Of the installed litellm, which is not imported for that."""
    file = Path(str(distribution("litellm").locate_file(_FILE)))
    table: dict[str, dict[str, Any]] = json.loads(file.read_bytes())
    return table


def corrections() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CORRECTIONS.read_text().splitlines()]


def release_table() -> str:
    """The file's text: one model on each line."""
    models = {name: _columns(entry) for name, entry in read_litellm_table().items() if entry.get("mode") in _MODES}
    for each in corrections():
        models[each["model"]] = models.get(each["model"], {}) | each["entry"]
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(models[name])}" for name in sorted(models))
    return f'{{"litellm": {json.dumps(version("litellm"))}, "models": {{\n{lines}\n}}}}\n'


def _columns(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What we read, as far as it says anything. No tools is something: unknown counts as able."""
    said = {name: value for name, value in entry.items() if COLUMNS.fullmatch(name) and value is not None}
    if fee := search_fee(said):
        said[SEARCH] = float(fee)  # for prompts of all sizes
    if "max_input_tokens" in said:
        said.pop("max_tokens", None)  # of the answer then
    return {name: value for name, value in said.items() if value is not False or name == "supports_function_calling"}


if __name__ == "__main__":
    model_table.RELEASE.write_text(release_table())
