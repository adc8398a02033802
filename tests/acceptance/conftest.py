"""Stacks and trials for acceptance tests: real processes, real SIGKILL, and the invariants at the end."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.acceptance import failure_report, workers
from tests.acceptance.fork_server import OURS
from tests.acceptance.scenarios import Mutate
from tests.acceptance.stacks import OwnStack, SharedStack
from tests.acceptance.trial import Trial
from tests.acceptance.workers import ForkServer
from tests.conftest import new_home, remove, settings_of
from worker.scripted.script import Script, ScriptedAnswer
from worker.settings import Settings
from worker.stack import cluster
from worker.stack.cluster import Cluster
from worker.stack.down import down
from worker.stack.layout import Layout
from worker.stack.state_file import Endpoints, PartName
from worker.stack.up import up

Open = Callable[..., AbstractAsyncContextManager[Trial]]
Failed = Callable[[], bool]

_ROOT: Final = Path(__file__).parents[2]
_FAILED: Final = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record a test's failure for fixtures that end after it."""
    report = yield
    item.stash[_FAILED] = report.failed or item.stash.get(_FAILED, False)
    return report


@pytest.fixture
def failed(request: pytest.FixtureRequest) -> Failed:
    """Whether the test has failed, for the end of a fixture."""
    return lambda: bool(request.node.stash.get(_FAILED, False))


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """The fork server of this process's trials."""
    with workers.fork_server() as started:
        yield started


@pytest.fixture(scope="session")
def shared_stack(settings: Settings, stack: Endpoints, template: Cluster, fork_server: ForkServer) -> SharedStack:
    """The stack of the test run."""
    return SharedStack(settings, stack, template, fork_server)


@pytest.fixture(scope="session")
def own_stack(fork_server: ForkServer) -> Iterator[OwnStack]:
    """A stack for this process's tests that kill servers, to spare the run's stack."""
    own = settings_of(new_home())
    try:
        yield asyncio.run(OwnStack.start(own, fork_server))
    finally:
        asyncio.run(remove(own))


@pytest.fixture
def stack_variables() -> dict[str, str]:
    """More of the environment of the test's own stack."""
    return {}


@pytest.fixture
async def whole_stack(
    stack_variables: dict[str, str], fork_server: ForkServer, tmp_path: Path, failed: Failed
) -> AsyncIterator[OwnStack]:
    """The test's own stack, with a worker that finds the scripted model; its home is kept on failure."""
    elsewhere = {"HOME": tmp_path, "XDG_CONFIG_HOME": tmp_path / "config", "TMPDIR": tmp_path / "tmp"}
    elsewhere["TMPDIR"].mkdir()
    own = settings_of(tmp_path / "home", **{name: str(path) for name, path in elsewhere.items()}, **stack_variables)
    try:
        yield OwnStack(own, await up(own, print), await cluster.locate(own), fork_server, worker=True)
        if failed():
            failure_report.print_log(Layout(home=own.home).log(PartName.WORKER))
    finally:
        await (down(own, print) if failed() else remove(own))


@pytest.fixture
async def open_unjudged(shared_stack: SharedStack, tmp_path: Path, failed: Failed) -> AsyncIterator[Open]:
    """Open a trial over a script (answers, or several scripts by name); the test asks for the verdict."""
    trials: list[Trial] = []

    @asynccontextmanager
    async def opened(
        *answers: ScriptedAnswer, scripts: Mapping[str, Script] | None = None, **changed: Any
    ) -> AsyncIterator[Trial]:
        async with shared_stack.trial(scripts or Script(answers=answers), tmp_path, **changed) as trial:
            trials.append(trial)
            yield trial

    yield opened
    for trial in trials if failed() else ():
        await trial.report()


@pytest.fixture
def open_trial(open_unjudged: Open) -> Open:
    """Open a trial that passes only if every invariant holds at its end."""

    @asynccontextmanager
    async def opened(*answers: ScriptedAnswer, **more: Any) -> AsyncIterator[Trial]:
        async with open_unjudged(*answers, **more) as trial:
            yield trial
            await trial.assert_no_violations()

    return opened


@pytest.fixture
def mutate(tmp_path: Path) -> Mutate:
    """Copy our packages with one line of a file changed; a further call changes another."""
    mutant = tmp_path / "mutant"

    def copy(file: str, line: str, instead: str) -> Path:
        for name in OURS if not mutant.exists() else ():
            shutil.copytree(_ROOT / name, mutant / name, ignore=shutil.ignore_patterns("__pycache__"))
        changed = mutant / file
        assert changed.read_text().count(line) == 1, f"{file} does not hold {line!r} once: choose another line"
        changed.write_text(changed.read_text().replace(line, instead))
        return mutant

    return copy
