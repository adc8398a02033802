"""Old sessions go into files that can be checked, and come back as they were."""

import asyncio
import gzip
import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from activities import failpoints
from activities.archive import file
from activities.archive.archiving import Archivist
from activities.archive.verifying import records, verify
from activities.store import archives, events, grants, sessions
from activities.store.sessions import Archived
from tests.activities.scene import Scene
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.ids import SessionId
from workflows.domain.permissions.replies import Reply

NUL = "a\x00b \ud800"


async def rested(scene: Scene) -> Archivist:
    """An archivist, and a session that has worked: a call that was asked for and done, hard words, and an output."""
    await scene.open_turn(permission={"edit": "ask"})
    call = await scene.called("write", filePath="a.txt", content=NUL.encode("utf-8", "replace").decode())
    await scene.answer(await scene.asked(call), Reply.ONCE)
    await scene.run(call)
    await scene.close()
    data = scene.project.parent / "data"
    (data / "tool-output").mkdir(parents=True)
    (data / "tool-output" / f"tool_{call}").write_text("all of it")
    return Archivist(scene.database, data)


async def everything(scene: Scene) -> dict[str, list[dict[str, str | None]]]:
    """All rows of the session, but for when it came back."""
    async with archives.export(scene.database, [scene.session]) as exported:
        found = {table: [row async for batch in exported.rows(table) for row in batch] for table in archives.TABLES}
    return found | {"session": [{**row, "restored_at": None} for row in found["session"]]}


async def test_an_archived_session_is_a_file_and_a_sign_and_comes_back_as_it_was(scene: Scene) -> None:
    archivist = await rested(scene)
    before, head = await everything(scene), (await events.verify(scene.database, scene.session)).head
    path = await archivist.one(scene.session)
    away, left = await sessions.get(scene.database, scene.session), await everything(scene)
    (checked,) = verify(path)
    listed = [record.event.type for record in records(path)]
    with pytest.raises(Conflict, match="holdfast restore"):
        await scene.prompt("More.")
    await archivist.restore(path)

    assert away.archive is not None and away.archive.file == str(path) and oct(path.stat().st_mode)[-3:] == "600"
    assert {table for table, rows in left.items() if rows} == {"session"}
    assert list((archivist.data / "tool-output").iterdir()) == []
    assert (checked.head, checked.problem) == (head, None) and listed[-1] == "turn.ended"
    assert await everything(scene) == before and await scene.prompt("More.")
    assert (await events.verify(scene.database, scene.session)).problem is None


async def test_a_session_is_archived_where_it_is_at_home_and_nowhere_else(scene: Scene) -> None:
    here = await rested(scene)
    there = Archivist(scene.database, here.data, host="alpha")
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert await there.all_since(tomorrow) == []
    await scene.database.rows(b"UPDATE session SET host = 'alpha' WHERE id = %(id)s", id=scene.session)
    with pytest.raises(Conflict, match="on host alpha"):
        await here.one(scene.session)
    assert [each.obstacle for each in await archives.old(scene.database, tomorrow, "alpha")] == [None]


async def test_what_waits_for_something_or_is_young_stays(scene: Scene) -> None:
    archivist = Archivist(scene.database, scene.project.parent)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    prompt = await scene.open_turn(permission={"edit": "ask"})
    assert prompt and await archivist.all_since(tomorrow) == []
    await scene.asked(await scene.called("write", filePath="a", content="x"))
    with pytest.raises(Conflict, match="waits for an answer"):
        await archivist.one(scene.session)
    await scene.stop()
    await scene.close()
    assert await archivist.all_since(datetime.now(UTC) - timedelta(days=1)) == []
    assert len(await archivist.all_since(tomorrow)) == 1 and await archivist.all_since(tomorrow) == []


async def test_what_happens_while_the_file_is_written_keeps_the_session_here(scene: Scene) -> None:
    await rested(scene)
    now = datetime.now(UTC)
    (found,) = await archives.old(scene.database, now)
    await scene.prompt("More.")
    with pytest.raises(Conflict, match="something has happened"):
        await archives.remove(scene.database, found, now, Archived(file="x", sha256="", at=now))
    assert (await sessions.get(scene.database, scene.session)).waiting == 1


async def test_a_grant_for_the_project_outlives_its_session(scene: Scene) -> None:
    archivist = Archivist(scene.database, scene.project.parent)
    await scene.open_turn(permission={"edit": "ask"})
    ask = await scene.asked(await scene.called("write", filePath="a", content="x"))
    settled = await scene.answer(ask, Reply.ALWAYS, scope="project")
    assert settled.grant is not None
    await grants.spread(scene.database, settled.grant.id)
    await scene.stop()
    await scene.close()
    await archivist.restore(await archivist.one(scene.session))
    await archivist.one(scene.session)
    assert [row.grant.id for row in await grants.listed(scene.database)] == [settled.grant.id]


