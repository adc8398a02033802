"""Parking at a new boot of the stack: what was at work waits for a person's word, where that is the policy."""

from collections.abc import Callable
from typing import Final

from activities.mint import Mint
from activities.store import parks
from activities.store.database import Database
from activities.store.journal import journal
from worker.settings import Resume, Settings
from workflows.domain.events import Actor
from workflows.domain.ids import ParkId, Prefix
from workflows.domain.parking import Doubt, ParkReason

_WORDS: Final = {
    Resume.ASK: "`holdfast asks` lists what wants to know whether it may go on.",
    Resume.NEVER: "They stay parked (HOLDFAST_RESUME=never) until `holdfast resume SESSION`.",
}


async def park_all(settings: Settings, postgres_url: str, say: Callable[[str], None]) -> None:
    """Park every session that has something to do; to be called while no worker runs."""
    reason = ParkReason.RESTART if settings.resume is Resume.ASK else ParkReason.KEPT
    parked = await _park(postgres_url, reason, Actor(subject="stack", method=settings.resume))
    if parked:
        say(f"Sessions that were at work when the stack ended: {parked}. {_WORDS[settings.resume]}")


async def park_restored(postgres_url: str, say: Callable[[str], None]) -> None:
    """Park every session of a restored database that has something to do: its rows are older than its work may be."""
    parked = await _park(postgres_url, ParkReason.RESTORED, Actor(subject="stack", method="restore"))
    if parked:
        say(f"Sessions that were at work when the backup was made: {parked}. {_WORDS[Resume.ASK]}")


async def _park(postgres_url: str, reason: ParkReason, actor: Actor) -> int:
    """Park whatever is at work, for this reason; how many that were."""
    mint = Mint()
    async with Database(postgres_url, size=1) as database:
        waiting = await parks.at_work(database)
        for session in waiting:
            async with journal(database, session, actor) as opened:
                await opened.locked()
                if opened.parked is None:
                    parks.park(opened, ParkId(mint.new(Prefix.PARK)), Doubt(reason=reason))
    return len(waiting)
