"""Parking by an activity: a session whose work cannot go on waits for a person."""

from activities.mint import Mint
from activities.store import parks
from activities.store.database import Database
from activities.store.journal import WORKER, journal
from workflows.domain.ids import ParkId, Prefix
from workflows.domain.parking import Doubt, ParkReason
from workflows.domain.wire import Request


async def park_broken(database: Database, request: Request, mint: Mint, said: str) -> bool:
    """Park a session that our own code keeps failing for; whether it is parked: one that has ended is not."""
    async with journal(database, request.session, WORKER, chain_start=request.chain) as opened:
        await opened.locked()
        if opened.parked is None and not opened.ended:
            parks.park(opened, ParkId(mint.new(Prefix.PARK)), Doubt(reason=ParkReason.BROKEN, now=said))
        return not opened.ended
