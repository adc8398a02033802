"""A process is identified by more than its number."""

import os
import subprocess
import sys
from pathlib import Path

from worker.stack import processes
from worker.stack.processes import ProcessRef


def test_a_running_process_is_alive() -> None:
    assert processes.current_process().alive


def test_another_process_with_the_same_number_is_not_alive() -> None:
    assert not ProcessRef(pid=os.getpid(), born="another time").alive


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    reference = processes.ref(child.pid)
    assert reference.alive

    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert not reference.alive
    child.communicate()


def test_a_process_that_has_ended_is_not_alive() -> None:
    child = subprocess.Popen(["true"])
    child.wait()

    assert not processes.ref(child.pid).alive


async def test_waiting_for_a_process_that_stays_gives_up() -> None:
    assert not await processes.wait_until_gone(processes.current_process(), 0.05)


def test_the_working_directory_of_a_process_is_found() -> None:
    assert processes.working_directory(os.getpid()) == Path.cwd()
