"""Old sessions go into verifiable files, and come back unchanged."""

import asyncio
import gzip
import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from activities import failpoints
from activities.archive import archive_file
from activities.archive.archiver import Archiver
from activities.archive.verification import read_records, verify
from activities.store import archives, events, grants, overviews, retries
from activities.store.model_answers import NewAnswer
from tests.activities.rig import BODY, ActivityRig
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, PartId, RetryId, SessionId
from workflows.domain.messages import NewPart, TextPart
from workflows.domain.permissions.replies import Reply
from workflows.domain.views.sessions import ArchiveLocation
from workflows.domain.wire import CloseReason

NUL = "a\x00b \ud800"


async def rested(rig: ActivityRig) -> Archiver:
    """An archiver and an idle session: an approved call, difficult texts, and an output."""
    await rig.open_turn(permission={"edit": "ask"})
    call = await rig.called("write", filePath="a.txt", content=NUL.encode("utf-8", "replace").decode())
    await rig.answer(await rig.asked(call), Reply.ONCE)
    await rig.run(call)
    await rig.close()
    data = rig.project.parent / "data"
    (data / "tool-output").mkdir(parents=True)
    (data / "tool-output" / f"tool_{call}").write_text("all of it")
    return Archiver(rig.database, data)


async def everything(rig: ActivityRig) -> dict[str, list[dict[str, str | None]]]:
    """All rows of the session, without the time of its return."""
    async with archives.export(rig.database, [rig.session]) as exported:
        found = {table: [row async for batch in exported.rows(table) for row in batch] for table in archives.TABLES}
    return found | {"session": [{**row, "restored_at": None} for row in found["session"]]}


async def test_an_archived_session_is_restored_as_it_was(rig: ActivityRig) -> None:
    archiver = await rested(rig)
    before, head = await everything(rig), (await events.verify(rig.database, rig.session)).head
    path = await archiver.archive_one(rig.session)
    away, left = await overviews.get(rig.database, rig.session), await everything(rig)
    (checked,) = verify(path)
    listed = [record.event.type for record in read_records(path)]
    with pytest.raises(Conflict, match="holdfast restore"):
        await rig.prompt("More.")
    await archiver.restore(path)

    assert away.archive is not None and away.archive.file == str(path) and oct(path.stat().st_mode)[-3:] == "600"
    assert {table for table, rows in left.items() if rows} == {"session", "session_head"}
    assert list((archiver.data / "tool-output").iterdir()) == []
    assert (checked.head, checked.problem) == (head, None) and listed[-1] == "turn.ended"
    assert await everything(rig) == before and await rig.prompt("More.")
    assert (await events.verify(rig.database, rig.session)).problem is None


async def test_an_answer_that_is_no_step_is_archived_and_restored(rig: ActivityRig) -> None:
    archiver = await rested(rig)
    title = Generation(id=GenerationId("gen_title"), purpose=Purpose.TITLE)
    part = NewPart(id=PartId("prt_title"), position=0, body=TextPart(text="A title"))
    await rig.store_answer(title, NewAnswer(body=BODY, parts=(part,)))
    before = await everything(rig)
    path = await archiver.archive_one(rig.session)
    (checked,) = verify(path)
    await archiver.restore(path)
    assert checked.problem is None and await everything(rig) == before
    assert [row["purpose"] for row in before["generation"]] == ["step", "title"]
    assert (await events.verify(rig.database, rig.session)).problem is None


async def test_work_of_every_kind_is_archived_and_restored(rig: ActivityRig) -> None:
    archiver = Archiver(rig.database, rig.project.parent)
    await rig.open_turn()
    await rig.close(CloseReason.FAILED, error="no such model")
    async with rig.journal() as journal:
        retry = await retries.accept(journal, RetryId("rty_1"), "scripted/model")
    with pytest.raises(Conflict, match="it is at work"):
        await archiver.archive_one(rig.session)
    loaded = (await rig.load()).turn
    assert loaded is not None
    rig.turn = loaded.id
    await rig.close()
    before = await everything(rig)

    await archiver.restore(await archiver.archive_one(rig.session))

    kinds = [row["kind"] for row in before["work"]]
    assert await everything(rig) == before and kinds == ["prompt", "retry"] and before["retry"][0]["id"] == retry.retry


