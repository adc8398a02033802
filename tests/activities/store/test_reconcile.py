"""Which sessions are due, by their rows alone."""

import re
from dataclasses import replace

from activities.store import outbox, overviews, reconcile, sessions, suspensions
from activities.store.queries import Queries
from activities.store.reconcile import DueSession
from tests.activities.rig import ActivityRig
from workflows.domain.ids import AskId, PartId, TurnId
from workflows.domain.prompt import PromptMode
from workflows.domain.suspension import SuspendCause, SuspendReason
from workflows.domain.wire import CloseReason

ASK_EDITS = {"permission": {"edit": "ask"}}
MANY = 100_000
RESTING = f"""
WITH created AS (
    INSERT INTO session (id, directory, title, agent, began_as, environment)
    SELECT 'ses_' || n, '/', '', 'build', 'build', '{{}}' FROM generate_series(1, {MANY}) AS n RETURNING id
), heads AS (
    INSERT INTO session_head (session, head) SELECT id, '' FROM created
), turns AS (
    INSERT INTO turn (id, session, number, turn_config, agent, model, state)
    SELECT 'trn_' || n, 'ses_' || n, 1, (SELECT id FROM turn_config LIMIT 1), '', '', 'ended'
    FROM generate_series(1, {MANY}) AS n
)
INSERT INTO work (id, session, kind, accepted_seq, author, state)
SELECT 'msg_' || n, 'ses_' || n, 'prompt', 1, '', 'taken' FROM generate_series(1, {MANY}) AS n
"""
HELD = """
WITH created AS (
    INSERT INTO session (id, directory, title, agent, began_as, environment)
    SELECT 'ses_' || n, '/', '', 'build', 'build', '{}' FROM generate_series(1, 5000) AS n
), calls AS (
    INSERT INTO call (id, session, turn, step, position, message, provider_id, tool, arguments, salt, recovery, display,
                      loop_digest)
    SELECT 'prt_' || n, session, turn, step, n, message, '', tool, arguments, salt, recovery, display, ''
    FROM call, generate_series(1, 5000) AS n
), items AS (
    INSERT INTO work (id, session, kind, accepted_seq, author, state)
    SELECT 'msg_' || n, 'ses_' || n, 'prompt', 1, '', 'taken' FROM generate_series(1, 5000) AS n
), prompts AS (
    INSERT INTO prompt (id, mode, body, salt) SELECT 'msg_' || n, 'queue', '{}', '' FROM generate_series(1, 5000) AS n
)
INSERT INTO task (call, session, child, prompt, settled_at, delivery)
SELECT 'prt_' || n, 'ses_' || n, 'ses_' || n, 'msg_' || n, now() - interval '3 s', 'held'
FROM generate_series(1, 5000) AS n
"""
LARGE = ("session", "session_head", "turn", "work")


def write(name: str) -> tuple[str, dict[str, str]]:
    return "write", {"filePath": name, "content": "x"}


async def due(rig: ActivityRig, quiet: float = 0) -> list[DueSession]:
    """The due sessions; all signals have been sent."""
    await rig.database.rows(b"DELETE FROM outbox")
    return await reconcile.due(rig.database, quiet)


async def is_due(rig: ActivityRig) -> bool:
    return rig.session in [found.session for found in await due(rig)]


async def asked(rig: ActivityRig, *names: str) -> list[AskId]:
    await rig.open_turn(**ASK_EDITS)
    return [await rig.asked(call) for call in await rig.answered(*map(write, names or ("a.txt",)))]


async def delegated(rig: ActivityRig) -> tuple[PartId, ActivityRig]:
    await rig.open_turn()
    call = await rig.called("task", description="look", prompt="Where is it?", subagent_type="explore")
    begun = (await rig.run(call)).child
    assert begun is not None
    return call, replace(rig, session=begun, turn=TurnId(""), step=0, sent=[])


async def test_a_session_is_due_with_untaken_work_and_without_anything_not(rig: ActivityRig) -> None:
    assert not await is_due(rig)
    await rig.prompt(model="scripted/model")
    (found,) = await due(rig)
    assert (found.session, found.turn, found.refreshes, found.restarts) == (rig.session, None, 0, 0)


async def test_a_turn_is_due_before_its_first_step_and_after_its_last_call(rig: ActivityRig) -> None:
    await rig.open_turn()
    assert await is_due(rig)
    call = await rig.called("glob", pattern="*")
    (found,) = await due(rig)
    assert (found.turn, found.step, found.ready) == (rig.turn, 1, (call,))
    await rig.run(call)
    assert (await due(rig))[0].ready == ()
    await rig.close()
    assert not await is_due(rig)


