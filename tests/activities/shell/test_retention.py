"""Old calls are forgotten, running ones never."""

import os
import time
from pathlib import Path

from activities.shell.lease import CallDirectory, Lease, Process
from activities.shell.retention import RETENTION, remove_expired
from activities.shell.supervisor.process import start_time

LATER = time.time() + 2 * RETENTION  # far beyond: the clock goes on between collection and test


def directory(folder: Path, name: str, lease: Lease) -> CallDirectory:
    path = folder / name
    path.mkdir()
    (path / "lease").write_text(lease.model_dump_json())
    return CallDirectory(path)


def test_a_call_that_ended_long_ago_is_forgotten(tmp_path: Path) -> None:
    ended = directory(tmp_path, "prt_1", Lease(supervisor=Process(pid=2**22 - 1, start="0/0")))
    assert remove_expired(tmp_path, LATER, ()) == ["prt_1"] and not ended.path.exists()


def test_a_call_whose_supervisor_lives_is_kept(tmp_path: Path) -> None:
    running = directory(tmp_path, "prt_1", Lease(supervisor=Process(pid=os.getpid(), start=start_time(os.getpid()))))
    assert remove_expired(tmp_path, LATER, ()) == [] and running.path.exists()


def test_a_recent_call_is_kept(tmp_path: Path) -> None:
    directory(tmp_path, "prt_1", Lease())
    assert remove_expired(tmp_path, time.time(), ()) == []


def test_a_call_without_outcome_is_kept(tmp_path: Path) -> None:
    directory(tmp_path, "prt_1", Lease())
    assert remove_expired(tmp_path, LATER, {"prt_1"}) == []
