"""Upkeep: what a worker clears away, at once and again."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path

from activities.shell.forget import RETENTION
from activities.store.database import Database
from worker.upkeep import Upkeep


def old(file: Path) -> Path:
    """A file that was touched for the last time a day before it had to be kept, in a directory as old."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    for path in (file, file.parent):
        os.utime(path, times=(datetime.now(UTC).timestamp() - RETENTION - 86_400,) * 2)
    return file


async def test_workers_that_share_a_data_directory_may_clear_it_at_once(postgres_url: str, tmp_path: Path) -> None:
    files = [old(tmp_path / "tool-output" / f"tool_{number}") for number in range(300)]
    calls = [old(tmp_path / "calls" / f"prt_{number}" / "lease") for number in range(300)]
    async with Database(postgres_url) as database:
        await asyncio.gather(*(Upkeep(database, tmp_path).clear(datetime.now(UTC)) for _ in range(8)))

    assert not any(path.exists() for path in (*files, *calls))
