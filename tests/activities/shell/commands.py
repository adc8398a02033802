"""Runs the commands of one test, without the tool around them."""

import os
from collections.abc import Mapping
from pathlib import Path

from activities.shell.follow import follow
from activities.shell.lease import CallDirectory, End, Lease, Process
from activities.shell.start import start
from activities.shell.supervisor.order import Order

CALL = f"prt_test{os.environ.get('PYTEST_XDIST_WORKER', '')}"  # processes are found by it, also those beside us


class Commands:
    """Starts and follows commands in the directory of a test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.started: dict[str, CallDirectory] = {}

    def directory(self, call: str = CALL) -> CallDirectory:
        return self.started.setdefault(call, CallDirectory(self.root / "calls" / call))

    async def start(self, command: str, call: str = CALL, **limits: float) -> CallDirectory:
        directory = self.directory(call)
        await start(directory, self.order(command, call, limits))
        return directory

    def order(self, command: str, call: str = CALL, limits: Mapping[str, float] | None = None) -> Order:
        """`limits` are timeout and lease in seconds, and spool in bytes, where a test wants others than usual."""
        given = {"timeout": 60, "spool": 1e7, "lease": 60, **(limits or {})}
        return Order(
            arguments=["/bin/bash", "--noprofile", "--norc", "-c", command],
            directory=str(self.root),
            environment={"PATH": "/usr/bin:/bin", "HOLDFAST_CALL_ID": call, "LEDGER": str(self.ledger)},
            timeout=given["timeout"],
            spool_bytes=int(given["spool"]),
            lease_seconds=given["lease"],
            faults={},
        )

    async def run(self, command: str, **limits: float) -> End | None:
        await start(self.directory(), self.order(command, limits=limits))
        return await self.end(self.directory())

    async def end(self, directory: CallDirectory) -> End | None:
        async def look() -> None:
            return None

        return await follow(directory, look)

    @property
    def ledger(self) -> Path:
        """A file that commands append to: their effects, counted from outside."""
        return self.root / "ledger"

    def effects(self) -> list[str]:
        return self.ledger.read_text().splitlines() if self.ledger.exists() else []

    def lease(self) -> Lease:
        lease = self.directory().lease()
        assert lease is not None
        return lease

    def keeper(self) -> Process:
        keeper = self.lease().keeper
        assert keeper is not None
        return keeper

    def shell(self) -> Process:
        shell = self.lease().shell
        assert shell is not None
        return shell