async def test_a_session_is_archived_only_on_its_host(rig: ActivityRig) -> None:
    here = await rested(rig)
    there = Archiver(rig.database, here.data, host="alpha")
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert await there.archive_older_than(tomorrow) == []
    await rig.database.rows(b"UPDATE session SET host = 'alpha' WHERE id = %(id)s", id=rig.session)
    with pytest.raises(Conflict, match="on host alpha"):
        await here.archive_one(rig.session)
    assert [each.obstacle for each in await archives.candidates(rig.database, tomorrow, "alpha")] == [None]


async def test_a_session_that_is_young_or_waits_is_not_archived(rig: ActivityRig) -> None:
    archiver = Archiver(rig.database, rig.project.parent)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    prompt = await rig.open_turn(permission={"edit": "ask"})
    assert prompt and await archiver.archive_older_than(tomorrow) == []
    await rig.asked(await rig.called("write", filePath="a", content="x"))
    with pytest.raises(Conflict, match="waits for an answer"):
        await archiver.archive_one(rig.session)
    await rig.stop()
    await rig.close()
    assert await archiver.archive_older_than(datetime.now(UTC) - timedelta(days=1)) == []
    assert len(await archiver.archive_older_than(tomorrow)) == 1 and await archiver.archive_older_than(tomorrow) == []


async def test_a_session_that_changes_while_the_file_is_written_stays(rig: ActivityRig) -> None:
    await rested(rig)
    now = datetime.now(UTC)
    (found,) = await archives.candidates(rig.database, now)
    await rig.prompt("More.")
    with pytest.raises(Conflict, match="something has happened"):
        await archives.remove(rig.database, found, now, ArchiveLocation(file="x", sha256="", at=now))
    assert (await overviews.get(rig.database, rig.session)).waiting == 1


async def test_a_grant_for_the_project_outlives_its_session(rig: ActivityRig) -> None:
    archiver = Archiver(rig.database, rig.project.parent)
    await rig.open_turn(permission={"edit": "ask"})
    ask = await rig.asked(await rig.called("write", filePath="a", content="x"))
    settled = await rig.answer(ask, Reply.ALWAYS, scope="project")
    await grants.mark_propagated(rig.database, settled.grants[0].id)
    await rig.stop()
    await rig.close()
    await archiver.restore(await archiver.archive_one(rig.session))
    await archiver.archive_one(rig.session)
    assert [row.grant.id for row in await grants.list_all(rig.database)] == [settled.grants[0].id]


async def test_a_restored_session_counts_as_new_for_the_next_archiving(rig: ActivityRig) -> None:
    archiver, now = await rested(rig), datetime.now(UTC)
    await rig.database.rows(b"UPDATE session_head SET updated_at = now() - interval '1 year'")
    await archiver.restore(await archiver.archive_one(rig.session))
    assert await archiver.archive_older_than(now) == []
    assert len(await archiver.archive_older_than(now + timedelta(days=1))) == 1


async def test_an_ask_answered_by_a_missing_grant_is_restored(rig: ActivityRig) -> None:
    archiver = await rested(rig)
    await rig.database.rows(b"UPDATE ask SET by_grant = 'another session''s, of another database'")
    before = await everything(rig)
    await archiver.restore(await archiver.archive_one(rig.session))
    assert await everything(rig) == before


