"""The outbox of signals: what the engine has not acknowledged, and which sessions have work."""

from datetime import UTC, datetime, timedelta

from activities.store import bells
from activities.store.bells import Bell, BellKind, Waiting
from activities.store.queries import Queries
from tests.activities.rig import ActivityRig
from workflows.domain.ids import AskId
from workflows.domain.prompt_mode import PromptMode

WRITE = {"filePath": "a.txt", "content": "x"}


async def undelivered(rig: ActivityRig) -> list[Bell]:
    return await bells.undelivered(rig.database, datetime.now(UTC) + timedelta(seconds=1))


async def waiting(rig: ActivityRig) -> list[Waiting]:
    return await bells.waiting(rig.database, quiet=0)


async def answered(rig: ActivityRig) -> AskId:
    await rig.open_turn(permission={"edit": "ask"})
    ask = await rig.asked(await rig.called("write", **WRITE))
    await rig.answer(ask)
    return ask


async def test_a_prompt_is_undelivered_until_it_was_rung(rig: ActivityRig) -> None:
    prompt = await rig.prompt()
    bell = Bell(kind=BellKind.PROMPT, id=prompt, session=rig.session)
    assert await undelivered(rig) == [bell]
    await bells.rang(rig.database, bell)
    assert await undelivered(rig) == []


async def test_a_prompt_that_was_taken_needs_no_bell(rig: ActivityRig) -> None:
    await rig.open_turn()
    assert await undelivered(rig) == []


async def test_a_bell_that_a_door_may_just_be_ringing_is_left_alone(rig: ActivityRig) -> None:
    await rig.prompt()
    assert await bells.undelivered(rig.database, datetime.now(UTC) - timedelta(seconds=2)) == []


async def test_an_answer_is_undelivered_while_its_turn_is_open(rig: ActivityRig) -> None:
    ask = await answered(rig)
    bell = Bell(kind=BellKind.ANSWER, id=ask, session=rig.session)
    assert await undelivered(rig) == [bell]
    await rig.close()
    assert await undelivered(rig) == []


async def test_an_answer_and_a_stop_are_rung_once(rig: ActivityRig) -> None:
    ask = await answered(rig)
    stop = (await rig.stop()).stop
    answer = Bell(kind=BellKind.ANSWER, id=ask, session=rig.session)
    stopped = Bell(kind=BellKind.STOP, id=stop, session=rig.session, turn=rig.turn)
    assert await undelivered(rig) == [answer, stopped]
    for bell in (answer, stopped):
        await bells.rang(rig.database, bell)
    assert await undelivered(rig) == []


async def test_a_stop_of_an_ended_turn_or_of_none_needs_no_bell(rig: ActivityRig) -> None:
    await rig.stop()
    await rig.open_turn()
    await rig.stop()
    await rig.close()
    assert await undelivered(rig) == []


async def test_a_session_waits_with_an_untaken_prompt_or_an_open_turn(rig: ActivityRig) -> None:
    assert await waiting(rig) == []
    oldest = await rig.prompt(model="scripted/model")
    await rig.prompt("Later.", mode=PromptMode.QUEUE)
    (found,) = await waiting(rig)
    assert (found.session, found.prompt, found.resting) == (rig.session, oldest, False)


async def test_a_session_that_asks_is_told_apart(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    await rig.asked(await rig.called("write", **WRITE))
    (found,) = await waiting(rig)
    assert (found.prompt, found.resting) == (None, True)


async def test_an_ended_session_waits_only_while_its_turn_is_open(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.prompt("Later.", mode=PromptMode.QUEUE)
    await rig.end()
    assert len(await waiting(rig)) == 1
    await rig.close()
    assert await waiting(rig) == [] and await undelivered(rig) == []


async def test_one_sweeper_sweeps_at_a_time(rig: ActivityRig) -> None:
    async with bells.sweeping(rig.database) as first, bells.sweeping(rig.database) as second:
        assert (first, second) == (True, False)
    async with bells.sweeping(rig.database) as again:
        assert again


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
    for query in (Queries("bells").waiting, Queries("queue_stats").read):
        plan = await rig.database.rows(b"EXPLAIN " + query, **({"quiet": 0.0} if b"quiet" in query else {}))
        assert not [row for row in plan if "Seq Scan on session" in row["QUERY PLAN"]]
    assert [each.session for each in await waiting(rig)] == [rig.session]
