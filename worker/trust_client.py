"""What a person decides about the files of a project (security.md 12)."""

from activities.store import trust_records
from activities.store.database import Database
from activities.store.trust_records import TrustKind, TrustRecordRow, TrustVerification
from workflows.domain.actor import Actor
from workflows.domain.config.trust_items import TrustContent
from workflows.domain.views.decisions import TrustDecision


class TrustClient:
    """What people accept of this host's projects, which are named by their work trees."""

    def __init__(self, database: Database, host: str | None, actor: Actor) -> None:
        self._database = database
        self._host = host
        self._actor = actor

    async def decide(self, worktree: str, directory: str, content: TrustContent, *, accept: bool) -> TrustDecision:
        """What is accepted counts from the next turns on, as long as the files hold exactly this."""
        decided = await trust_records.decide(
            self._database, self._host, worktree, directory, content, self._actor, accept=accept
        )
        return _decision(decided)

    async def decision(self, worktree: str, content: TrustContent) -> TrustDecision | None:
        found = await trust_records.decision(self._database, self._host, worktree, content.digest)
        return None if found is None else _decision(found)

    async def accepted_before(self, worktree: str, directory: str) -> TrustContent | None:
        """What was accepted last, for showing how it has changed."""
        return await trust_records.accepted_before(self._database, self._host, worktree, directory)

    async def revoke(self, worktree: str, directory: str) -> None:
        """Everything that was accepted for the project. Raises Conflict if nothing was."""
        await trust_records.revoke(self._database, self._host, worktree, directory, self._actor)

    async def verify(self) -> list[TrustVerification]:
        """Recompute the hash chains of all projects' records."""
        return await trust_records.verify(self._database)


def _decision(row: TrustRecordRow) -> TrustDecision:
    accepted = row.kind is TrustKind.ACCEPTED
    return TrustDecision(seq=row.seq, accepted=accepted, author=row.author, method=row.method, at=row.at)
