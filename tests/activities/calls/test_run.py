"""Running a call: one outcome after any crash, by the table of reliability.md 6."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.store.database import Database
from activities.tools.read import ReadTool
from tests.acceptance.database_proxy import database_proxy
from tests.activities.conftest import Arm
from tests.activities.probe_tool import effects, probe
from tests.activities.rig import ActivityRig, open_rig, wait_for_lock_waiter
from tests.harness import wait_for_file
from workflows.domain.effects import Recovery
from workflows.domain.errors import OutcomeUnknown, ToolError, Unavailable
from workflows.domain.events.calls import CallFinished, WriteRefused
from workflows.domain.ids import PartId
from workflows.domain.messages import CallState
from workflows.domain.open_call import CallResult, CallResultState

SETTLED = CallResult(state=CallResultState.SETTLED)
RUN_AGAIN = (Recovery.REPEATABLE, Recovery.IDEMPOTENT)


@dataclass(frozen=True)
class Died:
    """Where an attempt was lost, and the next one's result by class: state, and number of effects."""

    point: str
    repeatable: int
    once: tuple[CallState, int]


LOST = (
    Died("tool.before_claim", repeatable=1, once=(CallState.DONE, 1)),
    Died("tool.claimed", repeatable=1, once=(CallState.UNKNOWN, 0)),
    Died("tool.effect_done", repeatable=2, once=(CallState.UNKNOWN, 1)),
    Died("tool.committed", repeatable=1, once=(CallState.DONE, 1)),
)
DEATHS = pytest.mark.parametrize("died", LOST, ids=lambda died: died.point)


async def run_twice(rig: ActivityRig, arm: Arm, call: PartId, point: str) -> CallResult:
    """Lose the first attempt at this point, and run the second."""
    arm(f"{point}=drop@1")
    with pytest.raises(ConnectionResetError):
        await rig.run(call)
    return await rig.run(call, sequence=rig.sequence, attempt=2)


@DEATHS
@pytest.mark.parametrize("kind", RUN_AGAIN)
async def test_what_is_repeatable_is_run_again(rig: ActivityRig, arm: Arm, died: Died, kind: Recovery) -> None:
    rig.tools = probe(kind)
    await rig.open_turn()
    call = await rig.called("probe")
    assert await run_twice(rig, arm, call, died.point) == SETTLED
    assert await rig.state(call) is CallState.DONE and len(effects(rig.project)) == died.repeatable


@DEATHS
async def test_b09_what_runs_once_never_runs_twice_and_unknown_is_said_truthfully(
    rig: ActivityRig, arm: Arm, died: Died
) -> None:
    rig.tools = probe(Recovery.ONCE)
    await rig.open_turn()
    call = await rig.called("probe")
    await run_twice(rig, arm, call, died.point)
    assert (await rig.state(call), len(effects(rig.project))) == died.once
    assert ("outcome of this call is unknown" in await rig.output(call)) == (died.once[0] is CallState.UNKNOWN)


@DEATHS
async def test_a_file_change_is_made_once_and_known(rig: ActivityRig, arm: Arm, died: Died) -> None:
    await rig.open_turn()
    file = rig.file("a.txt", "one\n")
    call = await rig.called("edit", filePath="a.txt", oldString="one", newString="one one")
    await run_twice(rig, arm, call, died.point)
    assert (await rig.state(call), file.read_text()) == (CallState.DONE, "one one\n")
    assert [path.name for path in rig.project.iterdir()] == ["opencode.json", "a.txt"]


@DEATHS
async def test_b07_a_command_is_started_once_and_its_outcome_is_known(rig: ActivityRig, arm: Arm, died: Died) -> None:
    await rig.open_turn()
    call = await rig.called("bash", command="echo started >> log; cat log")
    await run_twice(rig, arm, call, died.point)
    assert (await rig.state(call), (rig.project / "log").read_text()) == (CallState.DONE, "started\n")
    assert await rig.output(call) == "started\n"


async def test_a_file_that_is_neither_before_nor_after_is_unknown(rig: ActivityRig, arm: Arm) -> None:
    await rig.open_turn()
    file = rig.file("a.txt", "one\n")
    call = await rig.called("edit", filePath="a.txt", oldString="one", newString="two")
    fence = rig.fence()
    await rig.claim(call, fence)
    file.write_text("three\n")
    await rig.run(call, sequence=fence.sequence, attempt=2)
    assert (await rig.state(call), file.read_text()) == (CallState.UNKNOWN, "three\n")


