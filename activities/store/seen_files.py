"""What a session has seen of files: their last versions, that a read has shown or a change has left; and which call's
result carries a file of instructions, exactly one in a context, even after crashes and among parallel calls."""

import json
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from activities.store.database import Database, dumps
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.effects import Target
from workflows.domain.errors import ToolError
from workflows.domain.fence import Fence
from workflows.domain.file_changes import FileVersion
from workflows.domain.ids import PartId, SessionId

_QUERIES: Final = Queries("seen_files")


def store(journal: Journal, call: PartId, versions: Sequence[FileVersion]) -> None:
    """A change of a part of a file adds nothing where others have changed the file before it."""
    for each in versions:
        named = {"session": journal.session, "call": call, "file": dumps(each.file)}
        journal.write(_QUERIES.store, **each.model_dump() | named)


async def require_seen(reader: RowReader, session: SessionId, targets: Sequence[Target]) -> None:
    """Raises ToolError for a file that others have changed since the session has seen it. One that it has never seen
    may be replaced."""
    for target in targets:
        rows = await reader.rows(_QUERIES.digest, session=session, file=dumps(target.path))
        if rows and target.before not in (None, target.after, rows[0]["digest"]):
            raise ToolError(
                f"{target.path!r} has changed since you last read or wrote it. Nothing was written: that change would "
                "be lost. Read the file again, then make yours on what it holds now."
            )


async def claim_instructions(database: Database, call: PartId, fence: Fence, files: Sequence[str]) -> frozenset[str]:
    """Those that this call's result is to carry; later attempts get the same. None if another attempt has the call.

    A claim ends when its call fails, and when the context loses the result.
    """
    rows = await database.rows(
        _QUERIES.claim_instructions, call=call, fence=list(fence), files=[dumps(file) for file in files]
    )
    return frozenset(json.loads(row["file"]) for row in rows)


def copy_instructions(journal: Journal, call: PartId, loaded: JsonValue) -> None:
    """The claims of a copied read; `loaded`: what its result says of the files that it carries."""
    files = sorted({dumps(each) for each in loaded if isinstance(each, str)}) if isinstance(loaded, list) else []
    if files:
        journal.write(_QUERIES.copy_instructions, session=journal.session, call=call, files=files)
