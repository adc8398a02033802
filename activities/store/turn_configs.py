"""The configurations of turns. They never change, so they are cached parsed."""

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.errors import StaleFence
from workflows.domain.ids import TurnConfigId

if TYPE_CHECKING:
    from workflows.domain.config.turn_config import TurnConfig

_QUERIES: Final = Queries("turn_configs")


class TurnConfigCache:
    """The configurations used last, by id."""

    def __init__(self, max_entries: int = 64) -> None:
        self._max_entries = max_entries
        self._cached: OrderedDict[TurnConfigId, TurnConfig] = OrderedDict()

    async def get(self, reader: RowReader, identity: TurnConfigId) -> "TurnConfig":
        """A configuration by id. Raises StaleFence for an unknown one."""
        from workflows.domain.config.turn_config import TurnConfig  # a seventh of the imports of `holdfast asks`

        cached = self._cached.get(identity)
        if cached is None:
            found = await reader.rows(_QUERIES.get, id=identity)
            if not found:
                raise StaleFence(f"The configuration {identity!r} is not in the database.")
            cached = self._cached[identity] = TurnConfig.model_validate(found[0]["body"])
            while len(self._cached) > self._max_entries:
                self._cached.popitem(last=False)
        self._cached.move_to_end(identity)
        return cached
