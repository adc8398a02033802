"""Worker processes that a trial starts and kills."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import psutil

from activities import failpoints
from tests.acceptance.fork_server import ForkRequest
from tests.polling import wait_until
from worker.settings import Settings
from worker.stack.state_file import Endpoints

_PROGRAM: Final = Path(__file__).with_name("fork_server.py")
_SERVES: Final = "working on"  # what a worker logs when it takes tasks
_SCALED: Final = (
    "idle_seconds",
    "history_events",
    "reconcile_seconds",
    "retry_budget_seconds",
    "retry_seconds",
    "sticky_seconds",
    "headers_seconds",
    "first_token_seconds",
)


@dataclass
class ForkServer:
    """A running `tests.acceptance.fork_server`."""

    orders: IO[bytes]

    async def start(self, environment: dict[str, str], log: Path, code: Path | None = None) -> "WorkerProcess":
        """Start a worker, perhaps of other code, and wait until it serves."""
        log.touch()
        order = ForkRequest(environment=environment, log=log, code=code)
        self.orders.write(order.model_dump_json().encode() + b"\n")
        self.orders.flush()
        await wait_until(log.with_suffix(".pid").exists)
        worker = WorkerProcess(psutil.Process(int(log.with_suffix(".pid").read_text())), log)
        await wait_until(lambda: worker.ended or _SERVES in log.read_text())
        assert not worker.ended, f"the worker ended: {log.read_text()[-2000:]}"
        return worker


@contextmanager
def fork_server(more: Mapping[str, str] | None = None) -> Iterator[ForkServer]:
    """A fork server that ends with the context; `more` extends its environment."""
    environment = {**os.environ, **(more or {})}
    with subprocess.Popen([sys.executable, "-P", _PROGRAM], stdin=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        yield ForkServer(process.stdin)


@dataclass
class WorkerProcess:
    """One worker, in its own session and process group."""

    process: psutil.Process
    log: Path

    @property
    def ended(self) -> bool:
        return self.log.with_suffix(".exit").exists()

    async def kill(self) -> None:
        """SIGKILL, now."""
        assert not self.ended, "only what serves can be killed"
        self.process.kill()
        await self.killed()

    async def killed(self) -> None:
        """Wait until a failpoint has killed it: a fault that does not fire is no pass."""
        await wait_until(lambda: self.ended)
        assert int(self.log.with_suffix(".exit").read_text()) == -signal.SIGKILL
        assert not self.process.is_running()

    async def freeze(self) -> None:
        """SIGSTOP, now."""
        assert not self.ended, "only what serves can be frozen"
        self.process.suspend()
        await self.frozen()

    async def frozen(self) -> None:
        """Wait until a failpoint has stopped it."""
        await wait_until(lambda: self.process.status() == psutil.STATUS_STOPPED)

    def wake(self) -> None:
        """Let a frozen worker go on, as a zombie: others have taken its work over."""
        self.process.resume()

    async def end(self) -> None:
        """End it with the trial, in any state."""
        if not self.ended:
            self.process.kill()
            await wait_until(lambda: self.ended)


def environment(settings: Settings, endpoints: Endpoints, test: Path, faults: str) -> dict[str, str]:
    """The environment of a trial's worker: its servers, queue and faults."""
    given = {name: getattr(settings, name) for name in _SCALED}
    numbers = {f"HOLDFAST_{name.upper()}": str(value) for name, value in given.items() if value is not None}
    own = {
        "HOLDFAST_HOME": str(settings.home),
        "HOLDFAST_TASK_QUEUE": settings.task_queue,
        "HOLDFAST_HOST": settings.host or "*",
        "HOLDFAST_POSTGRES_URL": endpoints.postgres_url,
        "TEMPORAL_ADDRESS": endpoints.temporal_address,
        "XDG_CONFIG_HOME": str(settings.config.parent),
    }
    armed = {failpoints.VARIABLE: faults, failpoints.TEST_VARIABLE: str(test)} if faults else {}
    return {**settings.environment, **numbers, **own, **armed}
