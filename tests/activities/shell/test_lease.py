"""The lease and the processes that it names."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.shell.lease import CallDirectory, Lease, Process
from activities.shell.supervisor.process import start_time

Child = subprocess.Popen[bytes]


@pytest.fixture
def child() -> Iterator[Child]:
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as child:
        yield child
        child.kill()


def test_a_running_process_is_alive(child: Child) -> None:
    assert Process(pid=child.pid, start=start_time(child.pid)).alive()


def test_a_zombie_is_dead(child: Child) -> None:
    process = Process(pid=child.pid, start=start_time(child.pid))
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and kept as a zombie
    assert not process.alive()
    assert process.wait(0)


def test_a_process_with_the_pid_of_a_dead_one_is_another(child: Child) -> None:
    process = Process(pid=child.pid, start="another boot/1")
    assert not process.alive()
    assert process.is_stale()


def test_a_signal_does_not_reach_a_process_that_took_over_the_pid(child: Child) -> None:
    Process(pid=child.pid, start="another boot/1").signal(signal.SIGKILL)
    child.communicate(b"\n")
    assert child.returncode == 0


def test_a_free_pid_of_this_boot_is_still_the_group_of_what_the_process_left(child: Child) -> None:
    process = Process(pid=child.pid, start=start_time(child.pid))
    child.kill()
    child.wait()
    assert not process.is_stale()


def test_a_free_pid_of_an_earlier_boot_means_nothing(child: Child) -> None:
    child.kill()
    child.wait()
    assert Process(pid=child.pid, start="another boot/1").is_stale()


async def test_waiting_ends_with_the_process(child: Child) -> None:
    waiting = asyncio.create_task(asyncio.to_thread(Process(pid=child.pid, start=start_time(child.pid)).wait, 60))
    child.kill()
    assert await waiting


def test_waiting_gives_up(child: Child) -> None:
    assert not Process(pid=child.pid, start=start_time(child.pid)).wait(0.01)


def test_a_lease_is_created_once(tmp_path: Path) -> None:
    directory = CallDirectory(tmp_path / "calls" / "prt_1")
    directory.create()
    assert directory.lease() is None
    assert [directory.prevent_start(), directory.prevent_start()] == [True, False]
    assert directory.lease() == Lease()


def test_a_directory_is_created_as_often_as_one_likes(tmp_path: Path) -> None:
    directory = CallDirectory(tmp_path / "calls" / "prt_1")
    directory.create()
    directory.prevent_start()
    directory.create()
    assert directory.lease() == Lease()
