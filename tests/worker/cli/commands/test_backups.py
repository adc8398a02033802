"""`holdfast backup` and `restore` as processes."""

import dataclasses
import os
import shutil
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
from workflows.domain.prompt import Prompt

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
            made = await shell(harness).run("backup", "--workspaces", "--yes", str(tmp_path))
        file = Path(made.out.strip())
        await harness.workflow(asking).terminate("its database is lost")
        shutil.rmtree(harness.project)
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
        made = await shell(harness).run("backup", "--yes", str(tmp_path / "backups"))
    os.close(holder or 0)

    assert made.code == 0, made.err
    assert sorted(each.suffix or each.name for each in (tmp_path / "backups").iterdir()) == [held.name, ".tar"]


async def test_keys_of_a_stack_in_a_session_s_directory_are_not_in_a_backup(
    open_harness: OpenHarness, tmp_path: Path
) -> None:
    async with open_harness(DONE) as harness:
        home = harness.project / "hh"
        person = shell(harness).with_(HOLDFAST_HOME=str(home))
        stored = await person.run("auth", "login", "--no-check", "openai", typed="sk-secret-key\n")
        other = harness.file("other/stack.json", "{}").parent
        for name in ("supervisor.lock", "auth.json", "run/keys.json"):
            harness.file(f"other/{name}", "sk-other-key")
        harness.file("mine.txt", "mine")
        async with harness.running_worker():
            await harness.ended(await harness.start_session("hello"))
        made = await person.run("backup", "--workspaces", "--yes", str(tmp_path / "b.tar"))
        with tarfile.open(tmp_path / "b.tar") as tar:
            names = tar.getnames()

    assert (stored.code, made.code) == (0, 0), made.err
    assert "workspaces/0/mine.txt" in names
    assert not [name for name in names if name.startswith(("workspaces/0/hh", "workspaces/0/other"))]
    assert b"sk-" not in (tmp_path / "b.tar").read_bytes()
    assert all(f"Left out: {each} (a stack's own)" in made.err for each in (home, other))


async def test_directories_are_shown_with_their_sizes_and_agreed_to_first(
    open_harness: OpenHarness, tmp_path: Path
) -> None:
    async with open_harness(DONE) as harness:
        with harness.file("large", "").open("wb") as file:
            file.truncate(50 * 2**20)
        async with harness.running_worker():
            await harness.ended(await harness.start_session("hello"))
        out = tmp_path / "out"
        out.mkdir()
        piped = await shell(harness).run("backup", "--workspaces", str(out))
        async with shell(harness).terminal("backup", "--workspaces", str(out)) as terminal:
            shown = (await terminal.until(r"(?s).*Write these .* into the backup\?")).group()
            terminal.type("n\n")
            refused = await terminal.ended()

    assert (piped.code, refused) == (2, 130) and list(out.iterdir()) == []
    assert "50.0 MB" in piped.err and str(harness.project) in piped.err and "--yes is needed" in piped.err
    assert "50.0 MB" in shown


async def test_the_user_s_home_is_in_a_backup_only_by_name(open_harness: OpenHarness, tmp_path: Path) -> None:
    async with open_harness(DONE, DONE) as harness:
        async with harness.running_worker():
            started = [
                await harness.client.start(each, Prompt.of_text("hello", model="scripted/model"))
                for each in ("/", str(harness.project))
            ]
            for each in started:
                await harness.ended(each.session)
        person = shell(harness).with_(HOME=str(harness.project))
        harness.file("mine.txt", "mine")
        unnamed = await person.run("backup", "--workspaces", "--yes", str(tmp_path / "unnamed.tar"))
        named = await person.run("backup", "--workspace", ".", "--yes", str(tmp_path / "named.tar"))
        nowhere = await person.run("backup", "--workspace", "nowhere", "--yes", str(tmp_path / "nowhere.tar"))
        with tarfile.open(tmp_path / "unnamed.tar") as first, tarfile.open(tmp_path / "named.tar") as second:
            names = first.getnames(), second.getnames()

    assert (unnamed.code, named.code, nowhere.code) == (0, 0, 2), unnamed.err + named.err
    assert not [name for name in names[0] if name.startswith("workspaces")] and "workspaces/0/mine.txt" in names[1]
    assert "'/' (--workspace /)" in unnamed.err and f"(--workspace {harness.project})" in unnamed.err


async def test_a_backup_is_not_written_to_a_directory_that_is_not_there(
    open_harness: OpenHarness, tmp_path: Path
) -> None:
    async with open_harness() as harness:
        for name in ("missing", "missing/b.tar"):
            refused = await shell(harness).run("backup", str(tmp_path / name))
            assert refused.code == 2 and "There is no directory" in refused.err and not (tmp_path / name).exists()
        refused = await shell(harness).run("backup", "/proc")
    assert refused.code == 2 and "Nothing can be written in '/proc'" in refused.err
