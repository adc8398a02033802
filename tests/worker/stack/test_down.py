"""Taking down what runs, what no longer runs, and what does not run yet."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil
import pytest

from activities.shell.lease import CommandEnd
from activities.shell.left_processes import find_left
from tests.activities.shell.command_rig import CALL, CommandRig
from tests.activities.shell.conftest import commands as commands
from tests.conftest import remove, settings_of
from tests.polling import WAIT_TIMEOUT, wait_until
from worker.settings import Settings
from worker.stack import processes, state_file
from worker.stack.down import down
from worker.stack.layout import Layout
from worker.stack.processes import ProcessRef
from worker.stack.state_file import Endpoints, StackPhase, StackState
from worker.stack.status import status
from worker.stack.up import up

_UP: Final = (sys.executable, "-P", "-m", "worker.cli.main", "up")
_STANDS_STILL: Final = """
import os, signal, sys
if "worker.stack.stack_supervisor" in sys.orig_argv:
    os.kill(os.getpid(), signal.SIGSTOP)
"""


async def test_a_stack_that_was_killed_and_taken_down_since_was_stopped_on_purpose(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    gone = ProcessRef(pid=1, born="before the reboot")
    served = Endpoints(postgres_url="postgresql://x", temporal_address="127.0.0.1:1")
    state_file.write(
        Layout(home=tmp_path).state, StackState(supervisor=gone, phase=StackPhase.SERVING, endpoints=served)
    )
    assert not status(settings).stopped

    await down(settings, print)

    assert status(settings).stopped


async def test_a_stack_that_never_ran_leaves_no_trace(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "home")

    await down(settings, print)

    assert not settings.home.exists()


async def test_what_ended_calls_have_left_running_is_ended_and_a_command_of_an_open_call_runs_on(
    commands: CommandRig, tmp_path: Path
) -> None:
    over = await commands.start("setsid sleep 97 & echo started", call=f"{CALL}_over")
    await commands.end(over)
    gate = commands.root / "gate"
    running = await commands.start(f"mkfifo {gate}; setsid sleep 98 & read < {gate}; exit 3")
    (left,), reported = find_left(tmp_path), list[str]()

    await down(settings_of(tmp_path), reported.append)

    assert find_left(tmp_path) == [] and not psutil.pid_exists(left.pid)
    assert reported == [f"Ended process {left.pid}, which {left.session} had left running."]
    assert running.end() is None and commands.shell().alive()
    await wait_until(gate.exists)
    await asyncio.to_thread(gate.write_text, "go\n")
    assert await commands.end(running) == CommandEnd(status=3, left_running=True)


async def test_a_supervisor_whose_up_was_killed_before_it_could_speak_is_stopped(
    late: Settings, orphan: ProcessRef
) -> None:
    await down(late, lambda _: orphan.kill(signal.SIGCONT))

    assert not orphan.alive
    assert status(late).stopped


async def test_a_supervisor_whose_up_was_killed_before_it_could_speak_is_taken_by_the_next_up(
    late: Settings, orphan: ProcessRef
) -> None:
    async def go_on() -> None:
        orphan.kill(signal.SIGCONT)

    await asyncio.gather(up(late, print, worker=False), go_on())  # in this order: it begins with a look

    assert status(late).supervisor == orphan.pid


@pytest.fixture
async def late(tmp_path: Path) -> AsyncIterator[Settings]:
    """Settings of a stack whose supervisors pause at first; its database is elsewhere, and need not exist."""
    (tmp_path / "sitecustomize.py").write_text(_STANDS_STILL)
    variables = {"PYTHONPATH": os.fspath(tmp_path), "HOLDFAST_POSTGRES_URL": "postgresql://elsewhere.invalid/db"}
    settings = settings_of(tmp_path / "home", **variables)
    yield settings
    await remove(settings)


@pytest.fixture
async def orphan(late: Settings) -> AsyncIterator[ProcessRef]:
    """A supervisor paused before its first word, whose `holdfast up` was killed."""
    command = await asyncio.create_subprocess_exec(*_UP, env=late.environment)
    await wait_until(lambda: _still(command.pid) is not None)
    supervisor = _still(command.pid)
    assert supervisor is not None
    command.kill()
    await command.wait()
    yield supervisor
    supervisor.kill(signal.SIGKILL)
    assert await processes.wait_until_gone(supervisor, WAIT_TIMEOUT)


def _still(parent: int) -> ProcessRef | None:
    """This process's paused child."""
    for child in psutil.Process(parent).children():
        with suppress(psutil.NoSuchProcess):  # others come and go
            if child.status() == psutil.STATUS_STOPPED:
                return processes.ref(child.pid)
    return None
