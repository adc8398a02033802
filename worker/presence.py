"""Presence: a worker's signs of life, by which all see which sessions wait for a worker, and which worker hangs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from activities.store import hosts
from workflows.domain.errors import Unavailable, UsageError

_LOG: Final = logging.getLogger("holdfast.presence")

Claim = Callable[[], Awaitable[None]]


class Presence:
    """Gives signs of life while the worker takes tasks: in the database, by its claims, and in a file.

    A claim says that something is this worker's and those of its kind, and raises UsageError where it is others'.
    `taken` is what it has raised by now, as may happen to a worker that was frozen.
    """

    def __init__(self, claims: Sequence[Claim], file: Path | None = None) -> None:
        self.claims = claims
        self.file = file
        self.taken: UsageError | None = None

    async def run(self, ending: asyncio.Event) -> None:
        """Give signs of life until cancelled, or until something claimed is others': then `ending` is set."""
        while self.claims or self.file is not None:
            try:
                await self.show()
            except (Unavailable, OSError) as error:
                _LOG.info("no sign of life given: %s", error)
            except UsageError as error:
                _LOG.error("this worker ends: %s", error)
                self.taken = error
                ending.set()
                return
            except Exception:  # nobody would notice its end
                _LOG.exception("no sign of life given")
            await asyncio.sleep(hosts.EVERY)

    async def show(self) -> None:
        """Give one sign. The file is no matter of the database: a worker that waits for that one is well.

        Raises UsageError, Unavailable.
        """
        if self.file is not None:
            self.file.touch()
        await self.claim()

    async def claim(self) -> None:
        """Have what is claimed: before a worker takes tasks. Raises UsageError, Unavailable."""
        for claim in self.claims:
            await claim()
