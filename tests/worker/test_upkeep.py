"""Upkeep: what a worker removes, now and again."""

import asyncio
import logging
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from activities.shell.retention import RETENTION
from activities.store.database import Database
from tests.acceptance.database_proxy import database_proxy
from tests.polling import wait_until
from worker.background_tasks import run_in_background
from worker.upkeep import Upkeep

_REFUSE = b"""
CREATE FUNCTION holdfast.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
CREATE TRIGGER refuses BEFORE DELETE ON holdfast.delta EXECUTE FUNCTION holdfast.refuse()
"""
_ALLOW = b"DROP FUNCTION holdfast.refuse CASCADE"
_MODELS = ("activities.model", "litellm", "httpx", "openai")


async def test_what_is_old_goes_at_once_and_later_on_whatever_has_failed_meanwhile(
    postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "holdfast.upkeep")
    output, call = old(tmp_path / "tool-output" / "tool_1"), old(tmp_path / "calls" / "prt_1" / "lease").parent
    async with database_proxy(postgres_url) as way, Database(way.url, connect_timeout=1) as database:
        async with run_in_background(Upkeep(database, tmp_path).run()):
            await wait_until(lambda: not output.exists() and not call.exists())
        async with run_in_background(Upkeep(database, tmp_path, interval=0.05).run()):
            way.part()
            await wait_until(lambda: "s: PostgreSQL cannot be reached" in caplog.text)
            change(postgres_url, _REFUSE)
            way.join()
            await wait_until(lambda: "RaiseException: refused" in caplog.text)
            change(postgres_url, _ALLOW)
            call = old(tmp_path / "calls" / "prt_2" / "lease").parent
            await wait_until(lambda: not call.exists())


def change(postgres_url: str, how: bytes) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute(how)


def old(file: Path) -> Path:
    """A file last touched a day before the end of its retention, in an equally old directory."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    for path in (file, file.parent):
        os.utime(path, times=(datetime.now(UTC).timestamp() - RETENTION - 86_400,) * 2)
    return file


async def test_workers_that_share_a_data_directory_may_clear_it_at_once(postgres_url: str, tmp_path: Path) -> None:
    files = [old(tmp_path / "tool-output" / f"tool_{number}") for number in range(300)]
    calls = [old(tmp_path / "calls" / f"prt_{number}" / "lease") for number in range(300)]
    async with Database(postgres_url) as database:
        await asyncio.gather(*(Upkeep(database, tmp_path).clear(time.time()) for _ in range(8)))

    assert not any(path.exists() for path in (*files, *calls))


def test_no_model_can_be_asked_by_it() -> None:
    program = "import sys, worker.upkeep; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)

    assert not [name for name in loaded.stdout.split() if name.startswith(_MODELS)]
