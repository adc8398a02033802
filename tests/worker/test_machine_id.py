"""The name of a data directory on its machine."""

import asyncio
from pathlib import Path

from worker.machine_id import existing_machine_id, machine_id


def test_a_data_directory_has_one_name_for_good(tmp_path: Path) -> None:
    home = tmp_path / "not" / "there"
    assert machine_id(home) == machine_id(home) and machine_id(home) != machine_id(tmp_path)
    assert existing_machine_id(home) == machine_id(home)
    assert [path.name for path in home.iterdir()] == ["machine"]


async def test_two_workers_at_once_agree_on_the_name(tmp_path: Path) -> None:
    names = await asyncio.gather(*(asyncio.to_thread(machine_id, tmp_path) for _ in range(8)))
    assert len(set(names)) == 1


def test_a_data_directory_without_a_worker_has_no_name(tmp_path: Path) -> None:
    assert existing_machine_id(tmp_path / "nowhere") is None and not list(tmp_path.iterdir())
