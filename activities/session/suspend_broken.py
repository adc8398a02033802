"""Suspends a session whose work cannot continue until a person acts."""

from activities.mint import Mint
from activities.store import suspensions
from activities.store.journal import Journal
from workflows.domain.ids import Prefix, SuspensionId
from workflows.domain.suspension import SuspendCause, SuspendReason


async def suspend_broken(journal: Journal, mint: Mint, reason: str) -> bool:
    """Suspend a session that our own code keeps failing for; False when it has ended."""
    await journal.locked()
    if journal.suspension is None and not journal.ended:
        suspensions.suspend(
            journal,
            SuspensionId(mint.new(Prefix.SUSPENSION)),
            SuspendCause(reason=SuspendReason.BROKEN, now=reason),
        )
    return not journal.ended