async def test_a_signal_that_is_still_to_be_sent_comes_first(rig: ActivityRig) -> None:
    await rig.prompt()
    assert await reconcile.due(rig.database, 0) == []
    assert await outbox.pending(rig.database, rig.session) != []


async def test_a_turn_whose_calls_all_wait_for_people_is_not_due(rig: ActivityRig) -> None:
    first, second = await asked(rig, "a.txt", "b.txt")
    assert not await is_due(rig)
    await rig.answer(first)
    assert await is_due(rig)  # although the other one still waits
    await rig.answer(second)
    assert await is_due(rig)


async def test_work_behind_a_turn_that_waits_is_not_due(rig: ActivityRig) -> None:
    await asked(rig)
    await rig.prompt("Later.", mode=PromptMode.QUEUE)
    assert not await is_due(rig)


async def test_a_stop_makes_a_waiting_turn_due(rig: ActivityRig) -> None:
    await asked(rig)
    await rig.stop()
    (found,) = await due(rig)
    assert found.interrupted
    await rig.close(CloseReason.STOPPED)
    assert not await is_due(rig)


async def test_the_end_of_its_session_makes_a_waiting_turn_due_but_no_work(rig: ActivityRig) -> None:
    await asked(rig)
    await rig.prompt("Later.", mode=PromptMode.QUEUE)
    await rig.end()
    assert (await due(rig))[0].interrupted
    await rig.close(CloseReason.ENDED)
    assert not await is_due(rig)


async def test_a_parent_is_due_when_its_subagent_has_settled_and_not_before(rig: ActivityRig) -> None:
    call, child = await delegated(rig)
    assert not await is_due(rig) and await is_due(child)
    await child.stop()
    assert await is_due(rig) and not await is_due(child)
    await rig.run(call)
    assert await is_due(rig)


