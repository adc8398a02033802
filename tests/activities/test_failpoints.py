"""Failpoints: armed only in tests, counted over processes, each action as documented."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from activities import failpoints
from activities.failpoints import NAMES, armed_action, configure, during_activity, failpoint, io_failpoint
from tests.activities.conftest import Arm
from tests.polling import wait_until
from workflows.domain.errors import StaleFence, UsageError


def arrivals(folder: Path) -> list[str]:
    return [line.rpartition(" ")[0] for line in (folder / failpoints.ARRIVALS).read_text().splitlines()]


async def test_nothing_happens_and_nothing_is_written_without_the_variable(tmp_path: Path) -> None:
    configure({failpoints.TEST_VARIABLE: str(tmp_path)})
    for name in NAMES:
        await failpoint(name)
    assert list(tmp_path.iterdir()) == []


def test_faults_outside_of_a_test_are_refused() -> None:
    with pytest.raises(UsageError, match="outside of a test"):
        configure({failpoints.VARIABLE: "tool.claimed=kill9"})


@pytest.mark.parametrize(
    "faults",
    [
        *(
            "tool.claimed",
            "tool.claimed=",
            "tool.claimed=explode",
            "tool.nowhere=kill9",
            "=kill9",
            "tool.claimed=kill9@0",
        ),
        *("tool.claimed=raise", "tool.claimed=raise:Nothing", "tool.claimed=raise:print", "tool.claimed=sleep:soon"),
        *("tool.claimed=kill9:now", "tool.claimed=block", "tool.claimed=kill9@1,tool.committed=kill9"),
    ],
)
def test_a_fault_that_means_nothing_is_refused(arm: Arm, faults: str) -> None:
    with pytest.raises(UsageError, match=failpoints.VARIABLE):
        arm(faults)


async def test_a_name_that_the_table_does_not_have_is_a_mistake(arm: Arm) -> None:
    arm("tool.claimed=drop")
    with pytest.raises(LookupError, match="tool.clamed"):
        await failpoint("tool.clamed")


@pytest.mark.parametrize("kind", [ValueError, TimeoutError, StaleFence])
async def test_an_error_is_raised_by_its_name(arm: Arm, kind: type[Exception]) -> None:
    arm(f"tool.claimed=raise:{kind.__name__}")
    with pytest.raises(kind, match="failpoint tool.claimed"):
        await failpoint("tool.claimed")


async def test_only_the_nth_arrival_has_the_fault(arm: Arm, tmp_path: Path) -> None:
    arm("tool.claimed=raise:ValueError@2")
    await failpoint("tool.claimed", "prt_1")
    with pytest.raises(ValueError, match="failpoint"):
        await failpoint("tool.claimed", "prt_2")
    await failpoint("tool.claimed")
    assert arrivals(tmp_path) == ["tool.claimed prt_1", "tool.claimed prt_2", "tool.claimed -"]


async def test_arrivals_count_over_the_processes_of_a_test(arm: Arm) -> None:
    arm("tool.claimed=raise:ValueError@1")
    with pytest.raises(ValueError, match="failpoint"):
        await failpoint("tool.claimed")
    arm("tool.claimed=raise:ValueError@1")  # as the worker that replaces a killed one
    await failpoint("tool.claimed")


async def test_a_fault_of_one_call_meets_no_other(arm: Arm) -> None:
    arm("tool.claimed:prt_2=raise:ValueError@1; tool.committed=drop")
    await failpoint("tool.claimed", "prt_1")
    with pytest.raises(ValueError, match="failpoint"):
        await failpoint("tool.claimed", "prt_2")
    with pytest.raises(ConnectionResetError):
        await failpoint("tool.committed", "prt_1")


async def test_a_dropped_operation_is_not_carried_out(arm: Arm) -> None:
    arm("external.sql=drop")
    done = []
    with pytest.raises(TimeoutError):
        async with io_failpoint("external.sql", cut):
            done.append("it")
    assert done == []


async def test_an_ambiguous_operation_is_carried_out_and_reported_as_failed(arm: Arm) -> None:
    arm("external.sql=ambiguous")
    done = []
    with pytest.raises(TimeoutError):
        async with io_failpoint("external.sql", cut):
            done.append("it")
    assert done == ["it"]


async def test_an_operation_without_a_fault_is_carried_out(arm: Arm) -> None:
    arm("tool.claimed=drop")
    done = []
    async with io_failpoint("external.sql", cut):
        done.append("it")
    assert done == ["it"]


async def test_operations_are_counted_per_activity(arm: Arm, tmp_path: Path) -> None:
    arm("external.sql:*=drop@2")
    async with io_failpoint("external.sql", cut):
        pass
    with during_activity("holdfast.tools.run"):
        async with io_failpoint("external.sql", cut):
            pass
        with pytest.raises(TimeoutError):
            await asyncio.create_task(operation())
    assert arrivals(tmp_path) == [
        "external.sql -",
        "external.sql holdfast.tools.run",
        "external.sql holdfast.tools.run",
    ]


async def operation() -> None:
    async with io_failpoint("external.sql", cut):
        raise AssertionError("it was to be dropped")


async def cut() -> None:
    raise TimeoutError


async def test_a_blocked_point_reports_that_it_is_reached_and_waits(arm: Arm, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    arm(f"tool.claimed=block:{gate}")
    arrived = asyncio.create_task(failpoint("tool.claimed"))
    await asyncio.sleep(0)
    assert (tmp_path / "gate.reached").exists()
    assert not arrived.done()
    gate.touch()
    await arrived


async def test_a_deaf_point_waits_although_it_is_cancelled(arm: Arm, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    arm(f"tool.claimed=deaf:{gate}")
    arrived = asyncio.create_task(failpoint("tool.claimed"))
    await wait_until((tmp_path / "gate.reached").exists)
    for _ in range(2):
        arrived.cancel()
        await asyncio.wait([arrived], timeout=0.05)
    assert not arrived.done()
    gate.touch()
    await arrived
    assert arrived.cancelling() == 0


async def test_a_point_may_sleep(arm: Arm) -> None:
    arm("tool.claimed=sleep:20")
    begun = time.monotonic()
    await failpoint("tool.claimed")
    assert time.monotonic() - begun > 0.019


def test_a_point_of_another_process_returns_its_action(arm: Arm, tmp_path: Path) -> None:
    arm("supervisor.leased=kill9@2")
    assert [armed_action("supervisor.leased", "prt_1") for _ in range(3)] == [None, "kill9", None]
    assert len(arrivals(tmp_path)) == 3


def test_a_process_dies_at_its_armed_point(tmp_path: Path) -> None:
    died = subprocess.run(arriving(tmp_path, "kill9"), stdout=subprocess.PIPE, check=False)
    assert (died.returncode, died.stdout) == (-signal.SIGKILL, b"before\n")
    assert arrivals(tmp_path) == ["tool.claimed prt_1"]


def test_a_process_stops_at_its_armed_point(tmp_path: Path) -> None:
    with subprocess.Popen(arriving(tmp_path, "stop"), stdout=subprocess.PIPE) as stopped:
        assert stopped.stdout is not None
        assert stopped.stdout.readline() == b"before\n"
        assert os.WIFSTOPPED(os.waitpid(stopped.pid, os.WUNTRACED)[1])
        stopped.send_signal(signal.SIGCONT)
        assert stopped.stdout.readline() == b"after\n"


def arriving(folder: Path, action: str) -> list[str]:
    """The command line of a process that arrives at a point with this action."""
    program = (
        "import asyncio, sys\n"
        "from activities.failpoints import configure, failpoint\n"
        "configure({'HOLDFAST_FAILPOINTS': sys.argv[1], 'HOLDFAST_TEST_PROCESS': sys.argv[2]})\n"
        "print('before', flush=True)\n"
        "asyncio.run(failpoint('tool.claimed', 'prt_1'))\n"
        "print('after', flush=True)\n"
    )
    return [sys.executable, "-c", program, f"tool.claimed={action}@1", str(folder)]