@pytest.mark.parametrize("point", ["archive.written", "archive.removed"])
async def test_the_next_run_finishes_what_a_killed_archiver_began(rig: ActivityRig, point: str) -> None:
    archiver = await rested(rig)
    environment = {failpoints.VARIABLE: f"{point}=kill9", failpoints.TEST_VARIABLE: str(rig.project.parent)}
    script = Path(__file__).with_name("archiver_process.py")
    words = (rig.database.url, str(archiver.data), rig.session)
    killed = await asyncio.create_subprocess_exec(sys.executable, script, *words, env={**os.environ, **environment})
    code = await killed.wait()
    later = datetime.now(UTC) + timedelta(days=1)
    written = await archiver.archive_older_than(later)
    path = archiver.data / "archive" / f"{rig.session}.jsonl.gz"
    await archiver.restore(path)

    assert code == -signal.SIGKILL and written == ([path] if point == "archive.written" else [])
    assert (await events.verify(rig.database, rig.session)).problem is None


async def test_a_changed_or_cut_archive_is_refused(rig: ActivityRig, tmp_path: Path) -> None:
    archiver = await rested(rig)
    path = await archiver.archive_one(rig.session)
    text = gzip.decompress(path.read_bytes())
    odd = tmp_path / "odd.jsonl.gz"
    for wrong in (text.replace(b"a.txt", b"b.txt"), text[: len(text) // 2], b"{}\n", text + text):
        odd.write_bytes(gzip.compress(wrong))
        with pytest.raises(UsageError, match="not a complete Holdfast archive"):
            await archiver.restore(odd)
    odd.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError, match="not a complete Holdfast archive"):
        await archiver.restore(odd)


async def test_a_session_is_restored_only_from_the_archive_of_its_log(rig: ActivityRig) -> None:
    archiver = await rested(rig)
    path = await archiver.archive_one(rig.session)
    await archiver.restore(path)
    with pytest.raises(Conflict, match="is here"):
        await archiver.restore(path)
    await rig.prompt("More.")
    await rig.stop()
    older = path.rename(path.with_name("older.jsonl.gz"))
    await archiver.archive_one(rig.session)
    with pytest.raises(Conflict, match="not the archive of it"):
        await archiver.restore(older)


async def test_the_log_of_a_session_that_is_not_archived_cannot_be_deleted(rig: ActivityRig) -> None:
    with pytest.raises(Exception, match="append-only"):
        await rig.database.rows(b"DELETE FROM event")


async def test_every_table_is_archived_or_listed_here(rig: ActivityRig) -> None:
    query = b"SELECT tablename AS name FROM pg_tables WHERE schemaname = 'holdfast'"
    there = {row["name"] for row in await rig.database.rows(query)}
    shared = {"engine", "host", "migration", "model_limit", "project", "schedule", "schedule_record"}
    shared |= {"trust", "trust_record"}
    assert there == {*archives.TABLES, *shared, "delta", "file_removal", "outbox", "refresh"}


def test_a_missing_file_is_named() -> None:
    with pytest.raises(UsageError, match="There is no file"):
        archive_file.read_manifest(Path("/nowhere.jsonl.gz"))


def test_sessions_are_named_by_the_first(tmp_path: Path) -> None:
    heads = [archive_file.LogEnd(session=SessionId(name), seq=1, head="00") for name in ("ses_1", "ses_2")]
    path = tmp_path / "a.jsonl.gz"
    with archive_file.open_writer(path) as writer:
        writer.manifest(archive_file.Manifest(holdfast="1", at=datetime.now(UTC), sessions=tuple(heads)))
    assert archive_file.read_manifest(path).session == "ses_1" and [each.problem for each in verify(path)] != [
        None,
        None,
    ]


async def test_an_archive_may_lack_newer_columns(rig: ActivityRig) -> None:
    await rig.open_turn()
    row = {"id": "gen_7", "session": str(rig.session), "purpose": "step", "turn": str(rig.turn), "step": "7"}
    row |= {"fence": "{1,2,3}", "failures": "2"}
    async with archives.open_restore(rig.database, {}) as restore:
        await restore.rows("generation", [row])
    (found,) = await rig.database.rows(b"SELECT failures FROM generation WHERE step = 7")
    assert found == {"failures": 2}
