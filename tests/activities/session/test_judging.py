"""Judging stored calls: what history learns of them."""

from activities.redact import Redactor
from activities.session.describing import in_full
from activities.session.judging import EFFECT_DIGITS, Judge, guard_request, judge, request_of
from tests.activities.scene import Scene
from workflows.domain.ids import PartId
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.rules import Action
from workflows.domain.state import GUARD
from workflows.domain.wire import ANY_FILE, PreparedCall


async def judged(scene: Scene, call: PartId) -> PreparedCall:
    return (await judging(scene)).prepared(await scene.row(call))


async def judging(scene: Scene) -> Judge:
    turn = (await scene.load()).turn
    assert turn is not None
    async with scene.journal() as opened:
        row = await opened.row(b"SELECT snapshot FROM turn WHERE id = %(turn)s", turn=scene.turn)
        assert row is not None
        return await judge(opened, row["snapshot"])


async def test_a_call_that_changes_a_file_has_its_key_and_the_beginning_of_its_digest(scene: Scene) -> None:
    await scene.open_turn()
    first, second, other = await scene.answered(
        *(("write", {"filePath": name, "content": "x"}) for name in ("a.txt", "./a.txt", "b.txt"))
    )
    calls = [await judged(scene, call) for call in (first, second, other)]
    digest = (await scene.row(first)).digest
    assert digest is not None and calls[0].effect == digest[:EFFECT_DIGITS]
    assert calls[0].file == calls[1].file != calls[2].file and len(str(calls[0].file)) == EFFECT_DIGITS


async def test_a_call_that_only_looks_has_neither(scene: Scene) -> None:
    await scene.open_turn()
    call = await judged(scene, await scene.called("glob", pattern="*"))
    assert (call.effect, call.file, call.guard, call.shown) == (None, None, None, None)


async def test_a_change_that_cannot_be_planned_has_no_findings_and_may_be_of_any_file(scene: Scene) -> None:
    await scene.open_turn()
    call = await judged(scene, await scene.called("edit", filePath="gone.txt", oldString="a", newString="b"))
    assert (call.findings, call.file) == ((), ANY_FILE)


async def test_a_look_that_cannot_be_planned_waits_for_nobody(scene: Scene) -> None:
    await scene.open_turn()
    call = await judged(scene, await scene.called("read", offset="first"))
    assert (call.findings, call.file) == ((), None)


async def test_grants_that_hold_now_are_part_of_the_findings(scene: Scene) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    call = await scene.called("write", filePath="sub/a.txt", content="x")
    assert [finding.action for finding in (await judged(scene, call)).findings] == [Action.ASK]
    settled = await scene.answer(await scene.asked(call), Reply.ALWAYS)
    (found,) = (await judged(scene, call)).findings
    assert settled.grant is not None and (found.action, found.grant) == (Action.ALLOW, settled.grant.id)


async def test_the_loop_guard_is_told_only_where_it_does_not_ask(scene: Scene) -> None:
    await scene.open_turn(permission={"doom_loop": "deny"})
    call = await judged(scene, await scene.called("glob", pattern="*"))
    assert call.guard is not None and call.guard.action is Action.DENY


async def test_what_is_shown_is_as_the_setting_says(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("glob", pattern="*.txt")
    by = await judging(scene)
    assert by.prepared(await scene.row(call), in_full(Redactor())).shown == "glob: *.txt"


async def test_a_request_is_found_by_its_index_as_long_as_the_call_has_it(scene: Scene) -> None:
    await scene.open_turn()
    row = await scene.row(await scene.called("glob", pattern="*"))
    assert row.plan is not None
    assert request_of(row, 0) == row.plan.requests[0]
    assert request_of(row, GUARD) == guard_request(row)
    assert [request_of(row, 7), request_of(row.model_copy(update={"plan": None}), 0)] == [None, None]
