"""`holdfast backup` and `restore` as processes."""

import dataclasses
import shutil
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from activities.store import engines
from activities.store.database import Database
from activities.store.engines import Engine
from tests import databases
from tests.house import ACTOR, House
from tests.worker.cli.conftest import OpenHouse, shell
from worker.bells import workflow_id
from worker.client import SessionClient
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from worker.stack.cluster import Cluster

DONE = ScriptedAnswer(text="Done.")
WRITE = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "written"}),))


@asynccontextmanager
async def rebuilt(house: House, url: str) -> AsyncIterator[House]:
    """The house over another database, with a home and a task queue of its own."""
    endpoints = house.endpoints.model_copy(update={"postgres_url": url})
    changed = {"home": house.settings.home.with_name("fresh"), "task_queue": f"{house.settings.task_queue}-fresh"}
    own = house.settings.model_copy(update=changed)
    async with Database(url) as database, SessionClient(own, endpoints, ACTOR) as client:
        yield dataclasses.replace(house, settings=own, endpoints=endpoints, database=database, client=client)


async def test_a_backup_makes_a_home_whose_sessions_are_whole_and_whose_asks_can_be_answered(
    open_house: OpenHouse, template: Cluster, tmp_path: Path
) -> None:
    async with open_house(WRITE, DONE) as house:
        house.configure(permission={"edit": "ask"})
        async with house.working():
            quiet, asking = await house.say("write it"), await house.say("write it, too")
            (first,), (ask,) = await house.asked(quiet), await house.asked(asking)
            await house.answer(first)
            await house.ended(quiet)
            (house.project / "a.txt").unlink()  # as it was when the other one was asked for
            await engines.seen(house.database, Engine(namespace="lost", target="a Temporal that is lost, too"))
            made = await shell(house).run("backup", "--workspaces", "--yes", str(tmp_path))
        file = Path(made.out.strip())
        await house.temporal.get_workflow_handle(workflow_id(asking)).terminate("its database is lost")
        shutil.rmtree(house.project)
        with databases.fresh(template) as url:
            async with rebuilt(house, url) as fresh:
                person = shell(fresh)
                restored = await type(person)(person.environment, tmp_path).run("restore", str(file))
                shown = await person.run("sessions", "show", asking)
                await engines.seen(fresh.database, Engine(namespace="new", target="another one"))
                async with fresh.working():
                    answered, resumed = await person.run("answer", ask, "once"), await person.run("resume", asking)
                    await fresh.ended(asking)
                verified = [await person.run("log", each, "--verify") for each in (quiet, asking)]
                again = await person.run("restore", str(file))
                content = (house.project / "a.txt").read_text()

    assert made.code == 0 and file.parent == tmp_path and oct(file.stat().st_mode)[-3:] == "600"
    assert restored.code == 0 and "came back: 2. Chains that are whole: 2." in restored.err
    assert "It comes from a backup, and was at work" in shown.out
    assert (answered.code, resumed.code, content) == (0, 0, "written")
    assert [each.code for each in verified] == [0, 0]
    assert again.code == 6 and "There are sessions in this database" in again.err


async def test_what_is_no_whole_backup_is_refused_at_once(open_house: OpenHouse, tmp_path: Path) -> None:
    async with open_house() as house:
        file = tmp_path / "b.tar"
        made = await shell(house).run("backup", str(file))
        there = await shell(house).run("backup", str(file))
        file.write_bytes(file.read_bytes()[:2000])
        cut, missing = await shell(house).run("restore", str(file)), await shell(house).run("restore", "nowhere.tar")

    assert (made.code, there.code, cut.code, missing.code) == (0, 2, 2, 2)
    assert "is there already" in there.err and "no whole backup" in cut.err and "There is no file" in missing.err


async def test_keys_of_a_stack_in_a_session_s_directory_are_not_in_a_backup(
    open_house: OpenHouse, tmp_path: Path
) -> None:
    async with open_house(DONE) as house:
        home = house.project / "hh"
        person = shell(house).with_(HOLDFAST_HOME=str(home))
        stored = await person.run("auth", "login", "openai", typed="sk-secret-key\n")
        other = house.file("other/stack.json", "{}").parent
        for name in ("supervisor.lock", "auth.json", "run/keys.json"):
            house.file(f"other/{name}", "sk-other-key")
        house.file("mine.txt", "mine")
        async with house.working():
            await house.ended(await house.say("hello"))
        made = await person.run("backup", "--workspaces", "--yes", str(tmp_path / "b.tar"))
        with tarfile.open(tmp_path / "b.tar") as tar:
            names = tar.getnames()

    assert (stored.code, made.code) == (0, 0), made.err
    assert "workspaces/0/mine.txt" in names
    assert not [name for name in names if name.startswith(("workspaces/0/hh", "workspaces/0/other"))]
    assert b"sk-" not in (tmp_path / "b.tar").read_bytes()
    assert all(f"Left out: {each} (a stack's own)" in made.err for each in (home, other))


async def test_directories_are_shown_with_their_sizes_and_agreed_to_first(
    open_house: OpenHouse, tmp_path: Path
) -> None:
    async with open_house(DONE) as house:
        with house.file("large", "").open("wb") as file:
            file.truncate(50 * 2**20)
        async with house.working():
            await house.ended(await house.say("hello"))
        out = tmp_path / "out"
        out.mkdir()
        piped = await shell(house).run("backup", "--workspaces", str(out))
        async with shell(house).terminal("backup", "--workspaces", str(out)) as terminal:
            shown = (await terminal.until(r"(?s).*Write these .* into the backup\?")).group()
            terminal.type("n\n")
            refused = await terminal.ended()

    assert (piped.code, refused) == (2, 130) and list(out.iterdir()) == []
    assert "50.0 MB" in piped.err and str(house.project) in piped.err and "--yes is needed" in piped.err
    assert "50.0 MB" in shown


async def test_the_user_s_home_is_in_a_backup_only_by_name(open_house: OpenHouse, tmp_path: Path) -> None:
    async with open_house(DONE, DONE) as house:
        async with house.working():
            started = [
                await house.client.start(each, "hello", model="scripted/model") for each in ("/", str(house.project))
            ]
            for each in started:
                await house.ended(each.session)
        person = shell(house).with_(HOME=str(house.project))
        house.file("mine.txt", "mine")
        unnamed = await person.run("backup", "--workspaces", "--yes", str(tmp_path / "unnamed.tar"))
        named = await person.run("backup", "--workspace", ".", "--yes", str(tmp_path / "named.tar"))
        nowhere = await person.run("backup", "--workspace", "nowhere", "--yes", str(tmp_path / "nowhere.tar"))
        with tarfile.open(tmp_path / "unnamed.tar") as first, tarfile.open(tmp_path / "named.tar") as second:
            names = first.getnames(), second.getnames()

    assert (unnamed.code, named.code, nowhere.code) == (0, 0, 2), unnamed.err + named.err
    assert not [name for name in names[0] if name.startswith("workspaces")] and "workspaces/0/mine.txt" in names[1]
    assert "'/' (--workspace /)" in unnamed.err and f"(--workspace {house.project})" in unnamed.err


async def test_a_backup_is_not_written_to_a_directory_that_is_not_there(open_house: OpenHouse, tmp_path: Path) -> None:
    async with open_house() as house:
        for name in ("missing", "missing/b.tar"):
            refused = await shell(house).run("backup", str(tmp_path / name))
            assert refused.code == 2 and "There is no directory" in refused.err and not (tmp_path / name).exists()
