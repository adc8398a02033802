"""Background tasks: their call ends at once, and their result comes to the session by one prompt, whatever dies."""

import asyncio
import json
from dataclasses import replace

import pytest

from activities.fault_limit import MAX_FAULTS
from activities.session.task_results import deliver_results
from activities.store import deletions, faults, overviews, prompts, sessions, tasks, turns
from activities.store.tasks import EndedTask
from tests.activities.rig import ActivityRig, wait_for_lock_waiter
from workflows.domain.errors import Conflict
from workflows.domain.events.prompts import PromptAccepted, PromptWithdrawn
from workflows.domain.events.tasks import TaskSettled, TaskStarted
from workflows.domain.ids import PartId, SessionId, TurnId
from workflows.domain.messages import CallState
from workflows.domain.open_call import CallResultState
from workflows.domain.wake_signal import WakeKind
from workflows.domain.wire import CloseReason

GIVEN = {"description": "look", "prompt": "Where is it?", "subagent_type": "explore", "background": True}


async def begun(rig: ActivityRig) -> tuple[PartId, ActivityRig]:
    """A call whose subagent works in the background, and a rig for that one's session."""
    if not rig.turn:
        await rig.open_turn()
    call = await rig.called("task", **GIVEN)
    ran = await rig.run(call)
    assert (ran.state, ran.child) == (CallResultState.SETTLED, None)
    child = (await sessions.tree(rig.database, rig.session))[-1]
    return call, replace(rig, session=child, epoch=0, turn=TurnId(""), step=0, sent=rig.sent)


async def works(child: ActivityRig) -> None:
    """Let the subagent take its prompt."""
    loaded = await child.load()
    assert loaded.turn is not None
    child.turn = loaded.turn.id


async def results(rig: ActivityRig) -> list[PromptAccepted]:
    return [each for each in await rig.events() if isinstance(each, PromptAccepted) and each.task is not None]


async def text_of(rig: ActivityRig, accepted: PromptAccepted) -> str:
    (row,) = await rig.database.rows(b"SELECT body FROM prompt WHERE id = %(id)s", id=accepted.prompt)
    return str(row["body"]["parts"][0]["text"])


async def test_the_call_ends_at_once_and_the_subagent_is_signalled(rig: ActivityRig) -> None:
    call, child = await begun(rig)
    (started,) = [each for each in await rig.events() if isinstance(each, TaskStarted)]

    assert started.background and await rig.state(call) is CallState.DONE
    lines = (await rig.output(call)).splitlines()
    assert lines[:2] == [
        f'<task id="{child.session}" state="running">',
        "<summary>Works in the background: look</summary>",
    ]
    assert [(each.session, each.kind) for each in rig.sent] == [(child.session, WakeKind.WORK)]
    await works(child)
    await child.close()
    assert WakeKind.SETTLED not in [kind for kind, _ in await rig.signals()]  # no call waits


async def test_the_end_of_the_subagent_is_a_prompt_that_wakes_its_session_once(rig: ActivityRig) -> None:
    call, child = await begun(rig)
    await rig.close()
    await works(child)
    await child.close()
    again = EndedTask(call=call, session=rig.session, child=child.session, agent="explore")
    await deliver_results(rig.database, [again], rig.deliver)

    (accepted,) = await results(rig)
    assert (accepted.task, accepted.mode) == (call, "steer")
    assert f'<task id="{child.session}" state="completed" cost="0">' in await text_of(rig, accepted)
    assert [(each.session, each.kind, each.subject) for each in rig.sent[1:]] == [
        (rig.session, WakeKind.WORK, accepted.prompt)
    ]
    (settled,) = [each for each in await rig.events() if isinstance(each, TaskSettled)]
    assert (settled.child, settled.seq) == (child.session, len(await child.events()))
    woken = await rig.load()
    assert woken.turn is not None and await tasks.ended(rig.database, child=child.session) == []


async def test_a_running_turn_reads_the_result_at_its_next_step(rig: ActivityRig) -> None:
    _, child = await begun(rig)
    await works(child)
    await child.close(CloseReason.FAILED, error="No <task_error> key.")

    (accepted,) = await results(rig)
    text = await text_of(rig, accepted)
    assert 'state="error"' in text and "No &lt;task_error> key." in text
    async with rig.journal() as journal:
        assert await prompts.steered(journal) == [accepted.prompt]


