"""Sessions as rows: created once, listed, ended."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from activities.store import events, generations, projects, sessions, titles
from activities.store.generations import NewAnswer
from activities.store.journal import session_journal
from activities.store.sessions import NewSession
from tests.activities.rig import BODY, PERSON, ActivityRig, open_rig
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, SessionId
from workflows.domain.session_filter import ListedState, SessionFilter
from workflows.domain.usage import Cost, Tokens
from workflows.domain.wire import CloseReason

UNKNOWN = SessionId("ses_x")


async def test_creating_a_session_again_leaves_it_as_it_is(rig: ActivityRig) -> None:
    again = NewSession(id=rig.session, directory="/other", title="Another title")
    await sessions.create(rig.database, again, PERSON)
    assert (await sessions.get(rig.database, rig.session)).title == "A session"
    assert await rig.types() == ["session.created"]


async def test_a_session_remembers_where_it_came_from(rig: ActivityRig) -> None:
    new = NewSession(id=UNKNOWN, directory="/p", title="t", model="m/n", environment={"PATH": "/bin"})
    await sessions.create(rig.database, new, PERSON)
    origin = await sessions.origin(rig.database, UNKNOWN)
    assert (origin.directory, origin.agent, origin.model) == ("/p", "build", "m/n")
    assert origin.environment == {"PATH": "/bin"}


async def test_a_changed_configuration_is_recorded_once(rig: ActivityRig) -> None:
    before = ConfigSources(home="/h", folder="/h/c")
    after = before.model_copy(update={"directory": "/oc"})
    for sources, changed in ((before, ("HOME", "XDG_CONFIG_HOME")), (after, ("OPENCODE_CONFIG_DIR",)), (after, ())):
        async with rig.journal() as journal:
            assert await sessions.configure(journal, sources) == changed
    assert (await sessions.origin(rig.database, rig.session)).sources == after
    assert await rig.types() == ["session.created", "session.configured", "session.configured"]


async def test_a_session_below_another_one_has_the_sources_of_the_topmost(rig: ActivityRig) -> None:
    sources = ConfigSources(home="/h", folder="/h/c", content={"model": "a/b"})
    above, below = SessionId("ses_a"), SessionId("ses_b")
    await sessions.create(rig.database, NewSession(id=above, directory="/p", title="t", sources=sources), PERSON)
    await sessions.create(rig.database, NewSession(id=below, directory="/p", title="t", parent=above), PERSON)
    assert (await sessions.origin(rig.database, below)).sources == sources
    with pytest.raises(Conflict, match="is a subagent's"):
        async with session_journal(rig.database, below, PERSON) as journal:
            await sessions.configure(journal, sources)


async def test_an_overview_has_the_newest_turn_and_what_waits(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
    await rig.prompt("More.")
    found = await sessions.get(rig.database, rig.session)
    assert (found.turn, found.number, found.step, found.turn_state) == (rig.turn, 1, 1, "open")
    assert (found.asks, found.waiting, found.model) == (1, 1, "scripted/model")


async def test_an_overview_has_the_end_of_the_newest_turn(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.close(CloseReason.FAILED, error="No key.")
    found = await sessions.get(rig.database, rig.session)
    assert (found.turn_state, found.reason, found.error, found.waiting) == ("ended", "failed", "No key.", 0)


async def test_the_last_changed_is_listed_first(rig: ActivityRig, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = await open_rig(rig.database, tmp_path / "other")
    await rig.prompt()
    listed = await sessions.overview(rig.database)
    assert [found.id for found in listed] == [rig.session, other.session]
    assert [found.id for found in await sessions.overview(rig.database, limit=1)] == [rig.session]
    assert [found.id for found in await sessions.overview(rig.database, roots=[other.session])] == [other.session]


async def test_sessions_are_found_by_what_they_are_and_what_their_subagents_are(rig: ActivityRig) -> None:
    new = NewSession(id=SessionId("ses_b"), directory="/p/below", worktree="/p", title="Mend 50% of it")
    await sessions.create(rig.database, new, PERSON)
    child = new.model_copy(update={"id": SessionId("ses_c"), "title": "Look", "agent": "explore", "parent": new.id})
    await sessions.create(rig.database, child, PERSON)
    await rig.open_turn(permission={"edit": "ask"})
    await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
    now = datetime.now(UTC)

    async def found(limit: int | None = None, **wanted: Any) -> tuple[list[SessionId], int]:
        return await sessions.search(rig.database, SessionFilter(**wanted), None, limit)

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


async def test_a_project_has_a_record_of_its_own(rig: ActivityRig) -> None:
    for number, vcs in enumerate((None, "git", "git")):
        new = NewSession(id=SessionId(f"ses_{number}"), directory="/p", worktree="/p", vcs=vcs, title="t")
        await sessions.create(rig.database, new, PERSON)
        await projects.set_id(rig.database, None, "/p", f"id {number}")
    (found,) = await projects.list_all(rig.database)
    assert (found.worktree, found.vcs, found.id, found.sessions) == ("/p", "git", "id 1", 3)


async def test_totals_are_sums_over_all_answers_and_count_the_steps(rig: ActivityRig) -> None:
    await rig.open_turn()
    for step, cost in ((1, "0.10"), (2, "0.10"), (3, None)):
        body = BODY.model_copy(update={"tokens": Tokens(input=10, output=step), "cost": cost})
        await rig.store_answer(rig.generation(step), NewAnswer(body=body))
    title = Generation(id=GenerationId("gen_title"), purpose=Purpose.TITLE)
    await rig.store_answer(title, NewAnswer(body=BODY.model_copy(update={"tokens": Tokens(input=5), "cost": "0.05"})))
    totals = await sessions.totals(rig.database, rig.session)
    assert (totals.steps, totals.tokens.input, totals.tokens.output) == (3, 35, 6)
    assert totals.cost == Cost(dollars=Decimal("0.25"), unpriced=1)


async def test_a_session_is_compacting_until_the_summary_is_stored(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.store_answer(rig.generation(1), NewAnswer(body=BODY))
    summary = Generation(id=GenerationId("gen_summary"), purpose=Purpose.COMPACTION)
    assert await sessions.compacting_since(rig.database, rig.session) is None
    async with rig.journal() as journal:
        await generations.begin(journal, summary, rig.fence())
    assert await sessions.compacting_since(rig.database, rig.session) is not None
    await rig.store_answer(summary, NewAnswer(body=BODY))
    assert await sessions.compacting_since(rig.database, rig.session) is None


async def test_a_session_ends_once(rig: ActivityRig) -> None:
    await rig.end()
    await rig.end()
    assert (await sessions.get(rig.database, rig.session)).status == "ended"
    assert (await rig.types()).count("session.ended") == 1


async def test_a_stuck_session_says_why_until_it_goes_on(rig: ActivityRig) -> None:
    for why in ("its task fails", None):
        await sessions.mark_stuck(rig.database, rig.session, why)
        assert (await sessions.get(rig.database, rig.session)).stuck == why


async def test_a_session_that_does_not_exist_is_named(rig: ActivityRig) -> None:
    with pytest.raises(NotFound, match="no session 'ses_x'. `holdfast sessions` lists"):
        await sessions.get(rig.database, UNKNOWN)
    with pytest.raises(NotFound, match="no session 'ses_x'"):
        await sessions.origin(rig.database, UNKNOWN)


async def test_a_title_that_a_person_gives_is_shown_instead_of_the_first_line_and_sealed(rig: ActivityRig) -> None:
    new = NewSession(id=UNKNOWN, directory="/p", title="Fix the slug", default_title="New session - 2026…")
    await sessions.create(rig.database, new, PERSON)
    before = await sessions.get(rig.database, UNKNOWN)
    async with session_journal(rig.database, UNKNOWN, PERSON) as journal:
        await journal.locked()
        titles.give(journal, "The slug fix")
    after = await sessions.get(rig.database, UNKNOWN)
    *_, titled = [record async for record in events.after(rig.database, UNKNOWN)]
    contents = await events.contents(rig.database, [titled])
    checked = [await events.verify(rig.database, UNKNOWN)]
    await rig.database.rows(b"UPDATE note SET body = '\"Another\"'")
    checked.append(await events.verify(rig.database, UNKNOWN))

    assert (before.title, before.default_title) == ("Fix the slug", "New session - 2026…")
    assert (after.title, after.default_title) == ("The slug fix", None)
    assert titled.actor == PERSON and "slug" not in titled.model_dump_json()
    assert [*contents.values()] == ["The slug fix"]
    assert checked[0].problem is None and "was changed afterwards" in (checked[1].problem or "")
