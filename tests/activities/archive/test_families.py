"""A session and those of its subagents go into one archive, and come back together."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from activities.archive import file
from activities.archive.archiving import Archivist
from activities.archive.verifying import records, verify
from activities.store import archives, events, sessions
from activities.store.database import Database
from activities.store.events import Verified
from activities.store.sessions import Archived
from tests.activities.scene import Scene
from workflows.domain.errors import Conflict, NotFound, UsageError
from workflows.domain.ids import PartId, SessionId, TurnId

NESTED = {"subagent_depth": 2, "agent": {"general": {"permission": {"task": "allow"}}}}


@dataclass
class Family:
    """A session, its subagent's and that one's subagent's, each at work for the one before it."""

    scenes: list[Scene]
    calls: list[PartId]
    archivist: Archivist

    @property
    def database(self) -> Database:
        return self.scenes[0].database

    @property
    def ids(self) -> list[SessionId]:
        return [scene.session for scene in self.scenes]

    async def rest(self) -> None:
        """Let the last one end its turn, then whoever waits for it."""
        await self.scenes[-1].close()
        for scene, call in zip(self.scenes[-2::-1], self.calls[::-1], strict=True):
            await scene.run(call)
            await scene.close()

    async def everything(self) -> dict[str, list[dict[str, str | None]]]:
        """All rows of all of them, but for when they came back; their order says nothing."""
        async with archives.export(self.database, self.ids) as exported:
            found = {table: [row async for rows in exported.rows(table) for row in rows] for table in archives.TABLES}
        found |= {"session": [{**row, "restored_at": None} for row in found["session"]]}
        return {table: sorted(rows, key=str) for table, rows in found.items()}

    async def chains(self) -> list[Verified]:
        return [await events.verify(self.database, each) for each in self.ids]


@pytest.fixture
async def family(scene: Scene) -> Family:
    """Three at work; the last one has an outcome of its own."""
    scene.config.mkdir(parents=True, exist_ok=True)
    (scene.config / "opencode.json").write_text(json.dumps(NESTED))
    await scene.open_turn(permission={"edit": "ask"})
    scenes, calls = [scene], []
    for _ in range(2):
        call, child = await handed(scenes[-1])
        scenes.append(child)
        calls.append(call)
    await scenes[-1].run(await scenes[-1].called("glob", pattern="*"))
    return Family(scenes, calls, Archivist(scene.database, scene.project.parent / "data"))


async def handed(scene: Scene) -> tuple[PartId, Scene]:
    """A call that hands work to a subagent, and the scene of that one, which has begun with it."""
    call = await scene.called("task", description="look", prompt="Where is it?", subagent_type="general")
    begun = (await scene.run(call)).child
    assert begun is not None
    child = replace(scene, session=begun, turn=TurnId(""), step=0, rung=[])
    loaded = await child.load()
    assert loaded.turn is not None
    child.turn = loaded.turn.id
    return call, child


def tomorrow() -> datetime:
    return datetime.now(UTC) + timedelta(days=1)


async def test_an_archive_holds_all_of_them_the_first_before_the_others(family: Family) -> None:
    await family.rest()
    before = await family.chains()
    path = await family.archivist.one(family.ids[0])
    left = {table for table, rows in (await family.everything()).items() if rows}
    told = list(dict.fromkeys(record.session for record in records(path)))

    assert verify(path) == before and [each.problem for each in before] == [None] * 3
    assert told == family.ids and left == {"session"}
    assert [each.status for each in await sessions.overview(family.database)] == ["archived"] * 3


@pytest.mark.parametrize("known", [True, False], ids=["where_it_was", "where_nothing_is_known_of_it"])
async def test_all_of_them_come_back_with_who_works_for_whom(family: Family, known: bool) -> None:
    await family.rest()
    listed, before, chains = await sessions.overview(family.database), await family.everything(), await family.chains()
    path = await family.archivist.one(family.ids[0])
    if not known:
        await family.database.rows(b"DELETE FROM session")
    await family.archivist.restore(path)

    assert [(each.id, each.depth) for each in listed] == list(zip(family.ids, range(3), strict=True))
    assert await sessions.overview(family.database) == listed
    assert (await family.everything(), await family.chains()) == (before, chains)
    call, child = await handed(await taken_up(family.scenes[1]))
    assert call and await sessions.tree(family.database, family.ids[0]) == [*family.ids, child.session]


