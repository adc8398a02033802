"""Snapshots: configurations that turns were opened with. They never change, so they are kept parsed."""

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from activities.store.queries import Queries
from activities.store.statements import Reads
from workflows.domain.errors import StaleFence
from workflows.domain.ids import SnapshotId

if TYPE_CHECKING:
    from workflows.domain.config.snapshot import ProjectSnapshot

_QUERIES: Final = Queries("snapshots")


class Snapshots:
    """The snapshots that were used last, by id."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._kept: OrderedDict[SnapshotId, ProjectSnapshot] = OrderedDict()

    async def get(self, reads: Reads, identity: SnapshotId) -> "ProjectSnapshot":
        """Raises StaleFence when it is not in the database."""
        from workflows.domain.config.snapshot import ProjectSnapshot  # a seventh of the imports of `holdfast asks`

        kept = self._kept.get(identity)
        if kept is None:
            found = await reads.rows(_QUERIES.get, id=identity)
            if not found:
                raise StaleFence(f"The configuration snapshot {identity!r} is not in the database.")
            kept = self._kept[identity] = ProjectSnapshot.model_validate(found[0]["body"])
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(identity)
        return kept
