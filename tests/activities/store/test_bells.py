"""Bells as rows: what the engine has not acknowledged, and who has something to do."""

from datetime import UTC, datetime, timedelta

from activities.store import bells
from activities.store.bells import Bell, BellKind, Waiting
from activities.store.prompts import Mode
from activities.store.queries import Queries
from tests.activities.scene import Scene
from workflows.domain.ids import AskId

WRITE = {"filePath": "a.txt", "content": "x"}


async def undelivered(scene: Scene) -> list[Bell]:
    return await bells.undelivered(scene.database, datetime.now(UTC) + timedelta(seconds=1))


async def waiting(scene: Scene) -> list[Waiting]:
    return await bells.waiting(scene.database, quiet=0)


async def answered(scene: Scene) -> AskId:
    await scene.open_turn(permission={"edit": "ask"})
    ask = await scene.asked(await scene.called("write", **WRITE))
    await scene.answer(ask)
    return ask


async def test_a_prompt_is_undelivered_until_it_was_rung(scene: Scene) -> None:
    prompt = await scene.prompt()
    bell = Bell(kind=BellKind.PROMPT, id=prompt, session=scene.session)
    assert await undelivered(scene) == [bell]
    await bells.rang(scene.database, bell)
    assert await undelivered(scene) == []


async def test_a_prompt_that_was_taken_needs_no_bell(scene: Scene) -> None:
    await scene.open_turn()
    assert await undelivered(scene) == []


async def test_a_bell_that_a_door_may_just_be_ringing_is_left_alone(scene: Scene) -> None:
    await scene.prompt()
    assert await bells.undelivered(scene.database, datetime.now(UTC) - timedelta(seconds=2)) == []


async def test_an_answer_is_undelivered_while_its_turn_is_open(scene: Scene) -> None:
    ask = await answered(scene)
    bell = Bell(kind=BellKind.ANSWER, id=ask, session=scene.session)
    assert await undelivered(scene) == [bell]
    await scene.close()
    assert await undelivered(scene) == []


async def test_an_answer_and_a_stop_are_rung_once(scene: Scene) -> None:
    ask = await answered(scene)
    stop = (await scene.stop()).stop
    answer = Bell(kind=BellKind.ANSWER, id=ask, session=scene.session)
    stopped = Bell(kind=BellKind.STOP, id=stop, session=scene.session, turn=scene.turn)
    assert await undelivered(scene) == [answer, stopped]
    for bell in (answer, stopped):
        await bells.rang(scene.database, bell)
    assert await undelivered(scene) == []


async def test_a_stop_of_an_ended_turn_or_of_none_needs_no_bell(scene: Scene) -> None:
    await scene.stop()
    await scene.open_turn()
    await scene.stop()
    await scene.close()
    assert await undelivered(scene) == []


async def test_a_session_waits_with_an_untaken_prompt_or_an_open_turn(scene: Scene) -> None:
    assert await waiting(scene) == []
    oldest = await scene.prompt(model="scripted/model")
    await scene.prompt("Later.", mode=Mode.QUEUE)
    (found,) = await waiting(scene)
    assert (found.session, found.prompt, found.resting) == (scene.session, oldest, False)


async def test_a_session_that_asks_is_told_apart(scene: Scene) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    await scene.asked(await scene.called("write", **WRITE))
    (found,) = await waiting(scene)
    assert (found.prompt, found.resting) == (None, True)


async def test_an_ended_session_waits_only_while_its_turn_is_open(scene: Scene) -> None:
    await scene.open_turn()
    await scene.prompt("Later.", mode=Mode.QUEUE)
    await scene.end()
    assert len(await waiting(scene)) == 1
    await scene.close()
    assert await waiting(scene) == [] and await undelivered(scene) == []


async def test_one_sweeper_sweeps_at_a_time(scene: Scene) -> None:
    async with bells.sweeping(scene.database) as first, bells.sweeping(scene.database) as second:
        assert (first, second) == (True, False)
    async with bells.sweeping(scene.database) as again:
        assert again


async def test_a_session_rests_while_a_subagent_works_for_it(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("task", description="look", prompt="Where is it?", subagent_type="explore")
    child = (await scene.run(call)).child
    found = {each.session: each.resting for each in await waiting(scene)}
    assert found == {scene.session: True, child: False}


async def test_who_looks_for_waiting_sessions_does_not_read_those_that_rest(scene: Scene) -> None:
    await scene.open_turn()
    await scene.database.rows(
        b"""INSERT INTO session (id, directory, title, agent, environment, head)
            SELECT 'ses_' || n, '/', '', 'build', '{}', '' FROM generate_series(1, 5000) AS n"""
    )
    await scene.database.rows(b"ANALYZE session")
    for query in (Queries("bells").waiting, Queries("standings").now):
        plan = await scene.database.rows(b"EXPLAIN " + query, **({"quiet": 0.0} if b"quiet" in query else {}))
        assert not [row for row in plan if "Seq Scan on session" in row["QUERY PLAN"]]
    assert [each.session for each in await waiting(scene)] == [scene.session]
