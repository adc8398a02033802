"""A deleted session has no contents any more; its log stays, and names who deleted it."""

import asyncio
import json
from pathlib import Path

import psutil
import pytest

from activities.archive import archive_file
from activities.archive.archiver import Archiver
from activities.session.deletion import Deletion
from activities.session.forks import fork_session
from activities.shell.left_processes import find_left
from activities.store import archives, deletions, deltas, events, grants, overviews, projects, sessions, turns
from activities.store.journal import session_journal
from activities.store.sessions import NewSession
from tests.activities.archive.test_families import Family
from tests.activities.archive.test_families import family as family
from tests.activities.rig import PERSON, ActivityRig, wait_for_lock_waiter
from worker.maintenance import maintenance_jobs
from workflows.domain.close_reason import CloseReason
from workflows.domain.errors import Conflict
from workflows.domain.events.sessions import SessionDeleted
from workflows.domain.events.turns import TurnOpened
from workflows.domain.ids import PartId, SessionId, TurnId
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import Reply
from workflows.domain.views.accepted import DeletedSessions

REMAINS = {"session", "session_head", "event", "grant_"}
FORK = SessionId("ses_fork")


def data_of(rig: ActivityRig) -> Path:
    return rig.project.parent / "data"


async def delete(rig: ActivityRig, session: SessionId | None = None) -> DeletedSessions:
    return await Deletion(rig.database, data_of(rig), None, PERSON).run(session or rig.session)


async def worked(rig: ActivityRig, scope: GrantScope = GrantScope.PROJECT) -> PartId:
    await rig.open_turn(permission={"edit": "ask"})
    call = await rig.called("write", filePath="a.txt", content="secret words")
    await rig.answer(await rig.asked(call), Reply.ALWAYS, scope=scope)
    await rig.run(call)
    await rig.run(await rig.called("todowrite", todos=[{"content": "c", "status": "pending", "priority": "low"}]))
    await rig.close()
    return call


async def filled(rig: ActivityRig, sessions_: list[SessionId]) -> dict[str, str]:
    async with archives.export(rig.database, sessions_) as exported:
        found = {table: [row async for batch in exported.rows(table) for row in batch] for table in archives.TABLES}
    return {table: json.dumps(rows) for table, rows in found.items() if rows}


async def test_a_deletion_erases_all_contents_and_its_chain_still_verifies(rig: ActivityRig) -> None:
    call = await worked(rig)
    file = data_of(rig) / "tool-output" / f"tool_{call}"
    file.parent.mkdir(parents=True)
    file.write_text("all of it")
    await deltas.publish(rig.database, rig.session, "msg_1", "1", [{"text": "secret words"}])
    await fork_session(rig.database, rig.session, FORK, None, PERSON)
    head = (await events.verify(rig.database, rig.session)).events
    report = await delete(rig)
    left, checked = await filled(rig, [rig.session]), await events.verify(rig.database, rig.session)

    assert (report.deleted, report.failures, file.exists()) == ((rig.session,), (), False)
    assert set(left) == REMAINS and "secret words" not in "".join(left.values())
    assert await deltas.since(rig.database, rig.session, 0) == []
    assert "A session" not in left["session"] and str(rig.project) not in left["session"]
    assert (checked.events, checked.problem) == (head + 1, None)
    record = [each async for each in events.after(rig.database, rig.session, head)][-1]
    assert record.event == SessionDeleted() and record.actor == PERSON
    assert (await events.verify(rig.database, FORK)).problem is None
    assert "secret words" in (await filled(rig, [FORK]))["call"] and await configs(rig) == 1
    await delete(rig, FORK)
    assert await configs(rig) == 0


@pytest.mark.parametrize("way", ["deleted", "archived", "its message deleted"])
async def test_what_its_calls_have_left_running_goes_with_their_files(rig: ActivityRig, way: str) -> None:
    await rig.open_turn(permission={"bash": "allow"})
    call = await rig.called("bash", command="setsid sleep 96 >/dev/null 2>&1 & echo started")
    await rig.run(call)
    await rig.close()
    (left,) = await asyncio.to_thread(find_left, data_of(rig))
    assert (left.session, left.call) == (rig.session, call) and str(left.pid) in await rig.output(call)
    match way:
        case "deleted":
            assert (await delete(rig)).failures == ()
        case "archived":
            await Archiver(rig.database, data_of(rig)).archive_one(rig.session)
        case _:
            message = (await rig.row(call)).message
            await Deletion(rig.database, data_of(rig), None, PERSON).run_message(rig.session, message)
    assert not psutil.pid_exists(left.pid)
    assert not (data_of(rig) / "calls" / call).exists()


