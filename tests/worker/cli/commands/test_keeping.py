"""`holdfast backup` and `restore` as processes."""

import dataclasses
import shutil
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
            made = await shell(house).run("backup", "--workspaces", str(tmp_path))
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
