"""Old calls are forgotten, running ones never."""

import os
import time
from pathlib import Path

from activities.shell.forget import RETENTION, forget_old
from activities.shell.lease import CallDirectory, Lease, Process
from activities.shell.supervisor.process import moment

LATER = time.time() + 2 * RETENTION  # far beyond: the clock goes on between collection and test


def directory(folder: Path, name: str, lease: Lease) -> CallDirectory:
    path = folder / name
    path.mkdir()
    (path / "lease").write_text(lease.model_dump_json())
    return CallDirectory(path)


def test_a_call_that_ended_long_ago_is_forgotten(tmp_path: Path) -> None:
    ended = directory(tmp_path, "prt_1", Lease(keeper=Process(pid=2**22 - 1, start="0/0")))
    assert forget_old(tmp_path, LATER, ()) == ["prt_1"] and not ended.path.exists()


def test_a_call_whose_supervisor_lives_is_kept(tmp_path: Path) -> None:
    running = directory(tmp_path, "prt_1", Lease(keeper=Process(pid=os.getpid(), start=moment(os.getpid()))))
    assert forget_old(tmp_path, LATER, ()) == [] and running.path.exists()


def test_a_recent_call_is_kept(tmp_path: Path) -> None:
    directory(tmp_path, "prt_1", Lease())
    assert forget_old(tmp_path, time.time(), ()) == []


def test_a_call_without_outcome_is_kept(tmp_path: Path) -> None:
    directory(tmp_path, "prt_1", Lease())
    assert forget_old(tmp_path, LATER, {"prt_1"}) == []
