"""Calls with long texts are checked in a process that can be killed."""

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from activities.calls.plan_call import plan_call
from activities.calls.planner.messages import PlanRequest
from activities.calls.planner.planner import Planner, open_planner
from activities.tools.registry import TOOLS
from activities.tools.tool import Plan
from activities.turn_context import TurnContext
from tests.polling import WAIT_TIMEOUT
from workflows.domain.errors import CheckFailed, ToolError
from workflows.domain.permissions.findings import evaluate_request
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.permissions.rulesets import Rulesets

LONG = {"command": "echo " + "x" * 300}
CONDITIONAL = " ".join(f"[ -d s{number} ] && cd s{number};" for number in range(24)) + " make"
HARD = {"command": "))((;;&&||" * 3_000}  # the parser alone takes a second over it
EVERYTHING = Rule(permission="*", pattern="*", action=Action.ALLOW)
ROOT = Path(__file__).parents[4]
WORKER = """
import asyncio, sys
from pathlib import Path
from activities.files.workspace import Workspace
from activities.calls.planner.planner import Planner
from activities.calls.planner.messages import PlanRequest
from activities.turn_context import TurnContext

async def main(directory):
    planner = Planner()
    workspace = Workspace(directory, None, directory, directory, directory)
    await planner.plan(PlanRequest("bash", {"command": "echo"}, TurnContext(workspace)))
    print(planner._process.pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.fixture
async def planner() -> AsyncIterator[Planner]:
    async with open_planner() as opened:
        yield opened


async def plan(planner: Planner | None, turn: TurnContext, arguments: dict[str, Any], tool: str = "bash") -> Plan:
    return await plan_call(TOOLS[tool], TOOLS[tool].parse(arguments), arguments, turn, planner)


def processes() -> list[psutil.Process]:
    """The planners below this process."""
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):  # a zombie of another test has no command line
            if "activities.calls.planner" in " ".join(child.cmdline()):
                found.append(child)
    return found


async def test_a_long_text_is_checked_there_and_a_short_one_here(planner: Planner, turn: TurnContext) -> None:
    await plan(planner, turn, {"command": "ls"})
    assert processes() == []
    assert await plan(planner, turn, LONG) == await plan(None, turn, LONG)
    (process,) = processes()
    await plan(planner, turn, {"command": CONDITIONAL})
    assert [each.pid for each in processes()] == [process.pid]


async def test_it_computes_when_others_leave_time_for_it(planner: Planner, turn: TurnContext) -> None:
    await plan(planner, turn, LONG)
    (process,) = processes()
    group = Path(f"/proc/{process.pid}/autogroup")
    assert process.nice() == 5
    if group.exists():
        assert group.read_text().endswith(" nice 5\n")
        assert group.read_text() != Path("/proc/self/autogroup").read_text()


async def test_changes_of_long_texts_and_of_large_files_are_compared_there(planner: Planner, turn: TurnContext) -> None:
    rules = (Rule(permission="read", pattern="*.env", action=Action.DENY),)
    ruled = replace(turn, rules=Rulesets.of(rules))
    (turn.workspace.directory / "big.txt").write_text("line\n" * 50_000)
    change: dict[str, Any] = {"filePath": "big.txt", "oldString": "line", "newString": "word", "replaceAll": True}
    for tool, arguments in (("write", {"filePath": "a.txt", "content": "x\n" * 20_000}), ("edit", change)):
        assert await plan(planner, ruled, arguments, tool) == await plan(None, ruled, arguments, tool)
    assert len(processes()) == 1
    with pytest.raises(ToolError, match="identical"):
        await plan(planner, turn, {**change, "newString": "line"}, "edit")


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"cpu_seconds": 0.3}, "that took more than 0.3 s of computing"),
        ({"wall_seconds": 0.5}, "that took more than 0.5 s"),
    ],
)
async def test_a_check_that_takes_too_long_is_ended_and_the_call_asked_about(
    turn: TurnContext, limits: dict[str, float], why: str
) -> None:
    async with open_planner(**limits) as planner:
        await planner.plan(PlanRequest("bash", {"command": "ls"}, turn))
        (first,) = processes()
        if "wall_seconds" in limits:
            first.suspend()
        found = await plan(planner, turn, HARD)
        assert found.effect.unchecked and found.requests[0].opaque == f"This call could not be checked: {why}."
        assert [evaluate_request(request, (EVERYTHING,)).action for request in found.requests] == [Action.ASK]
        gone(first)
        assert await planner.plan(PlanRequest("bash", {"command": "ls"}, turn))


async def test_long_arguments_have_more_time(turn: TurnContext) -> None:
    content = "x\n" * 2_500_000
    async with open_planner(wall_seconds=0.5) as planner:
        await planner.plan(PlanRequest("bash", {"command": "ls"}, turn))
        (process,) = processes()
        process.suspend()
        found = await plan(planner, turn, {"filePath": "a.txt", "content": content}, "write")
    assert found.requests[0].opaque == "This call could not be checked: that took more than 1.75 s."


async def test_a_check_that_fails_says_why_and_the_process_goes_on(planner: Planner, turn: TurnContext) -> None:
    await plan(planner, turn, LONG)
    (process,) = processes()
    with pytest.raises(CheckFailed, match="KeyError: 'nonsense'"):
        await planner.plan(PlanRequest("nonsense", {}, turn))
    await plan(planner, turn, LONG)
    assert [each.pid for each in processes()] == [process.pid]


async def test_a_process_that_crashes_over_a_check_says_so(planner: Planner, turn: TurnContext) -> None:
    await plan(planner, turn, LONG)
    (process,) = processes()
    process.suspend()
    checked = asyncio.create_task(plan(planner, turn, LONG))
    await asyncio.sleep(0.1)
    process.send_signal(signal.SIGSEGV)
    process.resume()
    assert "was ended by SIGSEGV" in str((await checked).requests[0].opaque)
    assert not (await plan(planner, turn, LONG)).effect.unchecked
    gone(process)


async def test_a_process_that_has_ended_between_two_calls_is_replaced(planner: Planner, turn: TurnContext) -> None:
    await plan(planner, turn, LONG)
    (process,) = processes()
    process.kill()
    async with asyncio.timeout(WAIT_TIMEOUT):
        while process.is_running():
            await asyncio.sleep(0.01)
    assert not (await plan(planner, turn, LONG)).effect.unchecked


@pytest.mark.parametrize(("program", "why"), [("/bin/false", "did not come up"), ("/missing", "could not be started")])
async def test_a_process_that_cannot_begin_leaves_calls_unchecked(
    planner: Planner, turn: TurnContext, monkeypatch: pytest.MonkeyPatch, program: str, why: str
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    assert why in str((await plan(planner, turn, LONG)).requests[0].opaque)
    monkeypatch.undo()
    assert not (await plan(planner, turn, LONG)).effect.unchecked


async def test_a_check_that_is_stopped_ends_at_once_and_leaves_no_process(planner: Planner, turn: TurnContext) -> None:
    await plan(planner, turn, LONG)
    (process,) = processes()
    process.suspend()
    waiting = [asyncio.create_task(plan(planner, turn, LONG)) for _ in range(3)]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert all(task.cancelled() for task in waiting)
    gone(process)


async def test_it_knows_nothing_of_ours(planner: Planner, turn: TurnContext) -> None:
    await plan(planner, turn, LONG)
    (process,) = processes()
    descriptors = {str(each.readlink()) for each in Path(f"/proc/{process.pid}/fd").iterdir()}
    assert process.environ() == {} and process.cwd() == "/"
    assert not {each for each in descriptors if not each.startswith(("pipe:", "socket:", "anon_inode:", "/dev/null"))}


def test_it_dies_with_its_worker(tmp_path: Path) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    with worker:
        assert worker.stdout is not None
        process = psutil.Process(int(worker.stdout.readline()))
        process.suspend()
        worker.kill()
    gone(process)


def gone(process: psutil.Process) -> None:
    """Whether the process has ended, or soon will."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.wait(WAIT_TIMEOUT)
