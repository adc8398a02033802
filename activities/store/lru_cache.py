"""A cache of the newest values."""

from collections import OrderedDict
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
_MAX_ENTRIES: Final = 500  # drops values that are never fetched


class LruCache(Generic[K, V]):
    """The newest values by key; drops the oldest first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[K, V] = OrderedDict()

    def put(self, key: K, value: V) -> None:
        self._kept[key] = value
        if len(self._kept) > _MAX_ENTRIES:
            self._kept.popitem(last=False)

    def get(self, key: K) -> V | None:
        return self._kept.get(key)

    def pop(self, key: K) -> V | None:
        """Return and remove."""
        return self._kept.pop(key, None)
