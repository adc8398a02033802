"""Sessions as a person lists them."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from activities.project import worktree
from activities.store import budgets, overviews, projects, reservations, sessions, statistics
from activities.store.budgets import BudgetRow
from worker.client_part import ClientPart
from workflows.domain.budgets import BudgetOverview, Usage
from workflows.domain.errors import Conflict
from workflows.domain.ids import SessionId
from workflows.domain.session_filter import EVERY_SESSION, SessionFilter
from workflows.domain.statistics import Statistics
from workflows.domain.views.sessions import Overview, Project, SessionOrigin, Totals


class SessionReader(ClientPart):
    """`host` is this machine's name in a shared database."""

    async def list_recent(self, wanted: SessionFilter = EVERY_SESSION, limit: int | None = 1000) -> list[Overview]:
        """People's sessions with their subagents' behind each, the last changed first; those where one of them is
        `wanted`."""
        roots = None
        if not wanted.empty:
            roots, _ = await overviews.search(self.database, wanted, self.settings.host, limit)
        return await overviews.list_recent(self.database, roots=roots, limit=limit)

    async def count(self, wanted: SessionFilter = EVERY_SESSION) -> int:
        if wanted.empty:
            return await overviews.count(self.database)
        return (await overviews.search(self.database, wanted, self.settings.host, 1))[1]

    async def statistics(
        self, wanted: SessionFilter, *, session: SessionId | None = None, offset: timedelta, limit: int
    ) -> Statistics:
        """Statistics of all answers, or of those of a `session` and its subagents; the filter's times are the
        answers'."""
        tree = None if session is None else await sessions.tree(self.database, session)
        return await statistics.read(
            self.database, wanted, host=self.settings.host, sessions=tree, offset=offset, limit=limit
        )

    async def projects(self) -> list[Project]:
        """The last changed first. Ids of this host's are found at the first time."""
        rows = await projects.list_all(self.database)
        ids = await asyncio.gather(*(self._project_id(row) for row in rows))
        return [row.model_copy(update={"id": id}) for row, id in zip(rows, ids, strict=True)]

    async def _project_id(self, row: Project) -> str | None:
        if row.id is not None or row.host != self.settings.host:
            return row.id
        root = Path(row.worktree)
        if row.vcs and not root.is_dir():
            return None
        found = await worktree.project_id(root if row.vcs else None, root)
        if not (row.vcs and found.startswith(worktree.PATH_PREFIX)):  # it may have a first commit tomorrow
            await projects.set_id(self.database, row.host, row.worktree, found)
        return found

    async def last(self, directory: str) -> SessionId | None:
        """The directory's session last started or prompted by a person."""
        return await sessions.last_used(self.database, directory, self.settings.host)

    async def ids(self) -> list[SessionId]:
        return await sessions.ids(self.database)

    async def get(self, session: SessionId) -> Overview:
        """Raises NotFound."""
        return await overviews.get(self.database, session)

    async def origin(self, session: SessionId) -> SessionOrigin:
        """Raises NotFound."""
        return SessionOrigin.model_validate(await sessions.origin(self.database, session), from_attributes=True)

    async def require_unarchived(self, session: SessionId) -> Overview:
        """Raises NotFound, Conflict."""
        found = await self.get(session)
        if found.archive is not None:
            raise Conflict(f"Session {session!r} {found.archive}.")
        return found

    async def require_contents(self, session: SessionId) -> Overview:
        """Raises NotFound, Conflict for a session that is archived or deleted."""
        found = await self.require_unarchived(session)
        if found.status == "deleted":
            raise Conflict(f"Session {session!r} was deleted: `holdfast log {session} --events` shows what remains.")
        return found

    async def below(self, session: SessionId) -> list[Overview]:
        """The sessions of its own subagents, the oldest first; not those further down."""
        found = await overviews.list_recent(self.database, roots=[session])
        return [each for each in found if each.parent == session]

    async def tree(self, session: SessionId) -> list[SessionId]:
        """The session and its subagents, each after its parent. Raises NotFound."""
        await self.require_unarchived(session)
        return await sessions.tree(self.database, session)

    async def budgets(self, session: SessionId) -> list[BudgetOverview]:
        """The budgets with limits."""
        return await self._budgets(await budgets.of_session(self.database, session))

    async def budgets_of_day(self) -> list[BudgetOverview]:
        """The budgets of this host's present day."""
        return await self._budgets(await budgets.of_day(self.database, self.settings.host))

    async def _budgets(self, rows: Sequence[BudgetRow]) -> list[BudgetOverview]:
        limited = [row for row in rows if row.limits.any]
        reserved = await reservations.of_others(self.database, [row.id for row in limited]) if limited else {}
        return [
            BudgetOverview(
                **row.model_dump(include={"id", "scope", "worktree", "estimated"}),
                limits=row.limits,
                used=row.used,
                reserved=Usage() if row.turned else reserved.get(row.id, Usage()),
            )
            for row in limited
        ]

    async def compacting_since(self, session: SessionId) -> datetime | None:
        """Since when its context is being summarised; None if it is not."""
        return await sessions.compacting_since(self.database, session)

    async def totals(self, session: SessionId) -> Totals:
        """Includes its subagents."""
        return await sessions.totals(self.database, session)
