"""The name of a data directory on its machine."""

import asyncio
from pathlib import Path

from worker.machine import known, machine


def test_a_data_directory_has_one_name_for_good(tmp_path: Path) -> None:
    home = tmp_path / "not" / "there"
    assert machine(home) == machine(home) and machine(home) != machine(tmp_path)
    assert known(home) == machine(home)
    assert [path.name for path in home.iterdir()] == ["machine"]


async def test_two_workers_at_once_agree_on_the_name(tmp_path: Path) -> None:
    names = await asyncio.gather(*(asyncio.to_thread(machine, tmp_path) for _ in range(8)))
    assert len(set(names)) == 1


def test_a_data_directory_without_a_worker_has_no_name(tmp_path: Path) -> None:
    assert known(tmp_path / "nowhere") is None and not list(tmp_path.iterdir())
