"""Hosts that change hands."""

import asyncio

from activities.store import hosts
from activities.store.database import Database
from activities.store.hosts import HostTaken
from tests.patience import PATIENCE

LONG_AGO = b"UPDATE host SET seen_at = seen_at - interval '1 min' WHERE name = 'alpha'"


async def taken(database: Database, host: str, machine: str) -> None:
    """Take a host that was silent for long; the first seconds of the database's server nobody can."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await hosts.seen(database, host, machine)
            except HostTaken:
                await asyncio.sleep(0.1)
