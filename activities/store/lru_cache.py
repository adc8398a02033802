"""A cache of the values used last."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Up to `capacity` values, or of `size` together; drops the longest unused first."""

    def __init__(self, capacity: int, size: Callable[[V], int] = lambda _: 1) -> None:
        self._capacity = capacity
        self._size = size
        self._used = 0
        self._values: OrderedDict[K, V] = OrderedDict()

    def put(self, key: K, value: V) -> None:
        """Replace a value. One that is larger than the cache is not kept."""
        self.pop(key)
        if (size := self._size(value)) > self._capacity:
            return
        self._values[key] = value
        self._used += size
        while self._used > self._capacity:
            self.pop(next(iter(self._values)))

    def get(self, key: K) -> V | None:
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def pop(self, key: K) -> V | None:
        """Return and remove."""
        value = self._values.pop(key, None)
        if value is not None:
            self._used -= self._size(value)
        return value
