"""`make production-test`: the topology of docker-compose.yml without containers, from Go modules.

PostgreSQL and Temporal's server of production with the settings, scripts and order of the compose file; what the
Dockerfile installs prepares them; two workers. Then the reference session, the death of a worker and a rolling restart,
with the invariants of the fault tests at the end, a backup, and one figure beside the floor of the same run.
"""

import asyncio
import gc
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic

from bench import sides, step_overhead
from bench.stage import Stage, configure
from bench.table import Figure, table
from tests.acceptance import workers
from tests.acceptance.trial import Trial, trial
from tests.production import keeping, scenes
from tests.production.programs import programs
from tests.production.servers import Served, done, image, servers
from worker.connect import connect, version
from worker.scripted.script import Script
from worker.scripted.server import serve
from worker.settings import Settings
from worker.stack.binaries import temporal
from worker.stack.state import Endpoints


async def main() -> int:
    """Run it all; 1 when something does not hold."""
    user = Settings.read()
    built = await programs(user)
    cli = await temporal.obtain(user, None, print)
    with tempfile.TemporaryDirectory(prefix="holdfast-production-") as scratch, workers.nursery() as nursery:
        directory = Path(scratch)
        directory.chmod(0o711)  # PostgreSQL may run as another user
        print(
            "Starting PostgreSQL and Temporal as docker-compose.yml does, and installing what the image holds.",
            flush=True,
        )
        async with servers(user, built, cli, directory) as served, image(directory) as installed:
            settings = _settings(user, served, directory)
            for again in (False, True):  # which changes nothing
                own = dict(settings.environment)
                await done(installed / "python", "-P", "-m", "worker.prepare", env=own, cwd=directory, quiet=again)
            endpoints = Endpoints(postgres_url=served.postgres_url, temporal_address=served.temporal)
            client = await connect(settings, endpoints)
            print(f"Temporal {await version(client)} on PostgreSQL, namespace {client.namespace!r}")
            (directory / "trial").mkdir()
            async with trial(settings, endpoints, client, scenes.scripts(), directory / "trial", nursery) as opened:
                found = await _played(opened, lambda: keeping.kept(opened.house, served, installed, directory))
            print("\n".join(found) or "All holds.", flush=True)
            print("Measuring a step beside the floor: a minute.", flush=True)
            print(table(await _bench(settings, endpoints, served, directory)))
            print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    return 1 if found else 0


def _settings(user: Settings, served: Served, directory: Path) -> Settings:
    """Those of docker-compose.yml's worker, with a home of their own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "TEMPORAL_"))}
    own = {"HOLDFAST_HOME": str(directory / "home"), "HOLDFAST_CACHE": str(user.cache), "HOLDFAST_DRAIN_SECONDS": "2"}
    return Settings.read({**kept, **served.environment, **own})


async def _played(opened: Trial, keep: Callable[[], Awaitable[list[str]]]) -> list[str]:
    """Play the scenes, one after the other, and `keep` what they leave; what does not hold."""
    opened.wasted = scenes.WASTED
    for _ in range(2):
        await opened.worker()
    async with _told("reference session"):
        await scenes.reference_session(opened)
    async with _told("both workers killed, one after the other, with a command running"):
        await scenes.kill_one(opened)
    async with _told(f"rolling restart of two workers with {scenes.SESSIONS} sessions at work"):
        codes = await scenes.rolling_restart(opened)
    homes = await scenes.hosts(opened)
    async with _told("a backup, and a new database made of it"):
        found = await keep()
    found += await scenes.wrong(opened)
    found += [f"a worker that was asked to end has ended with code {code}" for code in codes if code != 0]
    if homes != {opened.house.settings.host}:
        found.append(f"sessions were at home on {homes}")
    if found:
        await opened.tell()
    return found


class _told:
    """Says what is played, and how long it took."""

    def __init__(self, what: str) -> None:
        self.what = what

    async def __aenter__(self) -> None:
        self.began = monotonic()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        print(f"{'failed' if kind else 'ok':6}  {self.what} ({monotonic() - self.began:.0f} s)", flush=True)


async def _bench(settings: Settings, endpoints: Endpoints, served: Served, directory: Path) -> list[Figure]:
    """The overhead of a step beside the floor, on these servers, in turns."""
    scripts: dict[str, Script] = {}
    folder = directory / "bench"
    folder.mkdir()
    environment = {**settings.environment, "HOLDFAST_HOST": "*", "XDG_CONFIG_HOME": str(folder / "config")}
    own = Settings.read(environment)
    async with serve(scripts) as model:
        configure(own.config, model.url)
        stage = Stage(folder, own, endpoints, served.cluster, await connect(own, endpoints), model, scripts)
        async with stage.processes:
            ours = await sides.ours(stage, sides.project(stage, "small"))
            floor = await sides.bare(stage, ours)
            figures, _ = await step_overhead.alone(stage, ours, floor)
            return figures


if __name__ == "__main__":
    code = asyncio.run(main())
    gc.collect()  # a client of Temporal that is still there when the interpreter ends may abort it
    sys.exit(code)
