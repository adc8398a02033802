"""A file is replaced as a whole only as its session has seen it last, or never seen it."""

from dataclasses import replace
from typing import Any

import pytest

from activities.session.forks import fork_session
from activities.store import deletions
from tests.activities.conftest import Arm
from tests.activities.rig import PERSON, ActivityRig
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import Reply

ALLOWED = {"permission": {"edit": "allow"}}


async def done(rig: ActivityRig, tool: str, **arguments: Any) -> str:
    """The result of a call of one answer."""
    call = await rig.called(tool, **arguments)
    await rig.run(call)
    return await rig.output(call)


async def read(rig: ActivityRig, **more: Any) -> str:
    return await done(rig, "read", filePath="a.txt", **more)


async def write(rig: ActivityRig, content: str = "new\n") -> str:
    return await done(rig, "write", filePath="a.txt", content=content)


async def edit(rig: ActivityRig, old: str, new: str) -> str:
    return await done(rig, "edit", filePath="a.txt", oldString=old, newString=new)


async def test_what_others_have_changed_since_a_read_is_not_written_over(rig: ActivityRig) -> None:
    file = rig.file("a.txt", "one\n")
    await rig.open_turn(**ALLOWED)
    await read(rig)
    file.write_text("one\ntheirs\n")
    refused = await write(rig)
    assert f"{str(file)!r} has changed since you last read or wrote it. Nothing was written" in refused
    assert file.read_text() == "one\ntheirs\n"

    await read(rig, offset=2, limit=1)
    assert "Wrote file successfully." in await write(rig)
    assert file.read_text() == "new\n"


async def test_a_file_that_the_session_has_never_seen_and_a_missing_one_are_written(rig: ActivityRig) -> None:
    file = rig.file("a.txt", "one\n")
    await rig.open_turn(**ALLOWED)
    await write(rig, "1\n")
    file.unlink()
    assert "Wrote file successfully." in await write(rig, "2\n")
    assert "Wrote file successfully." in await write(rig, "3\n")
    file.write_text("4\n")
    assert "Nothing was written: the file has exactly this content" in await write(rig, "4\n")
    assert "Wrote file successfully." in await write(rig, "5\n")


async def test_own_edits_are_seen_and_those_of_an_unseen_version_are_not(rig: ActivityRig) -> None:
    file = rig.file("a.txt", "one\n")
    await rig.open_turn(**ALLOWED)
    await read(rig)
    await edit(rig, "one", "two")
    assert "Wrote file successfully." in await write(rig, "three\n")

    file.write_text("three\ntheirs\n")
    for old, new in (("three", "four"), ("four", "five")):
        await edit(rig, old, new)
    assert "has changed since" in await write(rig)
    assert file.read_text() == "five\ntheirs\n"


async def test_earlier_calls_of_the_same_answer_count(rig: ActivityRig) -> None:
    file = rig.file("a.txt", "one\n")
    await rig.open_turn(**ALLOWED)
    await read(rig)
    file.write_text("theirs\n")
    path, new = {"filePath": "a.txt"}, {"oldString": "theirs", "newString": "ours"}
    edit_call, late, read_call, write_call = await rig.answered(
        ("edit", path | new),
        ("write", path | {"content": "late\n"}),
        ("read", path),
        ("write", path | {"content": "new\n"}),
    )
    for call in (edit_call, late, read_call, write_call):
        await rig.run(call)
    assert [await rig.state(call) for call in (late, write_call)] == [CallState.FAILED, CallState.DONE]
    assert file.read_text() == "new\n"


async def test_nobody_is_asked_about_what_would_be_lost(rig: ActivityRig) -> None:
    file = rig.file("a.txt", "one\n")
    await rig.open_turn(permission={"edit": "ask"})
    await read(rig)
    asked = await rig.called("write", filePath="a.txt", content="new\n")
    await rig.answer(await rig.asked(asked), Reply.ONCE)
    file.write_text("theirs\n")
    assert (await rig.row(await rig.called("write", filePath="a.txt", content="new\n"))).plan is None
    await rig.run(asked)
    assert "has changed since" in await rig.output(asked)
    assert file.read_text() == "theirs\n"


@pytest.mark.parametrize("point", ["tool.claimed", "tool.effect_done"])
async def test_a_write_that_dies_has_seen_what_it_has_left(rig: ActivityRig, arm: Arm, point: str) -> None:
    file = rig.file("a.txt", "one\n")
    await rig.open_turn(**ALLOWED)
    call = await rig.called("write", filePath="a.txt", content="two\n")
    arm(f"{point}=drop@1")
    with pytest.raises(ConnectionResetError):
        await rig.run(call)
    await rig.run(call, sequence=rig.sequence, attempt=2)
    file.write_text("theirs\n")
    assert "has changed since" in await write(rig)


@pytest.mark.parametrize(("whole", "state"), [(True, CallState.DONE), (False, CallState.FAILED)])
async def test_a_fork_has_seen_what_the_messages_that_it_has_copied_show(
    rig: ActivityRig, whole: bool, state: CallState
) -> None:
    rig.file("a.txt", "one\n")
    await rig.open_turn(**ALLOWED)
    await read(rig)
    await write(rig, "two\n")
    written = (await rig.row(await rig.called("read", filePath="b.txt"))).message
    _, before, _ = await rig.database.rows(b"SELECT id FROM message ORDER BY step")
    await fork_session(rig.database, rig.session, SessionId("ses_fork"), written if whole else before["id"], PERSON)
    fork = replace(rig, session=SessionId("ses_fork"), epoch=0)
    await fork.open_turn(**ALLOWED)
    call = await fork.called("write", filePath="a.txt", content="new\n")
    await fork.run(call)
    assert await fork.state(call) is state


async def test_a_deleted_message_has_shown_nothing(rig: ActivityRig) -> None:
    rig.file("a.txt", "one\n")
    await rig.open_turn()
    await read(rig)
    await rig.close()
    query = b"SELECT f.call, c.message FROM seen_file f JOIN call c ON c.id = f.call"
    (seen,) = await rig.database.rows(query)
    async with rig.journal() as journal:
        await deletions.erase_message(journal, seen["message"])
    assert await rig.database.rows(query) == []
