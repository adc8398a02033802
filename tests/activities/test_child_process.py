"""Programs that work for an agent: their environment, their input, and their end."""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import psutil
import pytest

from activities.child_process import exit_code, kill_child, run_detaching, running_child, start_child

WAITS = ("/bin/sh", "-c", "sleep 600 & echo $!; wait")
LEAVES = ("/bin/sh", "-c", "sleep 600 >/dev/null & echo $!")  # ends before what it has started


def nothing_else(directory: Path) -> dict[str, Any]:
    return {"directory": directory, "environment": {"ONLY": "this"}}


async def test_it_gets_its_environment_and_nothing_of_ours(tmp_path: Path) -> None:
    async with running_child("/usr/bin/env", timeout=None, **nothing_else(tmp_path)) as process:
        output, _ = await process.communicate()

    assert output == b"ONLY=this\n"


async def test_it_is_in_its_directory_and_has_no_input(tmp_path: Path) -> None:
    async with running_child("/bin/sh", "-c", "cat; pwd -P", timeout=None, **nothing_else(tmp_path)) as process:
        output, _ = await process.communicate()

    assert output.decode() == f"{tmp_path.resolve()}\n"


async def test_the_end_of_the_block_kills_it_and_what_it_has_started(tmp_path: Path) -> None:
    async with running_child(*WAITS, timeout=None, **nothing_else(tmp_path)) as process:
        grandchild = psutil.Process(await pid_printed(process))

    assert process.returncode == -signal.SIGKILL
    grandchild.wait(10)


async def test_what_it_leaves_running_is_killed_too(tmp_path: Path) -> None:
    async with running_child(*LEAVES, timeout=None, **nothing_else(tmp_path)) as process:
        grandchild = psutil.Process(await pid_printed(process))
        await process.wait()

    assert process.returncode == 0
    grandchild.wait(10)


async def test_it_is_killed_at_its_time_limit(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        async with running_child(*WAITS, timeout=0.1, **nothing_else(tmp_path)) as process:
            await process.wait()

    assert process.returncode == -signal.SIGKILL


async def test_its_end_is_seen_when_nobody_has_read_what_it_wrote(tmp_path: Path) -> None:
    async with running_child("/usr/bin/yes", timeout=None, limit=1024, **nothing_else(tmp_path)) as process:
        assert process.stdout is not None
        await process.stdout.readline()

    assert process.returncode == -signal.SIGKILL


async def test_a_group_of_another_process_with_its_number_is_left_alone(tmp_path: Path) -> None:
    ended = await start_child("/bin/true", **nothing_else(tmp_path))
    assert await exit_code(ended) == 0
    async with running_child("/bin/cat", stdin=PIPE, timeout=None, **nothing_else(tmp_path)) as other:
        ended.pid = other.pid  # numbers come round

        await kill_child(ended)

        output, _ = await other.communicate(b"still here")
    assert (output, other.returncode) == (b"still here", 0)


def test_what_a_program_leaves_behind_on_purpose_is_not_waited_for(tmp_path: Path) -> None:
    program = ("/bin/sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo $! >&2")
    left = psutil.Process(int(run_detaching(*program, directory=str(tmp_path), environment={"PATH": "/usr/bin:/bin"})))

    assert left.is_running()
    left.kill()


async def test_ctrl_c_in_our_terminal_does_not_reach_it(tmp_path: Path) -> None:
    async with running_child(*WAITS, timeout=None, **nothing_else(tmp_path)) as process:
        assert os.getpgid(process.pid) == process.pid != os.getpgid(0)


async def pid_printed(process: asyncio.subprocess.Process) -> int:
    assert process.stdout is not None
    return int(await process.stdout.readline())
