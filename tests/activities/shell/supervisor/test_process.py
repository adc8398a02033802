"""Processes as the supervisor knows them."""

import os
import subprocess

from activities.shell.supervisor.process import descendants, send_signal, start_time


def test_the_moment_of_a_process_is_its_own() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        assert start_time(child.pid) == start_time(child.pid) != start_time(os.getpid())
        child.kill()


def test_a_process_that_has_ended_has_no_start_time() -> None:
    with subprocess.Popen(["true"]) as child:
        pass
    assert start_time(child.pid) is None


def test_descendants_are_found_over_generations() -> None:
    with subprocess.Popen(["bash", "-c", "(sleep 60 & echo $!; wait) & wait"], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        found = descendants(child.pid)
        assert found[-1] == grandchild
        assert len(found) == 2
        for pid in (*found, child.pid):
            os.kill(pid, 9)


def test_a_signal_to_an_ended_process_is_no_error() -> None:
    with subprocess.Popen(["true"]) as child:
        pass
    send_signal(os.kill, child.pid, 15)
