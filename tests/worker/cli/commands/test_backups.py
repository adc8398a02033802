"""`holdfast backup` and `restore` as processes."""

import dataclasses
import os
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from activities.store import engines
from activities.store.database import Database
from activities.store.engines import EngineIdentity
from tests import databases
from tests.harness import ACTOR, Harness
from tests.worker.cli.conftest import OpenHarness, shell
from worker.client import Holdfast
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from worker.stack import locks
from worker.stack.cluster import Cluster

DONE = ScriptedAnswer(text="Done.")
WRITE = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "written"}),))


@asynccontextmanager
async def rebuilt(harness: Harness, url: str) -> AsyncIterator[Harness]:
    """The harness over another database, with its own home and task queue."""
    endpoints = harness.endpoints.model_copy(update={"postgres_url": url})
    changed = {"home": harness.settings.home.with_name("fresh"), "task_queue": f"{harness.settings.task_queue}-fresh"}
    own = harness.settings.model_copy(update=changed)
    async with Database(url) as database, Holdfast(own, endpoints) as holdfast:
        client = holdfast.as_(ACTOR)
        yield dataclasses.replace(harness, settings=own, endpoints=endpoints, database=database, client=client)


async def test_a_backup_makes_a_home_whose_sessions_are_whole_and_whose_asks_can_be_answered(
    open_harness: OpenHarness, template: Cluster, tmp_path: Path
) -> None:
    async with open_harness(WRITE, DONE) as harness:
        harness.configure(permission={"edit": "ask"})
        async with harness.running_worker():
            quiet, asking = await harness.start_session("write it"), await harness.start_session("write it, too")
            (first,), (ask,) = await harness.wait_for_asks(quiet), await harness.wait_for_asks(asking)
            await harness.answer(first)
            await harness.ended(quiet)
            (harness.project / "a.txt").unlink()  # as it was before the other session
            await engines.report_alive(
                harness.database, EngineIdentity(namespace="lost", target="a Temporal that is lost, too")
            )
            await shell(harness).run("run", "-m", "scripted/model", "--at", "2031-02-03T04:05Z", "Sweep.")
            made = await shell(harness).run("backup", str(tmp_path))
        file = Path(made.out.strip())
        await harness.workflow(asking).terminate("its database is lost")
        with databases.new_database(template) as url:
            async with rebuilt(harness, url) as fresh:
                person = shell(fresh)
                restored = await type(person)(person.environment, tmp_path).run("restore", str(file))
                shown = await person.run("sessions", "show", asking)
                await engines.report_alive(fresh.database, EngineIdentity(namespace="new", target="another one"))
                async with fresh.running_worker():
                    answered, resumed = await person.run("answer", ask, "once"), await person.run("resume", asking)
                    await fresh.ended(asking)
                verified = [await person.run("log", each, "--verify") for each in (quiet, asking)]
                again = await person.run("restore", str(file))
                content = (harness.project / "a.txt").read_text()

    assert made.code == 0 and file.parent == tmp_path and oct(file.stat().st_mode)[-3:] == "600"
    assert restored.code == 0 and "Sessions that came back: 2. Chains that are whole: 2." in restored.err
    assert "Schedules that came back: 1. Chains that are whole: 1." in restored.err
    assert "It comes from a backup, and was at work" in shown.out
    assert (answered.code, resumed.code, content) == (0, 0, "written")
    assert [each.code for each in verified] == [0, 0]
    assert again.code == 6 and "There are sessions in this database" in again.err


async def test_what_is_no_whole_backup_is_refused_at_once(open_harness: OpenHarness, tmp_path: Path) -> None:
    async with open_harness() as harness:
        file = tmp_path / "b.tar"
        made = await shell(harness).run("backup", str(file))
        there = await shell(harness).run("backup", str(file))
        file.write_bytes(file.read_bytes()[:2000])
        cut, missing = (
            await shell(harness).run("restore", str(file)),
            await shell(harness).run("restore", "nowhere.tar"),
        )

    assert (made.code, there.code, cut.code, missing.code) == (0, 2, 2, 2)
    assert (
        "already exists" in there.err
        and "not a complete Holdfast backup" in cut.err
        and "There is no file" in missing.err
    )


async def test_what_a_killed_backup_has_left_goes_with_the_next_one(open_harness: OpenHarness, tmp_path: Path) -> None:
    left, held = (tmp_path / "backups" / f".holdfast-backup-{name}" for name in ("left", "held"))
    for each in (left, held):
        each.mkdir(parents=True)
        (each / "database.dump").write_text("all of it")
    os.close(locks.try_acquire(left / "lock") or 0)
    holder = locks.try_acquire(held / "lock")
    async with open_harness(DONE) as harness:
        made = await shell(harness).run("backup", str(tmp_path / "backups"))
    os.close(holder or 0)

    assert made.code == 0, made.err
    assert sorted(each.suffix or each.name for each in (tmp_path / "backups").iterdir()) == [held.name, ".tar"]


async def test_outputs_and_archives_are_in_a_backup_and_nothing_else_of_the_home_and_come_back_unless_there_are_some(
    open_harness: OpenHarness, template: Cluster, tmp_path: Path
) -> None:
    async with open_harness() as harness:
        home = harness.settings.home
        for name in ("tool-output/tool_1", "archive/ses_1.jsonl.gz", "archive/no/file", "run/keys.json", "auth.json"):
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(name)
        (home / "archive/link").symlink_to(home / "auth.json")
        (home / "archive/ses_2.jsonl.gz").hardlink_to(home / "archive/ses_1.jsonl.gz")
        made = await shell(harness).run("backup", str(tmp_path / "b.tar"))
        with databases.new_database(template) as url:
            async with rebuilt(harness, url) as fresh:
                there = fresh.settings.home / "tool-output/tool_2"
                there.parent.mkdir(parents=True)
                there.touch()
                restored = await shell(fresh).run("restore", str(tmp_path / "b.tar"))
                came = {str(each.relative_to(fresh.settings.home)) for each in fresh.settings.home.rglob("*_*")}
                content = (fresh.settings.home / "archive/ses_2.jsonl.gz").read_text()
    with tarfile.open(tmp_path / "b.tar") as tar:
        names = set(tar.getnames())

    archives = {"archive/ses_1.jsonl.gz", "archive/ses_2.jsonl.gz"}
    outputs = {f"home/{each}" for each in ("tool-output/tool_1", *archives)}
    assert names == {"backup.json", "database.dump", *outputs} and made.err.count("Not in the backup") == 2
    assert restored.code == 0 and f"Left as it is, because something is there already: {there.parent}" in restored.err
    assert came == {"tool-output/tool_2", *archives} and content == "archive/ses_1.jsonl.gz"


async def test_a_backup_is_not_written_to_a_directory_that_is_not_there(
    open_harness: OpenHarness, tmp_path: Path
) -> None:
    async with open_harness() as harness:
        for name in ("missing", "missing/b.tar"):
            refused = await shell(harness).run("backup", str(tmp_path / name))
            assert refused.code == 2 and "There is no directory" in refused.err and not (tmp_path / name).exists()
        refused = await shell(harness).run("backup", "/proc")
    assert refused.code == 2 and "Nothing can be written in '/proc'" in refused.err