async def taken_up(scene: Scene) -> Scene:
    """The session with a new turn for a new prompt."""
    await scene.prompt("More.")
    loaded = await scene.load()
    assert loaded.turn is not None
    return replace(scene, turn=loaded.turn.id, step=0)


async def test_one_whose_subagent_is_at_work_stays_and_loses_nothing(family: Family) -> None:
    before = await family.everything()
    with pytest.raises(
        Conflict, match=rf"{family.ids[0]!r} cannot be archived yet\. {family.ids[2]}: it is at work; see"
    ):
        await family.archivist.one(family.ids[0])

    assert await family.archivist.all_since(tomorrow()) == []
    assert await family.everything() == before and not list(family.archivist.data.glob("archive/*"))


async def test_one_that_has_not_heard_yet_of_its_subagents_end_stays(family: Family) -> None:
    await family.scenes[2].close()
    with pytest.raises(Conflict, match=f"{family.ids[1]}: it is at work"):
        await family.archivist.one(family.ids[0])


async def test_the_one_that_keeps_the_others_at_work_is_named(family: Family) -> None:
    last = family.scenes[2]
    await last.asked(await last.called("write", filePath="a", content="x"))
    before = await family.everything()
    with pytest.raises(Conflict, match=f"{family.ids[2]}: it waits for an answer"):
        await family.archivist.one(family.ids[0])
    assert await family.everything() == before and [each.problem for each in await family.chains()] == [None] * 3


async def test_a_subagents_session_does_not_go_by_itself(family: Family) -> None:
    await family.rest()
    for below in family.ids[1:]:
        with pytest.raises(Conflict, match=f"subagent's.* `holdfast archive {family.ids[0]}`"):
            await family.archivist.one(below)
    path = await family.archivist.one(family.ids[0])
    for gone in family.ids:
        with pytest.raises(Conflict, match=f"{gone}.* `holdfast restore {path}` brings it back"):
            await family.archivist.one(gone)
    with pytest.raises(NotFound, match="ses_0"):
        await family.archivist.one(SessionId("ses_0"))


async def test_what_a_subagent_does_lately_keeps_all_of_them(family: Family) -> None:
    await family.rest()
    since = datetime.now(UTC)
    await family.scenes[2].prompt("More.")
    await family.scenes[2].stop()
    (found,) = await archives.old(family.database, since)

    assert found.obstacle is not None and f"{family.ids[2]}: it has changed lately" in found.obstacle
    assert await family.archivist.all_since(since) == []
    assert [path.name for path in await family.archivist.all_since(tomorrow())] == [f"{family.ids[0]}.jsonl.gz"]
    assert [each.status for each in await sessions.overview(family.database)] == ["archived"] * 3


@pytest.mark.parametrize("which", [0, 1, 2])
async def test_work_that_any_of_them_gets_while_the_file_is_written_keeps_all(family: Family, which: int) -> None:
    await family.rest()
    now = datetime.now(UTC)
    (found,) = await archives.old(family.database, now)
    await family.scenes[which].prompt("More.")
    before = await family.everything()
    with pytest.raises(Conflict, match="something has happened"):
        await archives.remove(family.database, found, now, Archived(file="x", sha256="", at=now))
    assert await family.everything() == before


async def test_outputs_of_all_of_them_go_with_them(family: Family) -> None:
    (row,) = await family.database.rows(b"SELECT id FROM call WHERE session = %(id)s", id=family.ids[2])
    output = family.archivist.data / "tool-output" / f"tool_{row['id']}"
    output.parent.mkdir(parents=True)
    output.write_text("all of it")
    await family.rest()
    await family.archivist.one(family.ids[0])
    assert not output.exists()


async def test_a_subagent_that_went_on_after_its_task_is_verified_as_far_as_it_was_then(family: Family) -> None:
    await family.rest()
    await family.scenes[2].prompt("More.")
    await family.scenes[2].stop()
    assert [each.problem for each in verify(await family.archivist.one(family.ids[0]))] == [None] * 3


async def test_an_archive_that_lacks_a_subagent_is_refused(family: Family, tmp_path: Path) -> None:
    await family.rest()
    path = await family.archivist.one(family.ids[0])
    whole, less = file.manifest(path), tmp_path / "less.jsonl.gz"
    with file.writing(less) as writer:
        writer.manifest(whole.model_copy(update={"sessions": whole.sessions[:2]}))
        for table, row in file.rows(path):
            if row.get("session") != family.ids[2]:
                writer.rows(table, [row])
    with pytest.raises(UsageError, match=f"event 9 of {family.ids[2]} is not the one that was its last"):
        await family.archivist.restore(less)
