"""The tables of models, all in litellm's form: a newer one that a person has fetched, the release's, litellm's own."""

import json
from collections import ChainMap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from activities.model import litellm_table
from activities.model.litellm_table import ModelTable
from activities.model.port import ModelFacts
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

RELEASE: Final = Path(__file__).with_name("release_models.json")  # written by tests/providers/write_release_models.py


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
        """What the first table that knows a model says of it, by its name in `Endpoint.model`; takes some 10 ms."""
        entries = (litellm_table.find_entry(table, model) for table in self._tables())
        return litellm_table.facts_of_entry(next(filter(None, entries), {}))

    def all(self) -> ModelTable:
        return ChainMap(*(dict(table) for table in self._tables()))

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

    def _tables(self) -> Iterator[ModelTable]:
        if (newer := self.fetched()) is not None:
            yield newer.models
        yield json.loads(RELEASE.read_bytes())["models"]
        yield litellm_table.read_table()