async def configs(rig: ActivityRig) -> int:
    return len(await rig.database.rows(b"SELECT id FROM turn_config"))


async def test_a_deleted_session_is_listed_nowhere_and_takes_nothing(rig: ActivityRig) -> None:
    await worked(rig)
    await delete(rig)
    assert await overviews.list_recent(rig.database) == [] == await sessions.ids(rig.database)
    assert await overviews.count(rig.database) == 0 and await projects.list_all(rig.database) == []
    assert (await overviews.get(rig.database, rig.session)).status == "deleted"
    with pytest.raises(Conflict, match="was deleted"):
        await rig.prompt("More.")
    with pytest.raises(Conflict, match="was deleted"):
        await delete(rig)


async def test_a_prompt_that_came_just_before_the_deletion_is_not_lost(rig: ActivityRig) -> None:
    await rig.prompt("More.")
    with pytest.raises(Conflict, match="is at work"):
        async with session_journal(rig.database, rig.session, PERSON) as journal:
            await deletions.erase(journal, None)


async def test_a_session_is_at_work_until_its_background_tasks_are_told_to_it(rig: ActivityRig) -> None:
    await rig.open_turn()
    given = {"description": "look", "prompt": "Where?", "subagent_type": "explore", "background": True}
    await rig.run(await rig.called("task", **given))
    await rig.close()
    await rig.database.rows(b"UPDATE work SET state = 'withdrawn' WHERE session <> %(session)s", session=rig.session)
    await rig.database.rows(b"UPDATE task SET settled_at = now()")
    with pytest.raises(Conflict, match="is at work"):
        await delete(rig)
    await rig.database.rows(b"UPDATE task SET delivery = 'done'")
    assert len((await delete(rig)).deleted) == 2


async def test_a_projects_grant_outlives_its_session_and_can_still_be_revoked(rig: ActivityRig) -> None:
    await worked(rig)
    await delete(rig)
    (live,) = await grants.list_all(rig.database)
    await grants.revoke(rig.database, live.grant.id, PERSON)
    assert await grants.list_all(rig.database) == []
    assert (await rig.types())[-1] == "grant.revoked"
    assert (await events.verify(rig.database, rig.session)).problem is None


async def test_a_session_at_work_is_not_deleted_until_it_was_stopped(rig: ActivityRig) -> None:
    await rig.open_turn()
    with pytest.raises(Conflict, match="is at work: `holdfast stop"):
        await delete(rig)
    await rig.close()
    assert (await delete(rig)).deleted == (rig.session,)


async def test_subagents_sessions_are_deleted_with_it_and_only_with_it(family: Family) -> None:
    rig = family.scenes[0]
    with pytest.raises(Conflict, match="is a subagent's"):
        await delete(rig, family.ids[1])
    await family.rest()
    report = await delete(rig)
    assert report.deleted == tuple(reversed(family.ids)) and report.failures == ()
    assert set(await filled(rig, family.ids)) <= REMAINS
    assert [each.problem for each in await family.chains()] == [None] * 3


async def test_a_step_that_fails_does_not_stop_the_others(family: Family) -> None:
    rig = family.scenes[0]
    await family.rest()
    stuck = data_of(rig) / "tool-output" / f"tool_{family.calls[-1]}"
    stuck.mkdir(parents=True)  # no file can be removed there
    spool = data_of(rig) / "calls" / family.calls[0]
    spool.parent.mkdir()
    spool.write_text("no directory")  # nor a directory here
    report = await delete(rig)
    assert report.deleted == tuple(reversed(family.ids))
    assert len(report.failures) == 2 and all("tried again" in failure for failure in report.failures)
    assert str(stuck) in "".join(report.failures) and spool.exists()
    stuck.rmdir()
    spool.unlink()
    stuck.write_text("all of it")
    spool.mkdir()
    await maintain(rig, data_of(rig))
    assert not stuck.exists() and not spool.exists()


