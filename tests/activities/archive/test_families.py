"""A session and its subagents' go into one archive, and come back together."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from activities.archive import archive_file
from activities.archive.archiver import Archiver
from activities.archive.verification import read_records, verify
from activities.store import archives, events, overviews, sessions
from activities.store.database import Database
from tests.activities.rig import ActivityRig
from workflows.domain.errors import Conflict, NotFound, UsageError
from workflows.domain.ids import PartId, SessionId, TurnId
from workflows.domain.views.sessions import ArchiveLocation, Verification

NESTED = {"subagent_depth": 2, "agent": {"general": {"permission": {"task": "allow"}}}}


@dataclass
class Family:
    """A session, its subagent and that one's subagent, each working for the one before."""

    scenes: list[ActivityRig]
    calls: list[PartId]
    archiver: Archiver

    @property
    def database(self) -> Database:
        return self.scenes[0].database

    @property
    def ids(self) -> list[SessionId]:
        return [rig.session for rig in self.scenes]

    async def rest(self) -> None:
        """End the last one's turn, then those that wait for it."""
        await self.scenes[-1].close()
        for rig, call in zip(self.scenes[-2::-1], self.calls[::-1], strict=True):
            await rig.run(call)
            await rig.close()

    async def everything(self) -> dict[str, list[dict[str, str | None]]]:
        """All their rows without the times of their return; the order means nothing."""
        async with archives.export(self.database, self.ids) as exported:
            found = {table: [row async for rows in exported.rows(table) for row in rows] for table in archives.TABLES}
        found |= {"session": [{**row, "restored_at": None} for row in found["session"]]}
        return {table: sorted(rows, key=str) for table, rows in found.items()}

    async def chains(self) -> list[Verification]:
        return [await events.verify(self.database, each) for each in self.ids]


@pytest.fixture
async def family(rig: ActivityRig) -> Family:
    """Three at work; the last one has an outcome of its own."""
    rig.config.mkdir(parents=True, exist_ok=True)
    (rig.config / "opencode.json").write_text(json.dumps(NESTED))
    await rig.open_turn(permission={"edit": "ask"})
    scenes, calls = [rig], []
    for _ in range(2):
        call, child = await handed(scenes[-1])
        scenes.append(child)
        calls.append(call)
    await scenes[-1].run(await scenes[-1].called("glob", pattern="*"))
    return Family(scenes, calls, Archiver(rig.database, rig.project.parent / "data"))


async def handed(rig: ActivityRig) -> tuple[PartId, ActivityRig]:
    """A call that delegates, and a rig for the started subagent."""
    call = await rig.called("task", description="look", prompt="Where is it?", subagent_type="general")
    begun = (await rig.run(call)).child
    assert begun is not None
    child = replace(rig, session=begun, epoch=0, turn=TurnId(""), step=0, sent=[])
    loaded = await child.load()
    assert loaded.turn is not None
    child.turn = loaded.turn.id
    return call, child


def tomorrow() -> datetime:
    return datetime.now(UTC) + timedelta(days=1)


async def test_an_archive_holds_all_of_them_the_first_before_the_others(family: Family) -> None:
    await family.rest()
    before = await family.chains()
    path = await family.archiver.archive_one(family.ids[0])
    left = {table for table, rows in (await family.everything()).items() if rows}
    told = list(dict.fromkeys(record.session for record in read_records(path)))

    assert verify(path) == before and [each.problem for each in before] == [None] * 3
    assert told == family.ids and left == {"session", "session_head"}
    assert [each.status for each in await overviews.list_recent(family.database)] == ["archived"] * 3


@pytest.mark.parametrize("known", [True, False], ids=["where_it_was", "where_nothing_is_known_of_it"])
async def test_all_of_them_are_restored_with_their_tasks(family: Family, known: bool) -> None:
    await family.rest()
    listed, before, chains = (
        await overviews.list_recent(family.database),
        await family.everything(),
        await family.chains(),
    )
    path = await family.archiver.archive_one(family.ids[0])
    if not known:
        await family.database.rows(b"TRUNCATE session_head")
        await family.database.rows(b"DELETE FROM session")
    await family.archiver.restore(path)

    assert [(each.id, each.depth) for each in listed] == list(zip(family.ids, range(3), strict=True))
    assert await overviews.list_recent(family.database) == listed
    assert (await family.everything(), await family.chains()) == (before, chains)
    call, child = await handed(await taken_up(family.scenes[1]))
    assert call and await sessions.tree(family.database, family.ids[0]) == [*family.ids, child.session]


