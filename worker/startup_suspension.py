"""Suspends working sessions at a new boot, if that is the policy, and what a backup has brought back."""

from collections.abc import Callable
from typing import Final

from activities.store import schedules, suspensions
from activities.store.database import Database
from activities.store.journal import session_journal
from worker.settings import ResumePolicy, Settings
from workflows.domain.actor import Actor
from workflows.domain.suspension import SuspendCause, SuspendReason

_HINTS: Final = {
    ResumePolicy.ASK: "`holdfast asks` lists those that ask whether they may continue.",
    ResumePolicy.NEVER: "They stay suspended (HOLDFAST_RESUME=never) until `holdfast resume SESSION`.",
}


async def suspend_all(settings: Settings, postgres_url: str, report: Callable[[str], None]) -> None:
    """Call it while no worker runs."""
    reason = SuspendReason.RESTART if settings.resume is ResumePolicy.ASK else SuspendReason.KEPT
    suspended = await _suspend(postgres_url, reason, Actor(subject="stack", method=settings.resume))
    if suspended:
        report(f"Sessions that were at work when the stack stopped: {suspended}. {_HINTS[settings.resume]}")


async def suspend_restored(postgres_url: str, report: Callable[[str], None]) -> None:
    """Suspend a restored database's sessions with work, and pause its schedules: its rows may be older than that work,
    and the schedules go on where the backup was made."""
    actor = Actor(subject="stack", method="restore")
    async with Database(postgres_url, size=1) as database:
        paused = await schedules.pause_all(database, "restored from a backup", actor)
    if paused:
        report(f"Schedules that are paused now: {len(paused)}. `holdfast schedules resume` lets them go on.")
    suspended = await _suspend(postgres_url, SuspendReason.RESTORED, actor)
    if suspended:
        report(f"Sessions that were at work when the backup was made: {suspended}. {_HINTS[ResumePolicy.ASK]}")


async def _suspend(postgres_url: str, reason: SuspendReason, actor: Actor) -> int:
    async with Database(postgres_url, size=1) as database:
        waiting = await suspensions.sessions_at_work(database)
        for session in waiting:
            async with session_journal(database, session, actor) as journal:
                await suspensions.suspend(journal, SuspendCause(reason=reason))
    return len(waiting)
