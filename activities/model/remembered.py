"""What was made of values that never change, kept for as long as they live."""

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar
from weakref import ref

T = TypeVar("T")
V = TypeVar("V")


class Remembered(Generic[T, V]):
    """Found by identity: to compare values would cost as much as making it anew."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, Hashable], tuple[ref[Any], V]] = {}

    def get(self, value: T, kind: Hashable, make: Callable[[], V]) -> V:
        """What `make` gave for this very value and kind; it goes when the value does."""
        key = id(value), kind
        found = self._made.get(key)
        if found is not None and found[0]() is value:
            return found[1]
        made = make()
        self._made[key] = ref(value, lambda _: self._made.pop(key, None)), made
        return made

    def __len__(self) -> int:
        return len(self._made)
