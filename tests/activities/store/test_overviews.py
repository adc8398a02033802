"""Sessions as people list and find them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from activities.store import overviews, sessions
from activities.store.sessions import NewSession
from tests.activities.rig import PERSON, ActivityRig, open_rig
from workflows.domain.ids import SessionId
from workflows.domain.session_filter import ListedState, SessionFilter
from workflows.domain.wire import CloseReason


async def test_an_overview_has_the_newest_turn_and_what_waits(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
    await rig.prompt("More.")
    found = await overviews.get(rig.database, rig.session)
    assert (found.turn, found.number, found.step, found.turn_state) == (rig.turn, 1, 1, "open")
    assert (found.asks, found.waiting, found.model) == (1, 1, "scripted/model")


async def test_an_overview_has_the_end_of_the_newest_turn(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.close(CloseReason.FAILED, error="No key.")
    found = await overviews.get(rig.database, rig.session)
    assert (found.turn_state, found.reason, found.error, found.waiting) == ("ended", "failed", "No key.", 0)


async def test_the_last_changed_is_listed_first(rig: ActivityRig, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = await open_rig(rig.database, tmp_path / "other")
    await rig.prompt()
    listed = await overviews.list_recent(rig.database)
    assert [found.id for found in listed] == [rig.session, other.session]
    assert [found.id for found in await overviews.list_recent(rig.database, limit=1)] == [rig.session]
    assert [found.id for found in await overviews.list_recent(rig.database, roots=[other.session])] == [other.session]


async def test_sessions_are_found_by_what_they_are_and_what_their_subagents_are(rig: ActivityRig) -> None:
    new = NewSession(id=SessionId("ses_b"), directory="/p/below", worktree="/p", title="Mend 50% of it")
    await sessions.create(rig.database, new, PERSON)
    child = new.model_copy(update={"id": SessionId("ses_c"), "title": "Look", "agent": "explore", "parent": new.id})
    await sessions.create(rig.database, child, PERSON)
    await rig.open_turn(permission={"edit": "ask"})
    await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
    now = datetime.now(UTC)

    async def found(limit: int | None = None, **wanted: Any) -> tuple[list[SessionId], int]:
        return await overviews.search(rig.database, SessionFilter(**wanted), None, limit)

    both = ([rig.session, new.id], 2)
    here: tuple[list[SessionId], int] = ([rig.session], 1)
    there: tuple[list[SessionId], int] = ([new.id], 1)
    assert await found(states=(ListedState.ASKS,)) == here == await found(directory=str(rig.project))
    assert await found(states=(ListedState.NEW,)) == there == await found(text="50% OF")
    assert await found(below="/p") == there == await found(below="/p/below/") == await found(worktree="/p")
    assert await found(agents=("explore",)) == there and await found(text="50_") == ([], 0) == await found(below="/p/b")
    assert await found(since=now - timedelta(hours=1)) == both == await found(agents=("build",))
    assert await found(before=now - timedelta(hours=1)) == ([], 0)
    assert await found(1, before=now + timedelta(hours=1)) == ([rig.session], 2)
