"""One stack per test run, one database and one task queue per test."""

import asyncio
import gc
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import hypothesis
import pytest
from pydantic import ValidationError
from temporalio.client import Client

from tests import databases
from worker.connect import connect
from worker.settings import Settings
from worker.stack import cluster, processes
from worker.stack.cluster import Cluster
from worker.stack.down import down
from worker.stack.processes import ProcessRef
from worker.stack.state_file import Endpoints
from worker.stack.up import up

# The time to draw or run an example depends on the machine only.
hypothesis.settings.register_profile("holdfast", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("holdfast")

_HOME = pytest.StashKey[Path]()
_BROKEN: Final[list[str]] = []
_PREFIX = "holdfast-tests-"
_OWNER = "owner.json"
_DYNAMIC: Final = (
    'history.workflowIdReuseMinimalInterval="1ms"',
    # Every test has task queues of its own, whose four parts would keep the server busy for minutes after it.
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
    "frontend.WorkflowPauseEnabled=true",
)


# Reading the usual authorities takes 40 ms each, for each model client; no test asks a provider on the internet.
AUTHORITIES: Final = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--scale", type=int, default=1, help="how many times as much the tests that count do (default: 1)")


@pytest.fixture(scope="session")
def scale(request: pytest.FixtureRequest) -> int:
    """The factor for numbers of sessions, rounds and cuts."""
    factor: int = request.config.getoption("--scale")
    return factor


def pytest_configure(config: pytest.Config) -> None:
    """Choose the home of the run's stack; the processes of pytest-xdist get it."""
    if (told := getattr(config, "workerinput", None)) is not None:
        config.stash[_HOME] = Path(told["holdfast_home"])
        return
    config.stash[_HOME] = new_home()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["holdfast_home"] = str(node.config.stash[_HOME])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deal the files of acceptance tests, which mostly wait, evenly between the others, which need the processor:
    each process of pytest-xdist begins with an equal part of this order. The last by name has the longest tests: begun
    at the end, they would keep one process busy and leave the others idle."""
    waiting = [item for item in items if item.get_closest_marker("acceptance")]
    working = [item for item in items if not item.get_closest_marker("acceptance")]
    places: dict[Path, float] = {}
    for group in (waiting[::-1], working):
        for index, item in enumerate(group):
            places.setdefault(item.path, index / len(group))
    items.sort(key=lambda item: places[item.path])


def pytest_internalerror(excrepr: object) -> None:
    """Keep errors outside of tests: of a worker's, pytest-xdist prints pages of consequences."""
    _BROKEN.append(str(excrepr))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the stack, also after Ctrl-C, and those of killed runs."""
    if hasattr(config, "workerinput"):
        return
    for home in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if home == config.stash[_HOME] or not _owner_lives(home):
            asyncio.run(remove(settings_of(home)))
    gc.collect()  # a Temporal client left at the interpreter's end may abort it
    for first in _BROKEN[:1]:
        print(f"The run was broken off by this:\n{first}", file=sys.stderr)


def settings_of(home: Path, **variables: str) -> Settings:
    """Settings of a stack that shares only the cache of programs with the user's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TEMPORAL_", *AUTHORITIES))}
    own = {"HOLDFAST_HOME": str(home), "HOLDFAST_TEMPORAL_DYNAMIC": " ".join(_DYNAMIC), "SSL_CERT_DIR": str(home)}
    return Settings.read(kept | own | variables)


def new_home() -> Path:
    """A home for a stack of this process; a later run removes it if this one is killed."""
    home = Path(tempfile.mkdtemp(prefix=_PREFIX))
    (home / _OWNER).write_text(processes.current_process().model_dump_json())
    return home


async def remove(settings: Settings) -> None:
    """Stop a stack and remove all its files."""
    await down(settings, _quiet)
    found = await cluster.locate(settings)
    for directory in (settings.home, found.root, found.sockets):
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


@pytest.fixture(scope="session")
def settings(request: pytest.FixtureRequest) -> Settings:
    """The settings of the run's stack."""
    return settings_of(request.config.stash[_HOME])


@pytest.fixture(scope="session")
def stack(settings: Settings) -> Endpoints:
    """The servers of the run's stack, started on first use; no worker."""
    return asyncio.run(up(settings, _quiet, worker=False))


@pytest.fixture(scope="session")
def template(settings: Settings, stack: Endpoints) -> Cluster:
    """The run's cluster with a migrated database to copy."""
    return asyncio.run(databases.template(settings))


@pytest.fixture
def postgres_url(template: Cluster) -> Iterator[str]:
    """A database of the test's own, migrated and empty."""
    with databases.new_database(template) as url:
        yield url


@pytest.fixture
async def temporal_client(settings: Settings, stack: Endpoints) -> Client:
    """A client of the run's Temporal, with our data converter."""
    return await connect(settings, stack)


@pytest.fixture
def task_queue() -> str:
    """A task queue of the test's own."""
    return f"test-{uuid.uuid4().hex}"


def _owner_lives(home: Path) -> bool:
    try:
        return ProcessRef.model_validate_json((home / _OWNER).read_bytes()).alive
    except (OSError, ValidationError):
        return True  # another process is making or removing it


def _quiet(_: str) -> None: ...
