"""Contexts: what a call runs in. Apart from the ledger, whose readers need no configuration."""

from typing import Final

from psycopg.rows import dict_row

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.errors import NotFound
from workflows.domain.ids import PartId
from workflows.domain.value import Value

_QUERIES: Final = Queries("calls")


class Context(Value):
    """Where a call's session works, the shell's environment, and the frozen configuration."""

    directory: str
    environment: dict[str, str]
    snapshot: ProjectSnapshot


async def of_call(database: Database, call: PartId) -> Context:
    """The context of a call. Raises NotFound."""
    async with database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(_QUERIES.context, {"call": call})
        row = await cursor.fetchone()
    if row is None:
        raise NotFound(f"There is no call {call!r}.")
    return Context.model_validate(row)
