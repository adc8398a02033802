"""A cache of values derived from immutable ones, for as long as these live."""

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar
from weakref import ref

T = TypeVar("T")
V = TypeVar("V")


class IdentityCache(Generic[T, V]):
    """Keyed by identity: comparing values would cost as much as deriving anew."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, Hashable], tuple[V, ref[Any]]] = {}

    def get(self, value: T, kind: Hashable, make: Callable[[T], V]) -> V:
        """The result of `make`, dropped with the value."""
        key = id(value), kind
        if key in self._made:
            return self._made[key][0]
        made = make(value)
        self._made[key] = made, ref(value, lambda _: self._made.pop(key))
        return made

    def __len__(self) -> int:
        return len(self._made)
