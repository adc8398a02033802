"""Hosts and engines that change hands."""

import asyncio

from tests.patience import PATIENCE
from worker.presence import Claim
from workflows.domain.errors import UsageError

LONG_AGO = b"UPDATE host SET seen_at = seen_at - interval '1 min' WHERE name = 'alpha'"


async def taken(claim: Claim) -> None:
    """Take what was silent for long; the first seconds of the database's server nobody can."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await claim()
            except UsageError:
                await asyncio.sleep(0.1)