async def test_a_session_that_came_back_rests_anew_before_it_goes_by_itself(scene: Scene) -> None:
    archivist, now = await rested(scene), datetime.now(UTC)
    await scene.database.rows(b"UPDATE session SET updated_at = now() - interval '1 year'")
    await archivist.restore(await archivist.one(scene.session))
    assert await archivist.all_since(now) == []
    assert len(await archivist.all_since(now + timedelta(days=1))) == 1


async def test_what_anothers_grant_has_answered_comes_back_where_that_grant_is_not(scene: Scene) -> None:
    archivist = await rested(scene)
    await scene.database.rows(b"UPDATE ask SET by_grant = 'another session''s, of another database'")
    before = await everything(scene)
    await archivist.restore(await archivist.one(scene.session))
    assert await everything(scene) == before


async def test_answers_of_an_archive_that_names_no_events_of_them_come_back_with_them(scene: Scene) -> None:
    archivist = await rested(scene)
    before = await everything(scene)
    await scene.database.rows(b"UPDATE ask SET answer_seq = NULL")
    await archivist.restore(await archivist.one(scene.session))
    assert before["ask"][0]["answer_seq"] is not None and await everything(scene) == before


@pytest.mark.parametrize("point", ["archive.written", "archive.removed"])
async def test_an_archivist_that_is_killed_is_followed_by_one_that_ends_the_work(scene: Scene, point: str) -> None:
    archivist = await rested(scene)
    environment = {failpoints.VARIABLE: f"{point}=kill9", failpoints.TEST_VARIABLE: str(scene.project.parent)}
    script = Path(__file__).with_name("archivist.py")
    words = (scene.database.url, str(archivist.data), scene.session)
    killed = await asyncio.create_subprocess_exec(sys.executable, script, *words, env={**os.environ, **environment})
    code = await killed.wait()
    later = datetime.now(UTC) + timedelta(days=1)
    written = await archivist.all_since(later)
    path = archivist.data / "archive" / f"{scene.session}.jsonl.gz"
    await archivist.restore(path)

    assert code == -signal.SIGKILL and written == ([path] if point == "archive.written" else [])
    assert (await events.verify(scene.database, scene.session)).problem is None


async def test_a_changed_or_cut_archive_is_refused(scene: Scene, tmp_path: Path) -> None:
    archivist = await rested(scene)
    path = await archivist.one(scene.session)
    text = gzip.decompress(path.read_bytes())
    odd = tmp_path / "odd.jsonl.gz"
    for wrong in (text.replace(b"a.txt", b"b.txt"), text[: len(text) // 2], b"{}\n", text + text):
        odd.write_bytes(gzip.compress(wrong))
        with pytest.raises(UsageError, match="no whole archive"):
            await archivist.restore(odd)
    odd.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError, match="no whole archive"):
        await archivist.restore(odd)


async def test_only_the_archive_of_its_own_log_brings_a_session_back(scene: Scene) -> None:
    archivist = await rested(scene)
    path = await archivist.one(scene.session)
    await archivist.restore(path)
    with pytest.raises(Conflict, match="is here"):
        await archivist.restore(path)
    await scene.prompt("More.")
    await scene.stop()
    older = path.rename(path.with_name("older.jsonl.gz"))
    await archivist.one(scene.session)
    with pytest.raises(Conflict, match="not the archive of it"):
        await archivist.restore(older)


async def test_the_log_of_a_session_that_is_here_cannot_be_deleted(scene: Scene) -> None:
    with pytest.raises(Exception, match="append-only"):
        await scene.database.rows(b"DELETE FROM event")


async def test_every_table_is_archived_or_known_to_stay(scene: Scene) -> None:
    query = b"SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'holdfast'"
    there = {row["name"] for row in await scene.database.rows(query)}
    assert there == {*archives.TABLES, "delta", "engine", "host", "migration"}


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="There is no file"):
        file.manifest(Path("/nowhere.jsonl.gz"))


def test_sessions_are_named_by_the_first(tmp_path: Path) -> None:
    heads = [file.Head(session=SessionId(name), seq=1, head="00") for name in ("ses_1", "ses_2")]
    path = tmp_path / "a.jsonl.gz"
    with file.writing(path) as writer:
        writer.manifest(file.Manifest(holdfast="1", at=datetime.now(UTC), sessions=tuple(heads)))
    assert file.manifest(path).session == "ses_1" and [each.problem for each in verify(path)] != [None, None]


async def test_an_archive_may_have_columns_that_there_are_no_more_and_lack_newer_ones(scene: Scene) -> None:
    await scene.open_turn()
    row = {"turn": str(scene.turn), "step": "7", "fence": "{1,2,3}", "failures": "2", "broken": "{1-2-3}"}
    async with archives.restoring(scene.database, {}) as restore:
        await restore.rows("generation", [row])
    (found,) = await scene.database.rows(b"SELECT failures FROM generation WHERE step = 7")
    assert found == {"failures": 2}
