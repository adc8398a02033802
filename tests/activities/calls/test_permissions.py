"""Judging stored calls: the decisions in the history."""

from activities.calls.description import describe_fully
from activities.calls.permissions import (
    PermissionEvaluator,
    body_of,
    load_evaluator,
    loop_guard_request,
)
from activities.redact import Redactor
from activities.store.calls import EFFECT_DIGITS
from tests.activities.rig import ActivityRig
from workflows.domain.ids import PartId
from workflows.domain.open_call import OpenCall
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.requests import PermissionAsk
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


async def test_a_call_that_changes_a_file_has_the_beginning_of_its_digest(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("write", filePath="a.txt", content="x")
    digest, judgement = (await rig.row(call)).digest, await judged(rig, call)
    assert digest is not None and judgement.effect_digest == digest[:EFFECT_DIGITS] and judgement.is_edit


async def test_a_call_that_only_looks_has_none(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await judged(rig, await rig.called("glob", pattern="*"))
    assert (call.effect_digest, call.is_edit, call.guard, call.label) == (None, False, None, None)


async def test_grants_that_hold_now_are_part_of_the_findings(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    call = await rig.called("write", filePath="sub/a.txt", content="x")
    assert [finding.action for finding in (await judged(rig, call)).findings] == [Action.ASK]
    (grant,) = (await rig.answer(await rig.asked(call), Reply.ALWAYS)).grants
    (found,) = (await judged(rig, call)).findings
    assert (found.action, found.grant) == (Action.ALLOW, grant.id)


async def test_the_loop_guard_is_told_only_where_it_does_not_ask(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"doom_loop": "deny"})
    call = await judged(rig, await rig.called("glob", pattern="*"))
    assert call.guard is not None and call.guard.action is Action.DENY


async def test_what_is_shown_is_as_the_setting_says(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("glob", pattern="*.txt")
    evaluator = await judging(rig)
    assert evaluator.open_call(await rig.row(call), describe_fully(Redactor())).label == "glob: *.txt"


async def test_requests_are_found_by_their_indices_as_long_as_the_call_has_them(rig: ActivityRig) -> None:
    await rig.open_turn()
    row = await rig.row(await rig.called("glob", pattern="*"))
    assert row.plan is not None
    both = PermissionAsk(requests=(loop_guard_request(row), row.plan.requests[0]))
    assert body_of(row, (GUARD_REQUEST, 0)) == both
    assert [body_of(row, (0, 7)), body_of(row.model_copy(update={"plan": None}), (0,))] == [None, None]
