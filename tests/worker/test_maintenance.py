"""Maintenance: what a worker removes, now and again."""

import asyncio
import logging
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from activities.shell.left_processes import find_left
from activities.shell.retention import RETENTION
from activities.shell.termination import end_left_call
from activities.store import sessions
from activities.store.database import Database
from activities.store.sessions import NewSession
from tests.acceptance.database_proxy import database_proxy
from tests.activities.conftest import database as database
from tests.activities.conftest import rig as rig
from tests.activities.rig import PERSON, ActivityRig
from tests.activities.shell.command_rig import CALL, CommandRig
from tests.polling import wait_until
from tests.workflows.conftest import Open
from tests.workflows.conftest import open_harness as open_harness
from tests.workflows.conftest import pooler_url as pooler_url
from tests.workflows.conftest import port as port
from tests.workflows.conftest import with_sweeper as with_sweeper
from worker.background_tasks import run_in_background
from worker.engine_schedules import EngineSchedules
from worker.maintenance import JobScope, maintenance_jobs
from worker.outbox import SignalSender
from worker.reconcile import Reconciler
from worker.schedule_reconciler import ScheduleReconciler
from worker.scripted.script import ScriptedAnswer
from worker.sweeper import Sweeper
from workflows.domain.ids import PartId, SessionId

_REFUSE = b"""
CREATE FUNCTION holdfast.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
CREATE TRIGGER refuses BEFORE DELETE ON holdfast.delta EXECUTE FUNCTION holdfast.refuse()
"""
_ROOT = Path(__file__).parent.parent.parent
_MODELS = ("activities.model", "litellm", "httpx", "openai")


async def test_what_is_old_goes_at_once_and_later_on_whatever_has_failed_meanwhile(
    postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "holdfast.maintenance")
    output, call = old(tmp_path / "tool-output" / "tool_1"), old(tmp_path / "calls" / "prt_1" / "lease").parent
    async with database_proxy(postgres_url) as way, Database(way.url, connect_timeout=1) as database:
        jobs = maintenance_jobs(database, tmp_path)
        async with run_in_background(*(job.run() for job in jobs)):
            await wait_until(lambda: not output.exists() and not call.exists())
        async with run_in_background(*(replace(job, interval=0.05).run() for job in jobs)):
            way.part()
            await wait_until(lambda: "s: PostgreSQL cannot be reached" in caplog.text)
            change(postgres_url, _REFUSE)
            way.join()
            await wait_until(lambda: "RaiseException: refused" in caplog.text)
            call = old(tmp_path / "calls" / "prt_2" / "lease").parent
            await wait_until(lambda: not call.exists())  # another job fails all the while


@pytest.mark.parametrize("status", ["ended", "deleted", "archived"])
async def test_what_a_session_or_a_subagent_has_left_running_ends_with_it_and_that_of_others_stays(
    rig: ActivityRig, status: str
) -> None:
    data, child = rig.project.parent / "data", SessionId("ses_child")
    below = NewSession(id=child, directory=str(rig.project), title="below", parent=rig.session)
    other = NewSession(id=SessionId("ses_other"), directory=str(rig.project), title="beside it")
    for new in (below, other):
        await sessions.create(rig.database, new, PERSON)
    commands = [CommandRig(data, session) for session in (rig.session, child, other.id)]
    for number, each in enumerate(commands):
        await each.end(await each.start(f"setsid sleep {85 + number} & echo", call=f"{CALL}_{number}"))

    def left() -> set[SessionId]:
        return {each.session for each in find_left(data)}

    async def work() -> None:
        for job in maintenance_jobs(rig.database, data):
            if job.id == "processes":
                await job.work()

    await work()
    assert left() == {rig.session, child, other.id}
    change(rig.database.url, f"UPDATE holdfast.session SET status = '{status}' WHERE id = '{rig.session}'".encode())
    await work()
    assert left() == {other.id}
    await asyncio.to_thread(end_left_call, data, PartId(f"{CALL}_2"))


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
        await asyncio.gather(*(job.work() for job in [*maintenance_jobs(database, tmp_path)] * 8))

    assert not any(path.exists() for path in (*files, *calls))


async def test_no_start_of_a_worker_and_no_job_asks_a_model(open_harness: Open, tmp_path: Path) -> None:
    async with open_harness(ScriptedAnswer(text="Done.")) as harness:
        async with harness.running_worker():
            session = await harness.start_session("Go.")
            await harness.ended(session)
        asked = len(harness.model.ledger.entries)
        sender = SignalSender(harness.database, harness.temporal, harness.settings)
        engine = EngineSchedules(harness.temporal, harness.settings.task_queue)
        schedules = ScheduleReconciler(harness.database, engine, sender, period=0)
        sweeper = Sweeper(
            harness.database, sender, Reconciler(harness.database, harness.temporal, sender, period=0), schedules
        )
        jobs = maintenance_jobs(harness.database, tmp_path, archive_after=timedelta(0))
        async with harness.running_worker():
            for work in (sweeper.sweep, sweeper.sweep, *(job.work for job in jobs)):
                await work()
        assert len(harness.model.ledger.entries) == asked == 1


def test_models_are_asked_for_steps_summaries_and_titles_only() -> None:
    """What a turn or a person has asked for; `holdfast doctor --model` sends a request of its own."""
    rooms = (file for room in ("activities", "worker") for file in (_ROOT / room).rglob("*.py"))
    askers = {file.stem for file in rooms if "from activities.model.answer import AnswerStream" in file.read_text()}
    assert askers == {"generate", "compact", "ask_aside", "assemble"}


def test_each_job_has_an_id_an_interval_and_a_scope(tmp_path: Path) -> None:
    database = Database("postgresql://nobody@127.0.0.1:1/none")
    jobs = maintenance_jobs(database, tmp_path, archive_after=timedelta(days=30))
    assert [(job.id, job.scope, job.interval) for job in jobs] == [
        ("outputs", JobScope.FILES, 3600),
        ("calls", JobScope.FILES, 3600),
        ("deleted", JobScope.FILES, 3600),
        ("processes", JobScope.FILES, 5),
        ("deltas", JobScope.DATABASE, 3600),
        ("archives", JobScope.HOST, 3600),
    ]


def test_no_model_can_be_asked_by_it() -> None:
    program = "import sys, worker.maintenance; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)

    assert not [name for name in loaded.stdout.split() if name.startswith(_MODELS)]
