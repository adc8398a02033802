"""The tables of models, both in litellm's form: the release's, and a newer one that a person has fetched."""

import json
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from activities.model.litellm_table import (
    ModelTable,
    facts_of_entry,
    find_entry,
    guess_facts,
    merge_entries,
    names_in_table,
    provider_of,
)
from activities.model.model_names import read_name
from activities.model.port import ModelFacts
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

TABLE_ADDRESS: Final = "https://models.dev/api.json"  # one that can be fetched
RELEASE: Final = Path(__file__).with_name("release_models.json")  # written by tests/providers/write_release_models.py
_DECODER: Final = json.JSONDecoder()


class FetchedTable(Value):
    """A table that a person has fetched. `source`: its address; `fetched`: when, in ISO form."""

    source: str
    fetched: str
    models: dict[str, dict[str, Any]]


class ModelTables:
    """Reads the tables' files at each question and keeps nothing: a fetched table counts at once.

    `fetched`: the file of the fetched table; None or absent: there is none.
    """

    def __init__(self, fetched: Path | None = None) -> None:
        self._fetched = fetched

    def facts(self, model: str) -> ModelFacts:
        """What the tables say of a model, by its name in `Endpoint.model`, a newer one first; else a guess."""
        newer = self.fetched()
        known = merge_entries(read_entry(model), (newer and find_entry(newer.models, model)) or {})
        return facts_of_entry(known) if known else guess_facts(self.all() if read_name(model) else {}, model)

    def all(self) -> ModelTable:
        """Every entry of both tables, by the release's name: litellm names those of some providers without."""
        merged: dict[str, dict[str, Any]] = json.loads(RELEASE.read_bytes())["models"]
        newer = self.fetched()
        for name, entry in newer.models.items() if newer is not None else ():
            provider, _, bare = name.partition("/")
            known = bare if name not in merged and provider_of(merged.get(bare, {})) == provider else name
            merged[known] = merge_entries(merged.get(known, {}), entry)
        return merged

    def fetched(self) -> FetchedTable | None:
        """The fetched table, or None. Raises UsageError for a file that holds none."""
        if self._fetched is None or not self._fetched.is_file():
            return None
        try:
            return FetchedTable.model_validate_json(self._fetched.read_bytes())
        except ValidationError as error:
            remedy = "fetch it again by `holdfast models --refresh`, or remove it"
            raise UsageError(f"{self._fetched} holds no table of models: {remedy}.") from error

    @property
    def version(self) -> int:
        """Changes when another table is fetched."""
        try:
            return self._fetched.stat().st_mtime_ns if self._fetched is not None else 0
        except FileNotFoundError:
            return 0


def read_entry(model: str) -> dict[str, Any]:
    """As `find_entry` of the release's table, or {}.

    In the file, each entry begins with its name on a line, and no other line begins so. To parse the whole file takes
    60 ms, and 20 MB that the process keeps.
    """
    with RELEASE.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as text:
        for name in names_in_table(model):
            key = f"\n{json.dumps(name)}: ".encode()
            if (at := text.find(key)) >= 0:
                end = text.find(b'\n"', at + 1)
                entry: dict[str, Any]
                entry, _ = _DECODER.raw_decode(text[at + len(key) : end if end >= 0 else len(text)].decode())
                return entry
    return {}
