"""The configurations of turns. They never change, so they are cached parsed."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from activities.store.lru_cache import LruCache
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.errors import StaleFence
from workflows.domain.ids import TurnConfigId
from workflows.domain.permissions.rulesets import Rulesets

if TYPE_CHECKING:
    from workflows.domain.config.turn_config import TurnConfig

_QUERIES: Final = Queries("turn_configs")
_MAX_ENTRIES: Final = 64


class TurnConfigCache:
    """The configurations that were used last."""

    def __init__(self) -> None:
        self._cached: LruCache[TurnConfigId, TurnConfig] = LruCache(_MAX_ENTRIES)

    async def get(self, reader: RowReader, identity: TurnConfigId) -> "TurnConfig":
        """Raises StaleFence for an unknown one."""
        from workflows.domain.config.turn_config import TurnConfig  # a seventh of the imports of `holdfast asks`

        cached = self._cached.get(identity)
        if cached is None:
            found = await reader.rows(_QUERIES.get, ids=[identity])
            if not found:
                raise StaleFence(f"The configuration {identity!r} is not in the database.")
            cached = TurnConfig.model_validate(found[0]["body"])
            self._cached.put(identity, cached)
        return cached


async def rules(reader: RowReader, ids: Collection[TurnConfigId]) -> dict[TurnConfigId, Rulesets]:
    """The rules of each configuration alone, so that commands need not load the whole model."""
    rows = await reader.rows(_QUERIES.get, ids=sorted(ids)) if ids else []
    # not in SQL: PostgreSQL cannot look into a body with NUL, as instructions may have
    return {row["id"]: Rulesets.model_validate(row["body"]["rules"]) for row in rows}
