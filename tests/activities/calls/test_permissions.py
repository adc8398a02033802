"""Judging stored calls: the decisions in the history."""

from activities.calls.description import describe_fully
from activities.calls.permissions import (
    PermissionEvaluator,
    load_evaluator,
    loop_guard_request,
    request_at,
)
from activities.redact import Redactor
from activities.store.calls import EFFECT_DIGITS
from tests.activities.rig import ActivityRig
from workflows.domain.ids import PartId
from workflows.domain.open_call import ANY_FILE, OpenCall
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.rules import Action


async def judged(rig: ActivityRig, call: PartId) -> OpenCall:
    return (await judging(rig)).open_call(await rig.row(call))


async def judging(rig: ActivityRig) -> PermissionEvaluator:
    turn = (await rig.load()).turn
    assert turn is not None
    async with rig.journal() as journal:
        row = await journal.row(b"SELECT turn_config FROM turn WHERE id = %(turn)s", turn=rig.turn)
        assert row is not None
        return await load_evaluator(journal, row["turn_config"])


async def test_a_call_that_changes_a_file_has_its_key_and_the_beginning_of_its_digest(rig: ActivityRig) -> None:
    await rig.open_turn()
    first, second, other = await rig.answered(
        *(("write", {"filePath": name, "content": "x"}) for name in ("a.txt", "./a.txt", "b.txt"))
    )
    calls = [await judged(rig, call) for call in (first, second, other)]
    digest = (await rig.row(first)).digest
    assert digest is not None and calls[0].effect_digest == digest[:EFFECT_DIGITS]
    assert calls[0].file_key == calls[1].file_key != calls[2].file_key and len(str(calls[0].file_key)) == EFFECT_DIGITS


async def test_a_call_that_only_looks_has_neither(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await judged(rig, await rig.called("glob", pattern="*"))
    assert (call.effect_digest, call.file_key, call.guard, call.label) == (None, None, None, None)


async def test_a_change_that_cannot_be_planned_has_no_findings_and_may_be_of_any_file(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await judged(rig, await rig.called("edit", filePath="gone.txt", oldString="a", newString="b"))
    assert (call.findings, call.file_key) == ((), ANY_FILE)


async def test_a_look_that_cannot_be_planned_waits_for_nobody(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await judged(rig, await rig.called("read", offset="first"))
    assert (call.findings, call.file_key) == ((), None)


async def test_grants_that_hold_now_are_part_of_the_findings(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    call = await rig.called("write", filePath="sub/a.txt", content="x")
    assert [finding.action for finding in (await judged(rig, call)).findings] == [Action.ASK]
    settled = await rig.answer(await rig.asked(call), Reply.ALWAYS)
    (found,) = (await judged(rig, call)).findings
    assert settled.grant is not None and (found.action, found.grant) == (Action.ALLOW, settled.grant.id)


async def test_the_loop_guard_is_told_only_where_it_does_not_ask(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"doom_loop": "deny"})
    call = await judged(rig, await rig.called("glob", pattern="*"))
    assert call.guard is not None and call.guard.action is Action.DENY


async def test_what_is_shown_is_as_the_setting_says(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("glob", pattern="*.txt")
    evaluator = await judging(rig)
    assert evaluator.open_call(await rig.row(call), describe_fully(Redactor())).label == "glob: *.txt"


async def test_a_request_is_found_by_its_index_as_long_as_the_call_has_it(rig: ActivityRig) -> None:
    await rig.open_turn()
    row = await rig.row(await rig.called("glob", pattern="*"))
    assert row.plan is not None
    assert request_at(row, 0) == row.plan.requests[0]
    assert request_at(row, GUARD_REQUEST) == loop_guard_request(row)
    assert [request_at(row, 7), request_at(row.model_copy(update={"plan": None}), 0)] == [None, None]
