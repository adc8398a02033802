"""Which sessions have work."""

from activities.store import reconcile
from activities.store.queries import Queries
from activities.store.reconcile import WaitingSession
from tests.activities.rig import ActivityRig
from workflows.domain.prompt import PromptMode

WRITE = {"filePath": "a.txt", "content": "x"}


async def waiting(rig: ActivityRig) -> list[WaitingSession]:
    return await reconcile.waiting(rig.database, quiet=0)


async def test_a_session_waits_with_an_untaken_prompt_or_an_open_turn(rig: ActivityRig) -> None:
    assert await waiting(rig) == []
    await rig.prompt(model="scripted/model")
    await rig.prompt("Later.", mode=PromptMode.QUEUE)
    (found,) = await waiting(rig)
    assert (found.session, found.resting) == (rig.session, False)


async def test_a_session_that_asks_is_told_apart(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    await rig.asked(await rig.called("write", **WRITE))
    (found,) = await waiting(rig)
    assert found.resting


async def test_an_ended_session_waits_only_while_its_turn_is_open(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.prompt("Later.", mode=PromptMode.QUEUE)
    await rig.end()
    assert len(await waiting(rig)) == 1
    await rig.close()
    assert await waiting(rig) == []


async def test_a_session_rests_while_a_subagent_works_for_it(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("task", description="look", prompt="Where is it?", subagent_type="explore")
    child = (await rig.run(call)).child
    found = {each.session: each.resting for each in await waiting(rig)}
    assert found == {rig.session: True, child: False}


async def test_who_looks_for_waiting_sessions_does_not_read_those_that_rest(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.database.rows(
        b"""WITH created AS (
                INSERT INTO session (id, directory, title, agent, environment)
                SELECT 'ses_' || n, '/', '', 'build', '{}' FROM generate_series(1, 5000) AS n RETURNING id
            )
            INSERT INTO session_head (session, head) SELECT id, '' FROM created"""
    )
    await rig.database.rows(b"ANALYZE session, session_head")
    for query in (Queries("reconcile").waiting, Queries("queue_stats").read):
        plan = await rig.database.rows(b"EXPLAIN " + query, **({"quiet": 0.0} if b"quiet" in query else {}))
        assert not [row for row in plan if "Seq Scan on session" in row["QUERY PLAN"]]
    assert [each.session for each in await waiting(rig)] == [rig.session]
