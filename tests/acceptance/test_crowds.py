"""Twenty sessions together while the parts that they share die (reliability.md 7)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, runs
from tests.acceptance.stack_parts import servers_down
from tests.acceptance.stacks import OwnStack
from tests.acceptance.trial import Trial
from worker.scripted.script import Script
from worker.stack.state_file import PartName
from workflows.domain.ids import SessionId

pytestmark = pytest.mark.acceptance

CROWD: Final = 20
PATIENCE: Final = 200.0  # seconds for all of them
TOKENS: Final = [(f"{number}-first", f"{number}-second") for number in range(CROWD)]
SCRIPTS: Final = {one: Script(answers=(runs(one), runs(two), DONE)) for one, two in TOKENS}
LINES: Final = 4 * CROWD  # of the effect ledger, when all is done


@pytest.fixture
def open_crowd(own_stack: OwnStack, tmp_path: Path) -> Open:
    """Open a trial for many sessions, on a stack whose servers may be killed.

    I9, the time until a session goes on, holds for one alone on the machine: here they queue for two cores.
    """

    @asynccontextmanager
    async def opened() -> AsyncIterator[Trial]:
        async with own_stack.trial(SCRIPTS, tmp_path) as trial:
            yield trial
            assert [each for each in await trial.verdict() if each.invariant != "I9"] == []

    return opened


@pytest.fixture
def kills(scale: int) -> range:
    """The lengths of the effect ledger at which a part is killed: three, or as many as `scale` asks for."""
    return range(8, LINES - 12, max(1, CROWD // scale))


async def begin(trial: Trial) -> list[SessionId]:
    await trial.worker()
    return await asyncio.gather(*(trial.start_session(f"[[script:{name}]] Run them.") for name in SCRIPTS))


async def finish(trial: Trial, sessions: list[SessionId]) -> None:
    """Wait until all rest, with each effect once."""
    for session in sessions:
        await trial.listed(session, lambda overview: not overview.working, PATIENCE)
    assert [trial.effects.count(token) for pair in TOKENS for token in pair] == [1] * 2 * CROWD


async def test_twenty_sessions_finish_while_their_worker_is_killed_three_times(open_crowd: Open, kills: range) -> None:
    async with open_crowd() as trial:
        trial.wasted = len(kills) * CROWD
        sessions = await begin(trial)
        for lines in kills:
            await trial.effects.written(lines)
            await trial.workers[-1].kill()
            await trial.worker()
        await finish(trial, sessions)


@pytest.mark.parametrize("name", [PartName.POSTGRES, PartName.TEMPORAL])
async def test_twenty_sessions_finish_while_a_server_is_killed_three_times(
    open_crowd: Open, own_stack: OwnStack, kills: range, name: PartName
) -> None:
    async with open_crowd() as trial:
        trial.wasted = len(kills) * CROWD
        sessions = await begin(trial)
        for lines in kills:
            await trial.effects.written(lines)
            async with servers_down(own_stack.settings, name):
                pass
        await trial.reconnect()
        await finish(trial, sessions)
