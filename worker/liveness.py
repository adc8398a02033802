"""A worker's heartbeat."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from activities.store import hosts
from worker.background_tasks import every
from workflows.domain.errors import UsageError

_LOG: Final = logging.getLogger("holdfast.liveness")

OwnershipRenewal = Callable[[], Awaitable[None]]


class LivenessReporter:
    """Renews the worker's ownership in the database, touches a file: shows hanging workers.

    `ownership_error`: others have taken over, e.g. from a frozen worker.
    """

    def __init__(self, renewals: Sequence[OwnershipRenewal], file: Path | None = None) -> None:
        self.renewals = renewals
        self.file = file
        self.ownership_error: UsageError | None = None

    async def run(self, ending: asyncio.Event) -> None:
        """Report until cancelled; on lost ownership, set `ending`."""
        if self.renewals or self.file is not None:
            await every(hosts.HEARTBEAT_INTERVAL, lambda: self._report(ending), _LOG)

    async def _report(self, ending: asyncio.Event) -> None:
        if self.ownership_error is None:
            try:
                await self.report()
            except UsageError as error:
                _LOG.error("this worker ends: %s", error)
                self.ownership_error = error
                ending.set()

    async def report(self) -> None:
        """Raises UsageError, Unavailable."""
        if self.file is not None:  # first: a worker that waits for its database is alive
            self.file.touch()
        await self.renew()

    async def renew(self) -> None:
        """Claim or renew before taking tasks. Raises UsageError, Unavailable."""
        for renew in self.renewals:
            await renew()
