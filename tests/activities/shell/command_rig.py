"""Runs a test's commands without the tool around them."""

import os
from collections.abc import Mapping
from pathlib import Path

from activities.shell.command_exit import wait_for_exit
from activities.shell.launch import launch
from activities.shell.lease import CallDirectory, CommandEnd, Lease, Process
from activities.shell.supervisor.command_spec import CommandSpec
from workflows.domain.ids import SessionId

SESSION = SessionId("ses_test")
CALL = f"prt_test{os.environ.get('PYTEST_XDIST_WORKER', '')}"  # processes are found by it, also those beside us


class CommandRig:
    """Starts and follows commands in the test's directory."""

    def __init__(self, root: Path, session: SessionId = SESSION) -> None:
        self.root = root
        self.session = session
        self.started: dict[str, CallDirectory] = {}

    def directory(self, call: str = CALL) -> CallDirectory:
        return self.started.setdefault(call, CallDirectory(self.root / "calls" / call))

    async def start(self, command: str, call: str = CALL, **limits: float) -> CallDirectory:
        directory = self.directory(call)
        await launch(directory, self.command_spec(command, call, limits))
        return directory

    def command_spec(self, command: str, call: str = CALL, limits: Mapping[str, float] | None = None) -> CommandSpec:
        """`limits`: timeout and lease in seconds, spool in bytes, if not the usual ones."""
        given = {"timeout": 60, "spool": 1e7, "lease": 60, **(limits or {})}
        return CommandSpec(
            arguments=["/bin/bash", "--noprofile", "--norc", "-c", command],
            directory=str(self.root),
            environment={"PATH": "/usr/bin:/bin", "HOLDFAST_CALL_ID": call, "LEDGER": str(self.ledger)},
            timeout=given["timeout"],
            spool_bytes=int(given["spool"]),
            lease_seconds=given["lease"],
            faults={},
            session=self.session,
        )

    async def run(self, command: str, **limits: float) -> CommandEnd | None:
        await launch(self.directory(), self.command_spec(command, limits=limits))
        return await self.end(self.directory())

    async def end(self, directory: CallDirectory) -> CommandEnd | None:
        async def look() -> None:
            return None

        return await wait_for_exit(directory, look)

    @property
    def ledger(self) -> Path:
        """A file to which commands append their effects."""
        return self.root / "ledger"

    def effects(self) -> list[str]:
        return self.ledger.read_text().splitlines() if self.ledger.exists() else []

    def lease(self) -> Lease:
        lease = self.directory().lease()
        assert lease is not None
        return lease

    def supervisor(self) -> Process:
        supervisor = self.lease().supervisor
        assert supervisor is not None
        return supervisor

    def shell(self) -> Process:
        shell = self.lease().shell
        assert shell is not None
        return shell
