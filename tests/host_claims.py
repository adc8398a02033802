"""Hosts and engines that change owners."""

import asyncio

from tests.polling import WAIT_TIMEOUT
from worker.liveness import OwnershipRenewal
from workflows.domain.errors import UsageError

LONG_AGO = b"UPDATE host SET seen_at = seen_at - interval '1 min' WHERE name = 'alpha'"


async def claim_when_free(renew: OwnershipRenewal) -> None:
    """Claim what has been silent; not in the first seconds of the database server."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while True:
            try:
                return await renew()
            except UsageError:
                await asyncio.sleep(0.1)