@pytest.mark.parametrize("kind", Recovery)
async def test_what_began_on_a_machine_that_is_gone_is_unknown_unless_repeatable(
    rig: ActivityRig, kind: Recovery
) -> None:
    rig.tools = probe(kind)
    await rig.open_turn()
    call, fence = await rig.called("probe"), rig.fence()
    await rig.claim(call, fence)
    await rig.run(call, sequence=fence.sequence, attempt=2, machine="elsewhere")
    again = kind in RUN_AGAIN
    assert await rig.state(call) is (CallState.DONE if again else CallState.UNKNOWN)
    assert len(effects(rig.project)) == again


async def test_a_later_schedule_recovers_as_a_later_attempt_does(rig: ActivityRig) -> None:
    rig.tools = probe(Recovery.ONCE)
    await rig.open_turn()
    call = await rig.called("probe")
    await rig.claim(call)
    await rig.run(call)
    assert await rig.state(call) is CallState.UNKNOWN and effects(rig.project) == []


async def test_a_settled_call_gives_its_stored_outcome(rig: ActivityRig) -> None:
    rig.tools = probe(Recovery.REPEATABLE)
    await rig.open_turn()
    call = await rig.called("probe")
    assert [await rig.run(call), await rig.run(call)] == [SETTLED, SETTLED]
    assert len(effects(rig.project)) == 1
    assert sum(isinstance(event, CallFinished) for event in await rig.events()) == 1


async def test_a_zombie_writes_nothing_and_its_refusal_is_in_the_log(
    rig: ActivityRig, arm: Arm, tmp_path: Path
) -> None:
    rig.tools = probe(Recovery.ONCE)
    await rig.open_turn()
    call = await rig.called("probe")
    arm(f"tool.effect_done=block:{tmp_path / 'gate'}@1")
    zombie = asyncio.create_task(rig.run(call))
    await wait_for_file(tmp_path / "gate")
    sequence = rig.sequence
    await rig.run(call, sequence=sequence, attempt=2)
    (tmp_path / "gate").touch()
    with pytest.raises(ApplicationError) as refused:
        await zombie
    assert (refused.value.type, refused.value.non_retryable) == ("StaleFence", True)
    assert await rig.state(call) is CallState.UNKNOWN
    (logged,) = [event for event in await rig.events() if isinstance(event, WriteRefused)]
    assert (logged.target, logged.fence[:3]) == (call, (rig.epoch, sequence, 1))


async def test_an_attempt_that_wakes_after_its_successor_touches_nothing(
    rig: ActivityRig, arm: Arm, tmp_path: Path
) -> None:
    rig.tools = probe(Recovery.ONCE)
    await rig.open_turn()
    call = await rig.called("probe")
    arm(f"tool.before_claim=block:{tmp_path / 'gate'}@1")
    sleeper = asyncio.create_task(rig.run(call))
    await wait_for_file(tmp_path / "gate")
    await rig.run(call, sequence=rig.sequence, attempt=2)
    (tmp_path / "gate").touch()
    assert await sleeper == SETTLED
    assert len(effects(rig.project)) == 1 and await rig.state(call) is CallState.DONE


async def test_a_late_rename_of_a_zombie_fails(rig: ActivityRig) -> None:
    await rig.open_turn()
    file = rig.file("a.txt", "one\n")
    call, fence = await rig.called("edit", filePath="a.txt", oldString="one", newString="two"), rig.fence()
    await rig.claim(call, fence)
    zombie = await rig.effect(call, fence)
    plan = (await rig.row(call)).claimed_plan
    await rig.run(call, sequence=fence.sequence, attempt=2)
    file.write_text("one\n")
    with pytest.raises(Exception, match="under fence"):
        await zombie.tool.run(zombie.params, plan, zombie.context)
    assert file.read_text() == "one\n"


async def test_a_tools_own_error_is_what_the_model_reads(rig: ActivityRig) -> None:
    rig.tools = probe(Recovery.ONCE, ToolError("No such thing."))
    await rig.open_turn()
    call = await rig.called("probe")
    assert await rig.run(call) == SETTLED
    assert (await rig.state(call), await rig.output(call)) == (CallState.FAILED, "No such thing.")


async def test_a_tool_may_say_that_nobody_knows(rig: ActivityRig) -> None:
    rig.tools = probe(Recovery.ONCE, OutcomeUnknown("The line went dead."))
    await rig.open_turn()
    call = await rig.called("probe")
    await rig.run(call)
    assert await rig.state(call) is CallState.UNKNOWN and "The line went dead." in await rig.output(call)
    assert "unknown time" not in await rig.output(call)


