"""A cache of values derived from immutable ones, for as long as these live."""

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar
from weakref import ref

T = TypeVar("T")
V = TypeVar("V")


class IdentityCache(Generic[T, V]):
    """One result for each value, of the newest kind. Keyed by identity: comparing values would cost as much as deriving
    anew.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[Hashable, V, ref[Any]]] = {}

    def get(self, value: T, kind: Hashable, make: Callable[[T], V]) -> V:
        """The result of `make`, dropped with the value, or for another kind."""
        key = id(value)
        if (found := self._made.get(key)) is not None and found[0] == kind:
            return found[1]
        made = make(value)
        self._made[key] = kind, made, ref(value, lambda _: self._made.pop(key))
        return made

    def __len__(self) -> int:
        return len(self._made)
