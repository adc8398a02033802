"""The testbed of the figures: a stack of its own, the scripted model, and real worker processes.

HOLDFAST_POSTGRES_URL and TEMPORAL_ADDRESS name other servers: a database that may be filled, and a namespace.
"""

import asyncio
import json
import shutil
import sys
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
from temporalio.client import Client

from activities.store.migrate import migrate
from worker.connect import connect, register_attributes
from worker.scripted.model_server import ModelServer, serve
from worker.scripted.script import Script
from worker.settings import Settings, process_environment
from worker.stack import cluster
from worker.stack.cluster import Cluster
from worker.stack.down import down
from worker.stack.stack_supervisor import WORKER_ALLOCATOR
from worker.stack.state_file import Endpoints
from worker.stack.up import up

_ROOT: Final = Path(__file__).resolve().parent.parent
_INHERITED: Final = ("HOLDFAST_POSTGRES_BIN", "HOLDFAST_POSTGRES_USER", "HOLDFAST_TEMPORAL_BIN")
_EXTERNAL: Final = ("HOLDFAST_POSTGRES_URL", "TEMPORAL_")  # servers to measure instead of ours
_LOOPBACK: Final = "127.0.0.1,localhost"
WINDOWED: Final = "scripted/windowed"  # a model whose window is known, so its context is compacted
_WINDOW: Final = {"context": 100_000, "output": 8_000}  # tokens
_SERVES: Final = "working on"  # logged by a worker that takes tasks
_START_TIMEOUT: Final = 60.0  # seconds for a worker to serve
_POLL_INTERVAL: Final = 0.05  # seconds between reads of its log


@dataclass
class Testbed:
    """The servers, and how to reach them. The model plays `scripts`, which may grow."""

    folder: Path
    settings: Settings
    endpoints: Endpoints
    cluster: Cluster
    temporal: Client
    model: ModelServer
    scripts: dict[str, Script]
    processes: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def worker(self, queue: str, postgres_url: str) -> psutil.Process:
        """One of our workers on its own task queue; it lives as long as the testbed."""
        own = {"HOLDFAST_TASK_QUEUE": queue, "HOLDFAST_HOST": "*", "HOLDFAST_POSTGRES_URL": postgres_url}
        return await self.start("worker.serve", {**own, "TEMPORAL_ADDRESS": self.endpoints.temporal_address})

    async def start(self, module: str, environment: Mapping[str, str], *arguments: str) -> psutil.Process:
        """Start a worker process and wait until it takes tasks."""
        log = self.folder / f"{module}-{environment.get('HOLDFAST_TASK_QUEUE', '')}.log"
        with log.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", module, *arguments),
                env={**WORKER_ALLOCATOR, **self.settings.environment, **environment, "PYTHONPATH": str(_ROOT)},
                stdin=DEVNULL,
                stdout=file,
                stderr=file,
                cwd=self.folder,
            )
        self.processes.push_async_callback(_end, process)
        async with asyncio.timeout(_START_TIMEOUT):
            while _SERVES not in log.read_text():
                if process.returncode is not None:
                    raise RuntimeError(f"{module} has ended:\n{log.read_text()[-3000:]}")
                await asyncio.sleep(_POLL_INTERVAL)
        return psutil.Process(process.pid)


@asynccontextmanager
async def testbed() -> AsyncIterator[Testbed]:
    """A testbed in a fresh directory; nothing of it is left at the end."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as scratch:
        settings = _settings(Path(scratch))
        scripts: dict[str, Script] = {}
        try:
            endpoints = await up(settings, print, worker=False)
            await migrate(endpoints.postgres_url)
            temporal = await connect(settings, endpoints)
            if settings.external_temporal is not None:
                await register_attributes(temporal)
            async with serve(scripts) as model:
                configure(settings.config, model.url)
                found = await cluster.locate(settings)
                built = Testbed(Path(scratch), settings, endpoints, found, temporal, model, scripts)
                async with built.processes:
                    yield built
        finally:
            await _remove(settings)


def _settings(folder: Path) -> Settings:
    """Settings of a stack that shares only its programs with the user's."""
    user = process_environment()
    inherited = {
        name: value
        for name, value in user.items()
        if name in _INHERITED or name.startswith(_EXTERNAL) or not name.startswith("HOLDFAST_")
    }
    own = {"HOLDFAST_HOME": str(folder / "home"), "XDG_CONFIG_HOME": str(folder / "config")}
    return Settings.read(inherited | own | {"NO_PROXY": _LOOPBACK, "no_proxy": _LOOPBACK})


def configure(config: Path, url: str) -> None:
    """Point sessions to the scripted model."""
    options = {"baseURL": url, "apiKey": "the-script-needs-none"}
    id, _, windowed = WINDOWED.partition("/")
    models = {windowed: {"limit": _WINDOW}}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    config.mkdir(parents=True)
    (config / "opencode.json").write_text(json.dumps({"provider": {id: provider}}))


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()


async def _remove(settings: Settings) -> None:
    await down(settings, print)
    found = await cluster.locate(settings)
    for directory in (found.root, found.sockets):
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