@pytest.mark.parametrize("kind", [*RUN_AGAIN, Recovery.ONCE, Recovery.RECONCILABLE])
async def test_what_a_tool_raises_unexpectedly_is_an_error_only_if_it_may_run_again(
    rig: ActivityRig, kind: Recovery
) -> None:
    rig.tools = probe(kind, RuntimeError("boom"))
    await rig.open_turn()
    call = await rig.called("probe")
    await rig.run(call)
    assert await rig.state(call) is (CallState.FAILED if kind in RUN_AGAIN else CallState.UNKNOWN)
    assert "RuntimeError: boom" in await rig.output(call)


async def test_what_goes_on_without_us_is_left_to_the_next_attempt(rig: ActivityRig) -> None:
    rig.tools = probe(Recovery.REATTACHABLE, RuntimeError("boom"))
    await rig.open_turn()
    call = await rig.called("probe")
    with pytest.raises(RuntimeError, match="boom"):
        await rig.run(call)
    assert await rig.state(call) is CallState.CLAIMED


@pytest.mark.parametrize("arguments", [{"filePath": 7}, {}])
async def test_wrong_arguments_are_told_and_nothing_is_claimed(rig: ActivityRig, arguments: dict[str, int]) -> None:
    await rig.open_turn()
    call = await rig.called("read", **arguments)
    assert await rig.run(call) == SETTLED
    assert await rig.state(call) is CallState.FAILED
    assert "read tool was called with invalid arguments" in await rig.output(call)
    assert "call.claimed" not in await rig.types()


async def test_an_undecided_call_goes_back_to_the_gate_with_its_findings(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    call = await rig.called("write", filePath="a.txt", content="x")
    found = await rig.run(call)
    assert (found.state, [each.action for each in found.findings], found.revision) == (
        CallResultState.DRIFTED,
        ["ask"],
        0,
    )
    await rig.asked(call)
    assert (await rig.run(call)).state is CallResultState.WAITING


async def test_a_stop_ends_a_command_with_its_group_and_is_its_outcome(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("bash", command="echo before; sleep 600 & echo $! > begun; wait")
    environment = ActivityEnvironment()
    running = asyncio.create_task(rig.run(call, environment=environment))
    await wait_for_file(rig.project / "begun", suffix="")
    environment.cancel(ActivityCancellationDetails(cancel_requested=True))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await rig.state(call) is CallState.CANCELLED and (await rig.output(call)).startswith("before")
    assert not psutil.pid_exists(int((rig.project / "begun").read_text()))


@pytest.mark.parametrize("kind", Recovery)
async def test_a_stop_amid_an_effect_is_told_by_its_class(rig: ActivityRig, kind: Recovery) -> None:
    rig.tools = probe(kind, gate=asyncio.Event())
    await rig.open_turn()
    call = await rig.called("probe")
    environment = ActivityEnvironment()
    running = asyncio.create_task(rig.run(call, environment=environment))
    await wait_for_file(rig.project / "effects", suffix="")
    environment.cancel(ActivityCancellationDetails(cancel_requested=True))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await rig.state(call) is (CallState.CANCELLED if kind in RUN_AGAIN else CallState.UNKNOWN)


async def test_a_known_outcome_is_written_although_a_stop_comes_meanwhile(
    rig: ActivityRig, arm: Arm, tmp_path: Path
) -> None:
    rig.tools = probe(Recovery.ONCE)
    await rig.open_turn()
    call = await rig.called("probe")
    arm(f"tool.effect_done=block:{tmp_path / 'gate'}")
    environment = ActivityEnvironment()
    running = asyncio.create_task(rig.run(call, environment=environment))
    await wait_for_file(tmp_path / "gate")
    async with rig.journal():
        (tmp_path / "gate").touch()
        await wait_for_lock_waiter(rig.database)
        environment.cancel(ActivityCancellationDetails(cancel_requested=True))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await rig.state(call), await rig.output(call)) == (CallState.DONE, "done")


@pytest.mark.parametrize("why", ["worker_shutdown", "not_found", "timed_out"])
async def test_the_end_of_a_worker_or_a_zombie_is_no_stop(rig: ActivityRig, why: str) -> None:
    rig.tools = probe(Recovery.ONCE, gate=asyncio.Event())
    await rig.open_turn()
    call = await rig.called("probe")
    environment = ActivityEnvironment()
    running = asyncio.create_task(rig.run(call, environment=environment))
    await wait_for_file(rig.project / "effects", suffix="")
    environment.cancel(ActivityCancellationDetails(**{why: True}))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await rig.state(call) is CallState.CLAIMED


async def test_a_claimed_call_that_nothing_fits_any_more_is_unknown(rig: ActivityRig) -> None:
    rig.tools = probe(Recovery.ONCE)
    await rig.open_turn()
    call, fence = await rig.called("probe"), rig.fence()
    await rig.claim(call, fence)
    rig.tools = {**rig.tools, "probe": ReadTool()}
    await rig.run(call, sequence=fence.sequence, attempt=2)
    assert await rig.state(call) is CallState.UNKNOWN


@pytest.mark.parametrize(("tool", "arguments"), [("read", {"filePath": "a.txt"}), ("bash", {"command": "cat a.txt"})])
async def test_a_result_keeps_to_the_room_that_was_fixed_with_its_answer(
    rig: ActivityRig, tool: str, arguments: dict[str, Any]
) -> None:
    rig.file("a.txt", f"{'x' * 49}\n" * 500)
    await rig.open_turn()
    call = await rig.called(tool, **arguments)
    async with rig.database.transaction() as connection:
        await connection.execute(b"UPDATE call SET room = 5000")
    await rig.run(call)
    assert 3_500 < len(await rig.output(call)) < 6_000


async def test_a_call_that_the_loop_guard_denies_is_refused_with_its_rules(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"doom_loop": "deny"})
    call = await rig.called("glob", pattern="*")
    await rig.refuse(call)
    assert '{"permission":"doom_loop","pattern":"*","action":"deny"}' in await rig.output(call)