async def taken_up(rig: ActivityRig) -> ActivityRig:
    """The session with a new turn for a new prompt."""
    await rig.prompt("More.")
    loaded = await rig.load()
    assert loaded.turn is not None
    return replace(rig, turn=loaded.turn.id, step=0)


async def test_one_whose_subagent_is_at_work_stays_and_loses_nothing(family: Family) -> None:
    before = await family.everything()
    with pytest.raises(
        Conflict, match=rf"{family.ids[0]!r} cannot be archived yet\. {family.ids[2]}: it is at work; see"
    ):
        await family.archiver.archive_one(family.ids[0])

    assert await family.archiver.archive_older_than(tomorrow()) == []
    assert await family.everything() == before and not list(family.archiver.data.glob("archive/*"))


async def test_a_session_whose_settled_task_is_not_delivered_stays(family: Family) -> None:
    await family.scenes[2].close()
    with pytest.raises(Conflict, match=f"{family.ids[1]}: it is at work"):
        await family.archiver.archive_one(family.ids[0])


async def test_the_session_that_prevents_archiving_is_named(family: Family) -> None:
    last = family.scenes[2]
    await last.asked(await last.called("write", filePath="a", content="x"))
    before = await family.everything()
    with pytest.raises(Conflict, match=f"{family.ids[2]}: it waits for an answer"):
        await family.archiver.archive_one(family.ids[0])
    assert await family.everything() == before and [each.problem for each in await family.chains()] == [None] * 3


async def test_a_subagents_session_is_not_archived_alone(family: Family) -> None:
    await family.rest()
    for below in family.ids[1:]:
        with pytest.raises(Conflict, match=f"subagent's.* `holdfast archive {family.ids[0]}`"):
            await family.archiver.archive_one(below)
    path = await family.archiver.archive_one(family.ids[0])
    for gone in family.ids:
        with pytest.raises(Conflict, match=f"{gone}.* `holdfast restore {path}` brings it back"):
            await family.archiver.archive_one(gone)
    with pytest.raises(NotFound, match="ses_0"):
        await family.archiver.archive_one(SessionId("ses_0"))


async def test_recent_work_of_a_subagent_keeps_all_of_them(family: Family) -> None:
    await family.rest()
    since = datetime.now(UTC)
    await family.scenes[2].prompt("More.")
    await family.scenes[2].stop()
    (found,) = await archives.candidates(family.database, since)

    assert found.obstacle is not None and f"{family.ids[2]}: it has changed lately" in found.obstacle
    assert await family.archiver.archive_older_than(since) == []
    assert [path.name for path in await family.archiver.archive_older_than(tomorrow())] == [f"{family.ids[0]}.jsonl.gz"]
    assert [each.status for each in await overviews.list_recent(family.database)] == ["archived"] * 3


@pytest.mark.parametrize("which", [0, 1, 2])
async def test_work_that_any_of_them_gets_while_the_file_is_written_keeps_all(family: Family, which: int) -> None:
    await family.rest()
    now = datetime.now(UTC)
    (found,) = await archives.candidates(family.database, now)
    await family.scenes[which].prompt("More.")
    before = await family.everything()
    with pytest.raises(Conflict, match="something has happened"):
        await archives.remove(family.database, found, now, ArchiveLocation(file="x", sha256="", at=now))
    assert await family.everything() == before


async def test_the_outputs_of_all_of_them_are_removed(family: Family) -> None:
    (row,) = await family.database.rows(b"SELECT id FROM call WHERE session = %(id)s", id=family.ids[2])
    output = family.archiver.data / "tool-output" / f"tool_{row['id']}"
    output.parent.mkdir(parents=True)
    output.write_text("all of it")
    await family.rest()
    await family.archiver.archive_one(family.ids[0])
    assert not output.exists()


async def test_a_subagent_that_went_on_is_verified_up_to_the_end_of_its_task(family: Family) -> None:
    await family.rest()
    await family.scenes[2].prompt("More.")
    await family.scenes[2].stop()
    assert [each.problem for each in verify(await family.archiver.archive_one(family.ids[0]))] == [None] * 3


async def test_an_archive_that_lacks_a_subagent_is_refused(family: Family, tmp_path: Path) -> None:
    await family.rest()
    path = await family.archiver.archive_one(family.ids[0])
    whole, less = archive_file.read_manifest(path), tmp_path / "less.jsonl.gz"
    with archive_file.open_writer(less) as writer:
        writer.manifest(whole.model_copy(update={"sessions": whole.sessions[:2]}))
        for table, row in archive_file.read_rows(path):
            if row.get("session") != family.ids[2]:
                writer.rows(table, [row])
    with pytest.raises(UsageError, match=f"event 9 of {family.ids[2]} is not the last one of its settled task"):
        await family.archiver.restore(less)
