"""`make production-test`: the topology of docker-compose.yml without containers, from Go modules.

PostgreSQL and Temporal's server of production with the settings, scripts and order of the compose file; what the
Dockerfile installs prepares them; two workers. Then the reference session, the death of a worker and a rolling restart,
with the invariants of the fault tests at the end, a backup, and one figure beside the floor of the same run.
"""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic

from bench import step_overhead, systems
from bench.figure_table import Figure, table
from bench.testbed import Testbed, configure
from tests.acceptance import workers
from tests.acceptance.trial import Trial, trial
from tests.production import backup_check, topology_checks
from tests.production.production_servers import RunningServers, image, run_program, servers
from tests.production.temporal_programs import build_programs
from worker.connect import connect, server_version
from worker.exit_process import exit_process
from worker.scripted.model_server import serve
from worker.scripted.script import Script
from worker.settings import Settings
from worker.stack.binaries import temporal
from worker.stack.state_file import Endpoints


async def main() -> int:
    """Run everything; 1 when something does not hold."""
    user = Settings.read()
    built = await build_programs()
    cli = await temporal.find(user, None)
    with tempfile.TemporaryDirectory(prefix="holdfast-production-") as scratch, workers.fork_server() as fork_server:
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
                await run_program(
                    installed / "python", "-P", "-m", "worker.prepare", env=own, cwd=directory, quiet=again
                )
            endpoints = Endpoints(postgres_url=served.postgres_url, temporal_address=served.temporal)
            client = await connect(settings, endpoints)
            print(f"Temporal {await server_version(client)} on PostgreSQL, namespace {client.namespace!r}")
            (directory / "trial").mkdir()
            async with trial(
                settings, endpoints, client, topology_checks.scripts(), directory / "trial", fork_server
            ) as opened:
                found = await _played(
                    opened, lambda: backup_check.check_backup(opened.harness, served, installed, directory)
                )
            print("\n".join(found) or "All holds.", flush=True)
            print("Measuring a step beside the floor: a minute.", flush=True)
            print(table(await _bench(settings, endpoints, served, directory)))
            print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    return 1 if found else 0


def _settings(user: Settings, served: RunningServers, directory: Path) -> Settings:
    """Those of docker-compose.yml's worker, with their own home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "TEMPORAL_"))}
    own = {"HOLDFAST_HOME": str(directory / "home"), "HOLDFAST_DRAIN_SECONDS": "2"}
    return Settings.read({**kept, **served.environment, **own})


async def _played(opened: Trial, keep: Callable[[], Awaitable[list[str]]]) -> list[str]:
    """Play the scenes in turn and `keep` their results; what does not hold."""
    opened.wasted = topology_checks.WASTED
    for _ in range(2):
        await opened.worker()
    async with _Reported("reference session"):
        await topology_checks.play_reference_session(opened)
    async with _Reported("both workers killed, one after the other, with a command running"):
        await topology_checks.kill_one(opened)
    async with _Reported(f"rolling restart of two workers with {topology_checks.SESSIONS} sessions at work"):
        codes = await topology_checks.rolling_restart(opened)
    homes = await topology_checks.hosts(opened)
    async with _Reported("a backup, and a new database made of it"):
        found = await keep()
    found += await topology_checks.violations(opened)
    found += [f"a worker that was asked to end has ended with code {code}" for code in codes if code != 0]
    if homes != {opened.harness.settings.host}:
        found.append(f"sessions were at home on {homes}")
    if found:
        await opened.report()
    return found


class _Reported:
    """Prints what is played, and how long it took."""

    def __init__(self, what: str) -> None:
        self.what = what

    async def __aenter__(self) -> None:
        self.began = monotonic()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        print(f"{'failed' if kind else 'ok':6}  {self.what} ({monotonic() - self.began:.0f} s)", flush=True)


async def _bench(settings: Settings, endpoints: Endpoints, served: RunningServers, directory: Path) -> list[Figure]:
    """The overhead of a step beside the floor's, on these servers, in turns."""
    scripts: dict[str, Script] = {}
    folder = directory / "bench"
    folder.mkdir()
    environment = {**settings.environment, "HOLDFAST_HOST": "*", "XDG_CONFIG_HOME": str(folder / "config")}
    own = Settings.read(environment)
    async with serve(scripts) as model:
        configure(own.config, model.url)
        testbed = Testbed(folder, own, endpoints, served.cluster, await connect(own, endpoints), model, scripts)
        async with testbed.processes:
            ours = await systems.start_holdfast(testbed, systems.project(testbed, "small"))
            floor = await systems.start_bare_temporal(testbed, ours)
            figures, _ = await step_overhead.alone(testbed, ours, floor)
            return figures


if __name__ == "__main__":
    exit_process(asyncio.run(main()))