async def test_a_denied_call_is_refused_once_with_the_rules(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": {"*": "ask", "a.*": "deny"}})
    call = await rig.called("write", filePath="a.txt", content="x")
    assert [await rig.refuse(call), await rig.refuse(call)] == [SETTLED, SETTLED]
    assert await rig.state(call) is CallState.REFUSED
    assert '{"permission":"edit","pattern":"a.*","action":"deny"}' in await rig.output(call)
    assert (await rig.types()).count("call.finished") == 1


async def test_a_long_output_is_shortened_and_kept_whole_beside(rig: ActivityRig) -> None:
    await rig.open_turn(tool_output={"max_lines": 5})
    call = await rig.called("bash", command="seq 1000")
    await rig.run(call)
    outcome = (await rig.row(call)).outcome
    assert outcome is not None and len(outcome.output.splitlines()) < 20
    kept = Path(str(outcome.metadata["outputPath"]))
    assert kept.read_text().split() == [str(number) for number in range(1, 1001)]
    assert kept.stat().st_mode & 0o077 == 0


async def test_a_claim_that_waited_for_the_database_is_made_for_the_files_as_they_are_then(
    postgres_url: str, tmp_path: Path
) -> None:
    async with database_proxy(postgres_url) as between, Database(between.url) as database:
        rig = await open_rig(database, tmp_path)
        await rig.open_turn()
        call = await rig.called("write", filePath="a.txt", content="ours")
        claiming = between.hold_request("call.claimed")
        running = asyncio.create_task(rig.run(call))
        await claiming.wait_until_caught()
        between.part()
        file = rig.file("a.txt", "somebody else's")
        between.join()
        await running
        row = await rig.row(call)
    assert (row.state, row.revision, file.read_text()) == (CallState.DONE, 1, "ours")


async def test_an_absent_store_and_lost_workers_are_no_failures_of_our_own(rig: ActivityRig, arm: Arm) -> None:
    await rig.open_turn()
    call = await rig.called("glob", pattern="*")
    sequence = rig.sequence + 1
    for fault, raised, attempts in (("Unavailable", Unavailable, range(1, 12)), ("KeyError", KeyError, range(12, 16))):
        arm(f"tool.before_claim=raise:{fault}")
        for attempt in attempts:
            with pytest.raises(raised):
                await rig.run(call, sequence=sequence, attempt=attempt)
    for attempt in range(16, 23):
        arm("tool.before_claim=sleep:60000")
        environment = ActivityEnvironment()
        lost = asyncio.create_task(rig.run(call, sequence=sequence, attempt=attempt, environment=environment))
        await asyncio.sleep(0.05)
        environment.cancel(ActivityCancellationDetails(worker_shutdown=True))
        with pytest.raises(asyncio.CancelledError):
            await lost
    arm("")
    assert await rig.run(call, sequence=sequence, attempt=23) == SETTLED
    assert await rig.state(call) is CallState.DONE
