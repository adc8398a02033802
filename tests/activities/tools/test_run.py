"""Running a call: one outcome, whatever died on the way, by the table of reliability.md 6."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.store.database import Database
from activities.tools.read import Read
from activities.tools.tool import Unknown
from tests.acceptance.crossing import crossing
from tests.activities.conftest import Arm
from tests.activities.probe import effects, probe
from tests.activities.scene import Scene, scene_in, somebody_waits
from tests.house import reached
from workflows.domain.effects import Recovery
from workflows.domain.errors import ToolError, Unavailable
from workflows.domain.events import CallFinished, WriteRefused
from workflows.domain.ids import PartId
from workflows.domain.messages import CallState
from workflows.domain.wire import Ran, RanState

SETTLED = Ran(state=RanState.SETTLED)
RUN_AGAIN = (Recovery.REPEATABLE, Recovery.IDEMPOTENT)


@dataclass(frozen=True)
class Died:
    """Where an attempt was lost, and what the next one makes of it, by class: state, and effects in all."""

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


async def run_twice(scene: Scene, arm: Arm, call: PartId, point: str) -> Ran:
    """Lose the first attempt at this point, and run the second."""
    arm(f"{point}=drop@1")
    with pytest.raises(ConnectionResetError):
        await scene.run(call)
    return await scene.run(call, schedule=scene.schedule, attempt=2)


@DEATHS
@pytest.mark.parametrize("kind", RUN_AGAIN)
async def test_what_is_repeatable_is_run_again(scene: Scene, arm: Arm, died: Died, kind: Recovery) -> None:
    scene.tools = probe(kind)
    await scene.open_turn()
    call = await scene.called("probe")
    assert await run_twice(scene, arm, call, died.point) == SETTLED
    assert await scene.state(call) is CallState.DONE and len(effects(scene.project)) == died.repeatable


@DEATHS
async def test_b09_what_runs_once_never_runs_twice_and_unknown_is_said_truthfully(
    scene: Scene, arm: Arm, died: Died
) -> None:
    scene.tools = probe(Recovery.ONCE)
    await scene.open_turn()
    call = await scene.called("probe")
    await run_twice(scene, arm, call, died.point)
    assert (await scene.state(call), len(effects(scene.project))) == died.once
    assert ("outcome of this call is unknown" in await scene.said(call)) == (died.once[0] is CallState.UNKNOWN)


@DEATHS
async def test_a_file_change_is_made_once_and_known(scene: Scene, arm: Arm, died: Died) -> None:
    await scene.open_turn()
    file = scene.file("a.txt", "one\n")
    call = await scene.called("edit", filePath="a.txt", oldString="one", newString="one one")
    await run_twice(scene, arm, call, died.point)
    assert (await scene.state(call), file.read_text()) == (CallState.DONE, "one one\n")
    assert [path.name for path in scene.project.iterdir()] == ["opencode.json", "a.txt"]


@DEATHS
async def test_b07_a_command_is_started_once_and_its_outcome_is_known(scene: Scene, arm: Arm, died: Died) -> None:
    await scene.open_turn()
    call = await scene.called("bash", command="echo started >> log; cat log")
    await run_twice(scene, arm, call, died.point)
    assert (await scene.state(call), (scene.project / "log").read_text()) == (CallState.DONE, "started\n")
    assert await scene.said(call) == "started\n"


async def test_a_file_that_is_neither_before_nor_after_is_unknown(scene: Scene, arm: Arm) -> None:
    await scene.open_turn()
    file = scene.file("a.txt", "one\n")
    call = await scene.called("edit", filePath="a.txt", oldString="one", newString="two")
    fence = scene.fence()
    await scene.claim(call, fence)
    file.write_text("three\n")
    await scene.run(call, schedule=fence.schedule, attempt=2)
    assert (await scene.state(call), file.read_text()) == (CallState.UNKNOWN, "three\n")


@pytest.mark.parametrize("kind", Recovery)
async def test_what_began_on_a_machine_that_is_gone_is_unknown_unless_repeatable(scene: Scene, kind: Recovery) -> None:
    scene.tools = probe(kind)
    await scene.open_turn()
    call, fence = await scene.called("probe"), scene.fence()
    await scene.claim(call, fence)
    await scene.run(call, schedule=fence.schedule, attempt=2, machine="elsewhere")
    again = kind in RUN_AGAIN
    assert await scene.state(call) is (CallState.DONE if again else CallState.UNKNOWN)
    assert len(effects(scene.project)) == again


async def test_a_later_schedule_recovers_as_a_later_attempt_does(scene: Scene) -> None:
    scene.tools = probe(Recovery.ONCE)
    await scene.open_turn()
    call = await scene.called("probe")
    await scene.claim(call)
    await scene.run(call)
    assert await scene.state(call) is CallState.UNKNOWN and effects(scene.project) == []


async def test_a_settled_call_gives_its_stored_outcome(scene: Scene) -> None:
    scene.tools = probe(Recovery.REPEATABLE)
    await scene.open_turn()
    call = await scene.called("probe")
    assert [await scene.run(call), await scene.run(call)] == [SETTLED, SETTLED]
    assert len(effects(scene.project)) == 1
    assert sum(isinstance(event, CallFinished) for event in await scene.events()) == 1


async def test_a_zombie_writes_nothing_and_its_refusal_is_in_the_log(scene: Scene, arm: Arm, tmp_path: Path) -> None:
    scene.tools = probe(Recovery.ONCE)
    await scene.open_turn()
    call = await scene.called("probe")
    arm(f"tool.effect_done=block:{tmp_path / 'gate'}@1")
    zombie = asyncio.create_task(scene.run(call))
    await reached(tmp_path / "gate")
    schedule = scene.schedule
    await scene.run(call, schedule=schedule, attempt=2)
    (tmp_path / "gate").touch()
    with pytest.raises(ApplicationError) as refused:
        await zombie
    assert (refused.value.type, refused.value.non_retryable) == ("StaleFence", True)
    assert await scene.state(call) is CallState.UNKNOWN
    assert WriteRefused(what=call, fence=(scene.chain, schedule, 1)) in await scene.events()


async def test_an_attempt_that_wakes_after_its_successor_touches_nothing(
    scene: Scene, arm: Arm, tmp_path: Path
) -> None:
    scene.tools = probe(Recovery.ONCE)
    await scene.open_turn()
    call = await scene.called("probe")
    arm(f"tool.before_claim=block:{tmp_path / 'gate'}@1")
    sleeper = asyncio.create_task(scene.run(call))
    await reached(tmp_path / "gate")
    await scene.run(call, schedule=scene.schedule, attempt=2)
    (tmp_path / "gate").touch()
    assert await sleeper == SETTLED
    assert len(effects(scene.project)) == 1 and await scene.state(call) is CallState.DONE


async def test_a_late_rename_of_a_zombie_fails(scene: Scene) -> None:
    await scene.open_turn()
    file = scene.file("a.txt", "one\n")
    call, fence = await scene.called("edit", filePath="a.txt", oldString="one", newString="two"), scene.fence()
    await scene.claim(call, fence)
    zombie = await scene.job(call, fence)
    plan = await zombie.plan()
    await scene.run(call, schedule=fence.schedule, attempt=2)
    file.write_text("one\n")
    with pytest.raises(Exception, match="under fence"):
        await zombie.tool.run(zombie.params, plan, zombie.around)
    assert file.read_text() == "one\n"


async def test_a_tools_own_error_is_what_the_model_reads(scene: Scene) -> None:
    scene.tools = probe(Recovery.ONCE, ToolError("No such thing."))
    await scene.open_turn()
    call = await scene.called("probe")
    assert await scene.run(call) == SETTLED
    assert (await scene.state(call), await scene.said(call)) == (CallState.FAILED, "No such thing.")


async def test_a_tool_may_say_that_nobody_knows(scene: Scene) -> None:
    scene.tools = probe(Recovery.ONCE, Unknown("The line went dead."))
    await scene.open_turn()
    call = await scene.called("probe")
    await scene.run(call)
    assert await scene.state(call) is CallState.UNKNOWN and "The line went dead." in await scene.said(call)


@pytest.mark.parametrize("kind", [*RUN_AGAIN, Recovery.ONCE, Recovery.RECONCILABLE])
async def test_what_a_tool_raises_unexpectedly_is_an_error_only_if_it_may_run_again(
    scene: Scene, kind: Recovery
) -> None:
    scene.tools = probe(kind, RuntimeError("boom"))
    await scene.open_turn()
    call = await scene.called("probe")
    await scene.run(call)
    assert await scene.state(call) is (CallState.FAILED if kind in RUN_AGAIN else CallState.UNKNOWN)
    assert "RuntimeError: boom" in await scene.said(call)


async def test_what_goes_on_without_us_is_left_to_the_next_attempt(scene: Scene) -> None:
    scene.tools = probe(Recovery.REATTACHABLE, RuntimeError("boom"))
    await scene.open_turn()
    call = await scene.called("probe")
    with pytest.raises(RuntimeError, match="boom"):
        await scene.run(call)
    assert await scene.state(call) is CallState.CLAIMED


@pytest.mark.parametrize("arguments", [{"filePath": 7}, {}])
async def test_wrong_arguments_are_told_and_nothing_is_claimed(scene: Scene, arguments: dict[str, int]) -> None:
    await scene.open_turn()
    call = await scene.called("read", **arguments)
    assert await scene.run(call) == SETTLED
    assert await scene.state(call) is CallState.FAILED
    assert "read tool was called with invalid arguments" in await scene.said(call)
    assert "call.claimed" not in await scene.types()


async def test_an_undecided_call_goes_back_to_the_gate_with_its_findings(scene: Scene) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    call = await scene.called("write", filePath="a.txt", content="x")
    found = await scene.run(call)
    assert (found.state, [each.action for each in found.findings], found.revision) == (RanState.DRIFTED, ["ask"], 0)
    await scene.asked(call)
    assert (await scene.run(call)).state is RanState.WAITING


async def test_a_stop_ends_a_command_with_its_group_and_is_its_outcome(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("bash", command="echo before; sleep 600 & echo $! > begun; wait")
    environment = ActivityEnvironment()
    running = asyncio.create_task(scene.run(call, environment=environment))
    await reached(scene.project / "begun", suffix="")
    environment.cancel(ActivityCancellationDetails(cancel_requested=True))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await scene.state(call) is CallState.CANCELLED and (await scene.said(call)).startswith("before")
    assert not psutil.pid_exists(int((scene.project / "begun").read_text()))


@pytest.mark.parametrize("kind", Recovery)
async def test_a_stop_amid_an_effect_is_told_by_its_class(scene: Scene, kind: Recovery) -> None:
    scene.tools = probe(kind, gate=asyncio.Event())
    await scene.open_turn()
    call = await scene.called("probe")
    environment = ActivityEnvironment()
    running = asyncio.create_task(scene.run(call, environment=environment))
    await reached(scene.project / "effects", suffix="")
    environment.cancel(ActivityCancellationDetails(cancel_requested=True))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await scene.state(call) is (CallState.CANCELLED if kind in RUN_AGAIN else CallState.UNKNOWN)


async def test_a_known_outcome_is_written_although_a_stop_comes_meanwhile(
    scene: Scene, arm: Arm, tmp_path: Path
) -> None:
    scene.tools = probe(Recovery.ONCE)
    await scene.open_turn()
    call = await scene.called("probe")
    arm(f"tool.effect_done=block:{tmp_path / 'gate'}")
    environment = ActivityEnvironment()
    running = asyncio.create_task(scene.run(call, environment=environment))
    await reached(tmp_path / "gate")
    async with scene.journal():
        (tmp_path / "gate").touch()
        await somebody_waits(scene.database)
        environment.cancel(ActivityCancellationDetails(cancel_requested=True))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await scene.state(call), await scene.said(call)) == (CallState.DONE, "done")


@pytest.mark.parametrize("why", ["worker_shutdown", "not_found", "timed_out"])
async def test_the_end_of_a_worker_or_a_zombie_is_no_stop(scene: Scene, why: str) -> None:
    scene.tools = probe(Recovery.ONCE, gate=asyncio.Event())
    await scene.open_turn()
    call = await scene.called("probe")
    environment = ActivityEnvironment()
    running = asyncio.create_task(scene.run(call, environment=environment))
    await reached(scene.project / "effects", suffix="")
    environment.cancel(ActivityCancellationDetails(**{why: True}))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await scene.state(call) is CallState.CLAIMED


async def test_a_claimed_call_that_nothing_fits_any_more_is_unknown(scene: Scene) -> None:
    scene.tools = probe(Recovery.ONCE)
    await scene.open_turn()
    call, fence = await scene.called("probe"), scene.fence()
    await scene.claim(call, fence)
    scene.tools = {**scene.tools, "probe": Read()}
    await scene.run(call, schedule=fence.schedule, attempt=2)
    assert await scene.state(call) is CallState.UNKNOWN


async def test_a_call_that_the_loop_guard_denies_is_refused_with_its_rules(scene: Scene) -> None:
    await scene.open_turn(permission={"doom_loop": "deny"})
    call = await scene.called("glob", pattern="*")
    await scene.refuse(call)
    assert '{"permission":"doom_loop","pattern":"*","action":"deny"}' in await scene.said(call)


async def test_a_denied_call_is_refused_once_with_the_rules(scene: Scene) -> None:
    await scene.open_turn(permission={"edit": {"*": "ask", "a.*": "deny"}})
    call = await scene.called("write", filePath="a.txt", content="x")
    assert [await scene.refuse(call), await scene.refuse(call)] == [SETTLED, SETTLED]
    assert await scene.state(call) is CallState.REFUSED
    assert '{"permission":"edit","pattern":"a.*","action":"deny"}' in await scene.said(call)
    assert (await scene.types()).count("call.finished") == 1


async def test_a_long_output_is_shortened_and_kept_whole_beside(scene: Scene) -> None:
    await scene.open_turn(tool_output={"max_lines": 5})
    call = await scene.called("bash", command="seq 1000")
    await scene.run(call)
    outcome = (await scene.row(call)).outcome
    assert outcome is not None and len(outcome.output.splitlines()) < 20
    kept = Path(str(outcome.metadata["outputPath"]))
    assert kept.read_text().split() == [str(number) for number in range(1, 1001)]
    assert kept.stat().st_mode & 0o077 == 0


async def test_a_claim_that_waited_for_the_database_is_made_for_the_files_as_they_are_then(
    postgres_url: str, tmp_path: Path
) -> None:
    async with crossing(postgres_url) as between, Database(between.url) as database:
        scene = await scene_in(database, tmp_path)
        await scene.open_turn()
        call = await scene.called("write", filePath="a.txt", content="ours")
        claiming = between.hold_request("call.claimed")
        running = asyncio.create_task(scene.run(call))
        await claiming.caught()
        between.part()
        file = scene.file("a.txt", "somebody else's")
        between.join()
        await running
        row = await scene.row(call)
    assert (row.state, row.revision, file.read_text()) == (CallState.DONE, 1, "ours")


async def test_an_absent_store_and_lost_workers_are_no_failures_of_our_own(scene: Scene, arm: Arm) -> None:
    await scene.open_turn()
    call = await scene.called("glob", pattern="*")
    schedule = scene.schedule + 1
    for fault, raised, attempts in (("Unavailable", Unavailable, range(1, 12)), ("KeyError", KeyError, range(12, 16))):
        arm(f"tool.before_claim=raise:{fault}")
        for attempt in attempts:
            with pytest.raises(raised):
                await scene.run(call, schedule=schedule, attempt=attempt)
    for attempt in range(16, 23):
        arm("tool.before_claim=sleep:60000")
        environment = ActivityEnvironment()
        lost = asyncio.create_task(scene.run(call, schedule=schedule, attempt=attempt, environment=environment))
        await asyncio.sleep(0.05)
        environment.cancel(ActivityCancellationDetails(worker_shutdown=True))
        with pytest.raises(asyncio.CancelledError):
            await lost
    arm("")
    assert await scene.run(call, schedule=schedule, attempt=23) == SETTLED
    assert await scene.state(call) is CallState.DONE
