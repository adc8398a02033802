"""Projects: work trees, and directories outside any, where sessions were started."""

from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from activities.store.statements import Statements
from workflows.domain.views.sessions import Project

_QUERIES: Final = Queries("projects")


def add(batch: Statements, host: str | None, worktree: str, vcs: str | None) -> None:
    """Add a project; an existing one stays."""
    batch.write(_QUERIES.add, host=host, worktree=worktree, vcs=vcs)


async def list_all(database: Database) -> list[Project]:
    """All projects, the last changed first."""
    return [Project(**row) for row in await database.rows(_QUERIES.list)]


async def set_id(database: Database, host: str | None, worktree: str, id: str) -> None:
    await database.rows(_QUERIES.set_id, host=host, worktree=worktree, id=id)