async def test_an_end_that_no_process_has_told_of_is_due_until_the_sweeper_tells_it(rig: ActivityRig) -> None:
    call, child = await begun(rig)
    await child.stop()  # before it has begun: that closes no turn
    await rig.database.rows(b"UPDATE task SET settled_at = settled_at - interval '3 s'")

    (late,) = await tasks.ended(rig.database)
    assert (late.call, late.session, late.child) == (call, rig.session, child.session)
    with pytest.raises(Conflict, match="is at work"):
        await deletions.is_left(rig.database, rig.session)
    await deliver_results(rig.database, [late], rig.deliver)
    (accepted,) = await results(rig)
    told = await text_of(rig, accepted)
    assert "<summary>The background task was stopped:" in told and "before it had finished" in told


async def test_a_stop_reaches_the_background_of_an_idle_session_and_does_not_wake_it(rig: ActivityRig) -> None:
    _, child = await begun(rig)
    await rig.close()
    await works(child)
    stopped = await rig.stop()
    await child.close(CloseReason.STOPPED)

    assert (stopped.turn, stopped.background) == (None, (child.session,))
    assert "stop.accepted" in await child.types() and await results(rig) == []
    assert (await rig.load()).turn is None
    await rig.prompt("Go on.", model="scripted/model")
    assert (await rig.load()).turn is not None
    (accepted,) = await results(rig)
    assert "The subagent was stopped before it had finished" in await text_of(rig, accepted)


async def test_a_stop_meets_the_end_of_a_background_task(rig: ActivityRig) -> None:
    """Both lock sessions before tasks: the one that comes second waits."""
    _, child = await begun(rig)
    await works(child)
    async with child.journal() as journal:
        await journal.locked()
        stopping = asyncio.create_task(rig.stop())
        await wait_for_lock_waiter(rig.database)
        await turns.close(journal, child.turn, CloseReason.DONE, None)

    assert (await stopping).background == (child.session,)
    assert await tasks.unsettled(rig.database, rig.session) == []


async def test_a_result_that_a_stop_has_withdrawn_is_read_by_the_next_turn(rig: ActivityRig) -> None:
    _, child = await begun(rig)
    await works(child)
    await child.close()
    await rig.stop()
    await rig.close(CloseReason.STOPPED)

    assert (await rig.load()).turn is None
    await rig.prompt("Go on.", model="scripted/model")
    opened = await rig.load()
    assert opened.turn is not None
    first, again = await results(rig)
    assert first.prompt != again.prompt and await text_of(rig, first) == await text_of(rig, again)
    assert (await rig.load()).turn == opened.turn and len(await results(rig)) == 2


async def test_a_stopped_task_that_ends_late_is_told_to_the_turn_of_then_and_never_to_the_stopped_one(
    rig: ActivityRig,
) -> None:
    _, child = await begun(rig)
    _, slow = await begun(rig)
    await works(child)
    await works(slow)
    await rig.stop()
    await child.close(CloseReason.STOPPED)
    assert await results(rig) == []  # the turn that is being stopped still stands open
    await rig.close(CloseReason.STOPPED)
    await rig.prompt("Go on.", model="scripted/model")
    await rig.load()
    assert len(await results(rig)) == 1
    await slow.close(CloseReason.STOPPED)

    _, late = await results(rig)
    async with rig.journal() as journal:
        assert late.prompt in await prompts.steered(journal)


async def test_results_wake_a_session_so_often_without_other_work_and_then_wait_for_it(rig: ActivityRig) -> None:
    last, child = await begun(rig)
    kept, other = await begun(rig)
    woken = b"""INSERT INTO turn (id, session, number, turn_config, agent, model, state)
                SELECT 'trn_' || n, session, n, turn_config, agent, model, 'ended' FROM turn, generate_series(2, 100) n
                WHERE id = %(turn)s"""
    await rig.close()
    await rig.database.rows(woken, turn=rig.turn)  # by 99 results
    for each in (child, other):
        await works(each)
    await child.close()
    loaded = await rig.load()
    assert loaded.turn is not None and loaded.turn.number == 101
    rig.turn = loaded.turn.id
    await rig.close()
    await other.close()

    assert (await rig.load()).turn is None
    (withdrawn,) = [each for each in await rig.events() if isinstance(each, PromptWithdrawn)]
    assert "kept for the next prompt: 100 turns in a row" in withdrawn.reason
    shown = await overviews.get(rig.database, rig.session)
    assert (shown.background, shown.untaken, shown.held) == (0, 0, 1)
    await rig.prompt("Go on.", model="scripted/model")
    assert (await rig.load()).turn is not None
    assert [each.task for each in await results(rig)] == [last, kept, kept]


