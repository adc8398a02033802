"""Which call's result carries a file of instructions: exactly one in a context, even after crashes and among parallel
calls."""

import json
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from activities.store.database import Database, dumps
from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.fence import Fence
from workflows.domain.ids import PartId

_QUERIES: Final = Queries("attached_instructions")


async def claim(database: Database, call: PartId, fence: Fence, files: Sequence[str]) -> frozenset[str]:
    """Those that this call's result is to carry; later attempts get the same. None if another attempt has the call.

    A claim ends when its call fails, and when the context loses the result.
    """
    rows = await database.rows(_QUERIES.claim, call=call, fence=list(fence), files=[dumps(file) for file in files])
    return frozenset(json.loads(row["file"]) for row in rows)


def copy(journal: Journal, call: PartId, loaded: JsonValue) -> None:
    """The claims of a copied read; `loaded`: what its result says of the files that it carries."""
    files = sorted({dumps(each) for each in loaded if isinstance(each, str)}) if isinstance(loaded, list) else []
    if files:
        journal.write(_QUERIES.copy, session=journal.session, call=call, files=files)
