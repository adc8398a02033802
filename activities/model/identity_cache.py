"""A cache of values derived from immutable ones, for as long as these live."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, TypeVar
from weakref import ref

T = TypeVar("T")
V = TypeVar("V")


class IdentityCache(Generic[T, V]):
    """Keyed by identity: comparing values would cost as much as deriving anew. Values are not read: most of the
    thousands in each step have left the processor's caches.
    """

    def __init__(self) -> None:
        self._made: defaultdict[Hashable, dict[int, V]] = defaultdict(dict)
        self._living: dict[tuple[int, Hashable], ref[Any]] = {}

    def get(self, value: T, kind: Hashable, make: Callable[[T], V]) -> V:
        """The result of `make`, dropped with the value."""
        found = self._made[kind].get(id(value))
        return self._keep(value, kind, make(value)) if found is None else found

    def get_all(self, values: Iterable[T], kind: Hashable, make: Callable[[T], V]) -> list[V]:
        made = self._made[kind]
        return [
            self._keep(value, kind, make(value)) if (found := made.get(id(value))) is None else found
            for value in values
        ]

    def __len__(self) -> int:
        return len(self._living)

    def _keep(self, value: T, kind: Hashable, made: V) -> V:
        key = id(value)
        self._made[kind][key] = made

        def forget(_: ref[Any]) -> None:
            del self._made[kind][key], self._living[key, kind]

        self._living[key, kind] = ref(value, forget)
        return made