async def test_a_claimed_call_that_nobody_runs_is_due(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("write", **write("a.txt")[1])
    await rig.claim(call)
    assert (await due(rig))[0].ready == (call,)


async def test_a_suspended_session_is_not_due(rig: ActivityRig) -> None:
    await rig.open_turn()
    async with rig.journal() as journal:
        await suspensions.suspend(journal, SuspendCause(reason=SuspendReason.RESTART))
    assert not await is_due(rig)
    async with rig.journal() as journal:
        await suspensions.resume(journal)
    assert await is_due(rig)


async def test_a_session_of_a_host_that_is_away_is_not_due(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.database.rows(b"UPDATE session SET host = 'far'")
    assert not await is_due(rig)
    await rig.database.rows(b"INSERT INTO host (name, seen_at) VALUES ('far', now())")
    assert await is_due(rig)


async def test_what_an_activity_writes_is_movement_and_what_a_door_writes_is_none(rig: ActivityRig) -> None:
    async def moved_at() -> object:
        (row,) = await rig.database.rows(b"SELECT moved_at FROM session_head WHERE session = %(id)s", id=rig.session)
        return row["moved_at"]

    await rig.open_turn()
    before = await moved_at()
    await rig.prompt("More.")
    await rig.load()
    assert await moved_at() == before
    call = await rig.called("glob", pattern="*")
    await rig.run(call)
    assert await moved_at() != before


async def test_newer_work_counts_as_a_moment_of_its_own(rig: ActivityRig) -> None:
    await rig.prompt()
    await rig.database.rows(b"UPDATE session_head SET moved_at = now() - interval '1 hour'")
    assert await due(rig, quiet=30) == []
    await rig.database.rows(b"UPDATE work SET accepted_at = now() - interval '31 s'")
    assert len(await due(rig, quiet=30)) == 1


async def test_a_wait_that_has_just_ended_counts_as_a_moment_of_its_own(rig: ActivityRig) -> None:
    first, _ = await asked(rig, "a.txt", "b.txt")
    await rig.database.rows(b"UPDATE session_head SET moved_at = now() - interval '1 hour'")
    await rig.answer(first)
    assert await due(rig, quiet=30) == []
    await rig.database.rows(b"UPDATE ask SET settled_at = now() - interval '31 s' WHERE settled_at IS NOT NULL")
    assert len(await due(rig, quiet=30)) == 1
    await rig.stop()
    assert await due(rig, quiet=30) == []
    await rig.database.rows(b"UPDATE stop SET accepted_at = now() - interval '31 s'")
    assert len(await due(rig, quiet=30)) == 1


async def test_the_end_of_a_subagent_counts_as_a_moment_of_its_own(rig: ActivityRig) -> None:
    _, child = await delegated(rig)
    await child.stop()
    await rig.database.rows(b"UPDATE session_head SET moved_at = now() - interval '1 hour'")
    assert await due(rig, quiet=30) == []
    await rig.database.rows(b"UPDATE task SET settled_at = now() - interval '31 s'")
    assert [found.session for found in await due(rig, quiet=30)] == [rig.session]


async def test_what_was_done_counts_until_the_session_moves_and_each_restart_doubles_the_wait(rig: ActivityRig) -> None:
    await rig.open_turn()
    async with rig.journal() as journal:
        reconcile.record(journal, "run", 1, 2)
    (found,) = await due(rig)
    assert (found.run, found.refreshes, found.restarts) == ("run", 1, 2)
    await rig.database.rows(b"UPDATE session_head SET moved_at = now() - interval '1 hour'", session=rig.session)
    await rig.database.rows(b"UPDATE refresh SET at = now() - interval '119 s'")
    assert await due(rig, quiet=30) == []
    await rig.database.rows(b"UPDATE refresh SET at = now() - interval '121 s'")
    assert len(await due(rig, quiet=30)) == 1
    await rig.database.rows(b"UPDATE session_head SET moved_at = now() - interval '60 s'")
    (found,) = await due(rig, quiet=30)
    assert (found.run, found.refreshes, found.restarts) == (None, 0, 0)


async def test_times_of_a_clock_that_was_ahead_count_for_nothing(rig: ActivityRig) -> None:
    await rig.prompt(model="scripted/model")
    await rig.database.rows(b"UPDATE session_head SET moved_at = now() + interval '1 hour'")
    await rig.database.rows(b"UPDATE work SET accepted_at = now() + interval '1 hour'")
    await sessions.mark_stuck(rig.database, rig.session, "its task fails")
    await reconcile.clear_stuck(rig.database, 30)
    (found,) = await due(rig, quiet=30)
    assert (found.refreshes, found.stuck) == (0, "its task fails")
    async with rig.journal() as journal:
        reconcile.record(journal, "run", 1, 0)
    assert await due(rig, quiet=30) == []
    assert (await due(rig))[0].refreshes == 1


async def test_a_session_that_has_moved_lately_or_has_nothing_to_do_is_not_stuck(rig: ActivityRig) -> None:
    async def stuck() -> str | None:
        return (await overviews.get(rig.database, rig.session)).stuck

    await rig.open_turn()
    await sessions.mark_stuck(rig.database, rig.session, "its task fails")
    await reconcile.clear_stuck(rig.database, 0)
    assert await stuck() == "its task fails"
    await reconcile.clear_stuck(rig.database, 60)
    assert await stuck() is None
    await rig.close()
    await sessions.mark_stuck(rig.database, rig.session, "its task fails")
    await reconcile.clear_stuck(rig.database, 0)
    assert await stuck() is None


async def test_a_sweep_reads_no_session_that_rests(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.prompt("Later.", mode=PromptMode.QUEUE)
    async with rig.database.transaction(limit=120) as connection:
        await connection.execute(RESTING)
    async with rig.database.transaction(limit=60) as connection:
        await connection.execute("ANALYZE session, session_head, turn, work")
    plans: dict[bytes, dict[str, object]] = {
        Queries("reconcile").due: {"quiet": 0.0},
        Queries("reconcile").clear_stuck: {"quiet": 0.0},
        Queries("outbox").overdue: {},
        Queries("outbox").pending: {"session": rig.session},
        Queries("grants").unpropagated: {"before": await rig.database.now()},
        Queries("statistics").queues: {},
    }
    for query, values in plans.items():
        plan = [row["QUERY PLAN"] for row in await rig.database.rows(b"EXPLAIN " + query, **values)]
        assert not [line for table in LARGE for line in plan if f"Seq Scan on {table} " in line], plan
    assert [each.session for each in await due(rig)] == [rig.session]


async def test_a_sweep_reads_no_result_that_is_held_for_a_session_without_a_turn(rig: ActivityRig) -> None:
    await delegated(rig)
    async with rig.database.transaction(limit=60) as connection:
        await connection.execute(HELD)
    async with rig.database.transaction(limit=60) as connection:
        await connection.execute("ANALYZE")
    query = b"EXPLAIN (ANALYZE, COSTS OFF) " + Queries("tasks").ended
    plan = "\n".join(row["QUERY PLAN"] for row in await rig.database.rows(query, child=None, session=None))
    assert not re.search(r"(rows=|Filter: )5\d{3}", plan), plan
