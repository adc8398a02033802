"""The version of each file that a session has seen last: that a read has shown, or a change has left."""

from collections.abc import Sequence
from typing import Final

from activities.store.database import dumps
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.effects import Target
from workflows.domain.errors import ToolError
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
