"""Makes values of the API from rows of the store, by the names of their fields.

Two classes with the same fields are on purpose: a row follows its query, a value of the API is a promise to doors.
"""

from collections.abc import Iterable
from typing import TypeVar

from workflows.domain.value import Value

V = TypeVar("V", bound=Value)


def from_row(kind: type[V], row: Value) -> V:
    """A value made from a row; a field with another name in the row has an alias."""
    return kind.model_validate(row, from_attributes=True)


def from_rows(kind: type[V], rows: Iterable[Value]) -> list[V]:
    return [from_row(kind, row) for row in rows]
