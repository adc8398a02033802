"""Sessions as rows: made once, listed, ended for good."""

from decimal import Decimal
from pathlib import Path

import pytest

from activities.store import generations, sessions
from activities.store.generations import NewAnswer
from activities.store.journal import journal
from activities.store.sessions import NewSession
from tests.activities.scene import BODY, PERSON, Scene, scene_in
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.ids import MessageId, SessionId
from workflows.domain.usage import Cost, Tokens
from workflows.domain.wire import CloseReason, Fence

UNKNOWN = SessionId("ses_x")


async def test_making_a_session_again_leaves_it_as_it_is(scene: Scene) -> None:
    again = NewSession(id=scene.session, directory="/other", title="Another title")
    await sessions.create(scene.database, again, PERSON)
    assert (await sessions.get(scene.database, scene.session)).title == "A session"
    assert await scene.types() == ["session.created"]


async def test_a_session_remembers_where_it_came_from(scene: Scene) -> None:
    new = NewSession(id=UNKNOWN, directory="/p", title="t", model="m/n", environment={"PATH": "/bin"})
    await sessions.create(scene.database, new, PERSON)
    origin = await sessions.origin(scene.database, UNKNOWN)
    assert (origin.directory, origin.agent, origin.model) == ("/p", "build", "m/n")
    assert origin.environment == {"PATH": "/bin"}


async def test_a_session_is_configured_anew_once_and_its_log_says_so(scene: Scene) -> None:
    before = ConfigSources(home="/h", folder="/h/c")
    after = before.model_copy(update={"directory": "/oc"})
    for sources, changed in ((before, ("HOME", "XDG_CONFIG_HOME")), (after, ("OPENCODE_CONFIG_DIR",)), (after, ())):
        async with scene.journal() as opened:
            assert await sessions.configure(opened, sources) == changed
    assert (await sessions.origin(scene.database, scene.session)).sources == after
    assert await scene.types() == ["session.created", "session.configured", "session.configured"]


async def test_a_session_below_another_one_has_the_sources_of_the_uppermost(scene: Scene) -> None:
    sources = ConfigSources(home="/h", folder="/h/c", content={"model": "a/b"})
    above, below = SessionId("ses_a"), SessionId("ses_b")
    await sessions.create(scene.database, NewSession(id=above, directory="/p", title="t", sources=sources), PERSON)
    await sessions.create(scene.database, NewSession(id=below, directory="/p", title="t", parent=above), PERSON)
    assert (await sessions.origin(scene.database, below)).sources == sources
    with pytest.raises(Conflict, match="is a subagent's"):
        async with journal(scene.database, below, PERSON) as opened:
            await sessions.configure(opened, sources)


async def test_an_overview_tells_the_newest_turn_and_what_waits(scene: Scene) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    await scene.asked(await scene.called("write", filePath="a.txt", content="x"))
    await scene.prompt("More.")
    found = await sessions.get(scene.database, scene.session)
    assert (found.turn, found.number, found.step, found.turn_state) == (scene.turn, 1, 1, "open")
    assert (found.asks, found.waiting, found.model, found.working) == (1, 1, "scripted/model", True)


async def test_an_overview_tells_how_the_newest_turn_ended(scene: Scene) -> None:
    await scene.open_turn()
    await scene.close(CloseReason.FAILED, error="No key.")
    found = await sessions.get(scene.database, scene.session)
    assert (found.turn_state, found.reason, found.error, found.working) == ("ended", "failed", "No key.", False)


async def test_the_last_changed_is_listed_first_and_a_directory_narrows_the_list(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = await scene_in(scene.database, tmp_path / "other")
    await scene.prompt()
    listed = await sessions.overview(scene.database)
    assert [found.id for found in listed] == [scene.session, other.session]
    assert [found.id for found in await sessions.overview(scene.database, limit=1)] == [scene.session]
    narrowed = await sessions.overview(scene.database, directory=str(other.project))
    assert [found.id for found in narrowed] == [other.session]


async def test_totals_are_sums_over_the_answers(scene: Scene) -> None:
    await scene.open_turn()
    for step, cost in ((1, "0.10"), (2, "0.10"), (3, None)):
        body = BODY.model_copy(update={"tokens": Tokens(input=10, output=step), "cost": cost})
        async with scene.journal() as opened:
            fence = Fence(1, step, 1)
            await generations.begin(opened, scene.turn, step, fence)
            new = NewAnswer(id=MessageId(f"msg_{step}"), body=body)
            await generations.commit(opened, scene.turn, step, fence, new)
    totals = await sessions.totals(scene.database, scene.session)
    assert (totals.steps, totals.tokens.input, totals.tokens.output) == (3, 30, 6)
    assert totals.cost == Cost(dollars=Decimal("0.20"), unpriced=1)


async def test_a_session_ends_once(scene: Scene) -> None:
    await scene.end()
    await scene.end()
    assert (await sessions.get(scene.database, scene.session)).status == "ended"
    assert (await scene.types()).count("session.ended") == 1


async def test_a_stuck_session_says_why_until_it_goes_on(scene: Scene) -> None:
    for why in ("its task fails", None):
        await sessions.mark_stuck(scene.database, scene.session, why)
        assert (await sessions.get(scene.database, scene.session)).stuck == why


async def test_a_session_that_does_not_exist_is_named(scene: Scene) -> None:
    with pytest.raises(NotFound, match="no session 'ses_x'. `holdfast sessions` lists"):
        await sessions.get(scene.database, UNKNOWN)
    with pytest.raises(NotFound, match="no session 'ses_x'"):
        await sessions.origin(scene.database, UNKNOWN)