async def test_what_a_session_that_begins_just_now_shares_stays(rig: ActivityRig) -> None:
    """Its project, and the configuration of its turn."""
    first, second = (NewSession(id=SessionId(f"ses_{n}"), directory="/p", worktree="/p", title="") for n in (1, 2))
    await sessions.create(rig.database, first, PERSON)
    await rig.open_turn()
    await rig.close()
    (config,) = [event.turn_config for event in await rig.events() if isinstance(event, TurnOpened)]
    async with rig.database.statements() as batch:
        begun = await sessions.create_in(batch, rig.database.turn_configs, second, PERSON)
        assert begun is not None
        sessions.add_project(batch, second)
        turn = TurnId("trn_2")
        await turns.open_new(begun, turn, await turns.turn_config(begun, config), "build", "a/b", error="none")
        await turns.close(begun, turn, CloseReason.FAILED, None)
        begun.append()
        await batch.rows(b"SELECT")
        deleting = [asyncio.create_task(delete(rig, each)) for each in (first.id, rig.session)]
        await wait_for_lock_waiter(rig.database)
    assert [(await each).failures for each in deleting] == [(), ()]
    assert [each.sessions for each in await projects.list_all(rig.database)] == [1] and await configs(rig) == 1
    await delete(rig, second.id)
    assert await projects.list_all(rig.database) == [] and await configs(rig) == 0


async def test_the_host_of_a_session_that_was_deleted_on_another_one_removes_its_files(rig: ActivityRig) -> None:
    call = await worked(rig)
    await rig.database.rows(b"UPDATE session SET host = 'mine'")
    archives_ = [data_of(rig) / "archive" / f"{rig.session}.jsonl.{end}" for end in ("gz", "new")]
    files = [data_of(rig) / "tool-output" / f"tool_{call}", *archives_]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("all of it")
    elsewhere = Deletion(rig.database, rig.project / "other", "yours", PERSON)
    assert (await elsewhere.run(rig.session)).host == "mine"
    await maintain(rig, rig.project / "other", host="yours")
    assert all(file.exists() for file in files)
    await maintain(rig, data_of(rig), host="mine")
    assert not any(file.exists() for file in files)


async def test_a_deletion_that_was_interrupted_goes_on_when_it_is_repeated(family: Family) -> None:
    rig = family.scenes[0]
    await family.rest()
    async with session_journal(rig.database, family.ids[2], PERSON) as journal:
        await deletions.erase(journal, rig.session)
    assert (await delete(rig)).deleted == (family.ids[1], family.ids[0])
    assert [each.problem for each in await family.chains()] == [None] * 3


async def test_an_archived_session_is_deleted_with_its_archive(rig: ActivityRig) -> None:
    await worked(rig, GrantScope.SESSION)
    archiver = Archiver(rig.database, data_of(rig))
    path = await archiver.archive_one(rig.session)
    copy = path.rename(path.with_suffix(".away"))
    with pytest.raises(Conflict, match="its archive is not here"):
        await delete(rig)
    path.write_bytes(copy.read_bytes())
    assert (await delete(rig)).failures == () and not path.exists()
    assert set(await filled(rig, [rig.session])) == REMAINS - {"grant_"}
    assert (await events.verify(rig.database, rig.session)).problem is None
    with pytest.raises(Conflict, match="was deleted"):
        await archiver.restore(copy)
    with pytest.raises(Conflict, match="there is nothing to archive"):
        await archiver.archive_one(rig.session)


@pytest.mark.parametrize("whole", [True, False], ids=["the session", "a message"])
async def test_what_a_killed_archiver_has_left_goes_with_a_deletion(rig: ActivityRig, whole: bool) -> None:
    prompt = await rig.prompt(model="scripted/model")
    loaded = await rig.load()
    assert loaded.turn is not None
    rig.turn = loaded.turn.id
    await rig.answered()
    await rig.close()
    unfinished = archive_file.draft_of(Archiver(rig.database, data_of(rig)).path(rig.session))
    with pytest.raises(KeyboardInterrupt), archive_file.open_writer(unfinished.with_suffix(".gz")):
        raise KeyboardInterrupt
    assert unfinished.exists()
    if whole:
        await delete(rig)
    else:
        await Deletion(rig.database, data_of(rig), None, PERSON).run_message(rig.session, prompt)
    assert not unfinished.exists()


async def test_the_archive_of_a_session_that_was_restored_is_removed_too(rig: ActivityRig) -> None:
    await worked(rig, GrantScope.SESSION)
    archiver = Archiver(rig.database, data_of(rig))
    path = await archiver.archive_one(rig.session)
    await archiver.restore(path)
    kept = path.read_bytes()
    assert (await delete(rig)).failures == () and not path.exists()
    path.write_bytes(kept)  # a deletion that was cut short
    with pytest.raises(Conflict, match="was deleted already"):
        await delete(rig)
    assert not path.exists()


async def maintain(rig: ActivityRig, data: Path, host: str | None = None) -> None:
    """As a worker does hourly."""
    for job in maintenance_jobs(rig.database, data, host=host):
        await job.work()