async def test_a_result_that_cannot_be_read_delays_no_other_and_is_given_up(rig: ActivityRig) -> None:
    odd, broken = await begun(rig)
    call, child = await begun(rig)
    await rig.database.rows(b"UPDATE call SET arguments = '[]' WHERE id = %(call)s", call=odd)
    for each in (broken, child):
        await works(each)
        await each.close()
    for _ in range(MAX_FAULTS - 1):  # the first try was its end's
        assert [each.task for each in await results(rig)] == [call]
        await deliver_results(rig.database, await tasks.ended(rig.database, child=broken.session))

    (row,) = await rig.database.rows(b"UPDATE fault SET attempts = array_fill('old'::text, '{200}') RETURNING session")
    await faults.count_failed_attempt(rig.database, row["session"], f"the result of task {odd}", [1])
    assert (await rig.database.rows(b"SELECT cardinality(attempts) AS kept FROM fault"))[0]["kept"] == 100
    *_, told = await results(rig)
    assert told.task == odd and f'<task id="{broken.session}" state="error"' in await text_of(rig, told)
    assert "failed 5 times at its result, the last time: ValidationError" in await text_of(rig, told)
    assert await tasks.ended(rig.database, session=rig.session) == []


async def test_the_background_of_a_session_that_ends_is_stopped_and_told_to_nobody(rig: ActivityRig) -> None:
    _, child = await begun(rig)
    await works(child)
    await rig.close(CloseReason.ENDED, end=True)
    await child.close(CloseReason.STOPPED)

    assert "stop.accepted" in await child.types() and await results(rig) == []


async def test_a_second_attempt_at_the_call_starts_no_other_subagent(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("task", **GIVEN)
    effect = await rig.effect(call, rig.fence())
    claimed = await rig.claim(call, effect.context.subagent.fence)  # type: ignore[attr-defined]  # of an attempt that dies
    assert claimed is not None
    await effect.run(await rig.row(call), recover=False)

    assert (await rig.run(call)).state is CallResultState.SETTLED and await rig.state(call) is CallState.DONE
    assert len(await sessions.tree(rig.database, rig.session)) == 2


async def test_a_subagent_has_no_background_of_its_own(rig: ActivityRig) -> None:
    own = {"subagent_depth": 2, "agent": {"explore": {"permission": {"task": "allow"}}}}
    rig.config.mkdir(parents=True, exist_ok=True)
    (rig.config / "opencode.json").write_text(json.dumps(own))
    _, child = await begun(rig)
    await works(child)
    call = await child.called("task", **GIVEN)
    await child.run(call)

    assert await child.state(call) is CallState.FAILED
    assert "A subagent has no tasks in the background" in await child.output(call)
    assert await sessions.tree(rig.database, SessionId(child.session)) == [child.session]


async def test_a_hundred_tasks_of_one_step_are_begun_stopped_and_told_of_once_each(rig: ActivityRig) -> None:
    await rig.open_turn()
    calls = await rig.answered(*(("task", GIVEN) for _ in range(100)))
    await asyncio.gather(*map(rig.run, calls))
    begun = await tasks.unsettled(rig.database, rig.session)
    more = await rig.called("task", **GIVEN)
    await rig.run(more)
    assert await rig.state(more) is CallState.FAILED and "100 subagents work for this session" in await rig.output(more)
    await rig.close()
    stopped = await rig.stop()  # all in one transaction; none of them has begun
    await rig.prompt("Go on.", model="scripted/model")
    await asyncio.gather(rig.load(), rig.load())

    assert [each.call for each in begun] == sorted(calls) and len(stopped.background) == 100
    assert sorted(str(each.task) for each in await results(rig)) == sorted(calls)
    assert not await tasks.unsettled(rig.database, rig.session) and not await tasks.ended(
        rig.database, session=rig.session
    )
