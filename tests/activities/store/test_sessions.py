"""Sessions as rows: created once, configured, ended."""

from decimal import Decimal

import pytest

from activities.store import asides, events, generations, overviews, projects, sessions
from activities.store.journal import session_journal
from activities.store.model_answers import NewAnswer
from activities.store.sessions import NewSession
from tests.activities.rig import BODY, PERSON, ActivityRig
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, SessionId
from workflows.domain.usage import Cost, Tokens

UNKNOWN = SessionId("ses_x")


async def test_creating_a_session_again_leaves_it_as_it_is(rig: ActivityRig) -> None:
    again = NewSession(id=rig.session, directory="/other", title="Another title")
    await sessions.create(rig.database, again, PERSON)
    assert (await overviews.get(rig.database, rig.session)).title == "A session"
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
    assert (await overviews.get(rig.database, rig.session)).status == "ended"
    assert (await rig.types()).count("session.ended") == 1


async def test_a_stuck_session_says_why_until_it_goes_on(rig: ActivityRig) -> None:
    for why in ("its task fails", None):
        await sessions.mark_stuck(rig.database, rig.session, why)
        assert (await overviews.get(rig.database, rig.session)).stuck == why


async def test_a_session_that_does_not_exist_is_named(rig: ActivityRig) -> None:
    with pytest.raises(NotFound, match="no session 'ses_x'. `holdfast sessions` lists"):
        await overviews.get(rig.database, UNKNOWN)
    with pytest.raises(NotFound, match="no session 'ses_x'"):
        await sessions.origin(rig.database, UNKNOWN)


async def test_a_title_that_a_person_gives_is_shown_instead_of_the_first_line_and_sealed(rig: ActivityRig) -> None:
    new = NewSession(id=UNKNOWN, directory="/p", title="Fix the slug", default_title="New session - 2026…")
    await sessions.create(rig.database, new, PERSON)
    before = await overviews.get(rig.database, UNKNOWN)
    async with session_journal(rig.database, UNKNOWN, PERSON) as journal:
        await journal.locked()
        asides.give_title(journal, "The slug fix")
    after = await overviews.get(rig.database, UNKNOWN)
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
