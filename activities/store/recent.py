"""Recent: what this process has just seen, so that it need not be read again."""

from collections import OrderedDict
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
_MOST: Final = 500  # values: nobody may come for them


class Recent(Generic[K, V]):
    """The newest values by key."""

    def __init__(self) -> None:
        self._kept: OrderedDict[K, V] = OrderedDict()

    def keep(self, key: K, value: V) -> None:
        self._kept[key] = value
        if len(self._kept) > _MOST:
            self._kept.popitem(last=False)

    def get(self, key: K) -> V | None:
        return self._kept.get(key)

    def take(self, key: K) -> V | None:
        """A value that nobody takes again."""
        return self._kept.pop(key, None)
