"""The supervisor: time, output, and what a command leaves behind."""

import asyncio
import os
import resource
import select
import signal
import sys

import psutil

from activities.shell.lease import CommandEnd, EndCause
from tests.activities.shell.command_rig import CommandRig
from tests.polling import WAIT_TIMEOUT, wait_until

MEGABYTE = 1_000_000
LONG_ENOUGH = 2.0  # seconds for a shell to come to its traps, on a busy machine too


async def test_a_command_over_its_time_is_ended_with_its_group(commands: CommandRig) -> None:
    end = await commands.run("sleep 61 & echo begun; sleep 62", timeout=LONG_ENOUGH)
    assert end == CommandEnd(status=-signal.SIGTERM, cause=EndCause.TIMEOUT, limit=LONG_ENOUGH)
    assert commands.directory().spool.read_text() == "begun\n"
    assert running("sleep 61", "sleep 62") == []


async def test_a_command_that_ignores_its_time_limit_is_killed(commands: CommandRig) -> None:
    command = "trap '' TERM; setsid sleep 63 & while :; do sleep 64; done"
    end = await commands.run(command, timeout=LONG_ENOUGH)
    assert end == CommandEnd(status=-signal.SIGKILL, cause=EndCause.TIMEOUT, limit=LONG_ENOUGH)
    assert running("sleep 63", "sleep 64") == []


async def test_a_stopped_process_cannot_sit_its_time_out(commands: CommandRig) -> None:
    end = await commands.run("kill -STOP $$", timeout=0.2)
    assert end == CommandEnd(status=-signal.SIGTERM, cause=EndCause.TIMEOUT, limit=0.2)


async def test_a_command_that_tidies_up_at_the_end_of_its_time_is_still_over_time(commands: CommandRig) -> None:
    end = await commands.run("trap 'echo tidy; exit 0' TERM; while :; do sleep 0.1; done", timeout=LONG_ENOUGH)
    assert end == CommandEnd(status=0, cause=EndCause.TIMEOUT, limit=LONG_ENOUGH)
    assert commands.directory().spool.read_text().endswith("tidy\n")


async def test_the_call_is_over_when_the_shell_is_though_a_child_holds_the_pipe(commands: CommandRig) -> None:
    directory = await commands.start("sleep 65 & echo started")
    assert await commands.end(directory) == CommandEnd(status=0, left_running=True)
    assert directory.spool.read_text() == "started\n"
    await wait_until(lambda: len(running("sleep 65")) == 1)  # it may not have become one when its shell had ended


async def test_a_background_child_may_go_on_writing_after_the_call(commands: CommandRig) -> None:
    gate, wrote = commands.root / "gate", commands.root / "wrote"
    command = f"mkfifo {gate} {wrote}; (read < {gate}; seq 100000; echo $? > {wrote}) & echo started"
    directory = await commands.start(command)
    await commands.end(directory)
    await asyncio.to_thread(gate.write_text, "go\n")
    assert await asyncio.to_thread(wrote.read_text) == "0\n"
    assert directory.spool.read_text() == "started\n"


async def test_the_supervisor_exits_with_the_last_of_its_processes(commands: CommandRig) -> None:
    gate = commands.root / "gate"
    directory = await commands.start(f"mkfifo {gate}; setsid cat {gate} & echo started")
    supervisor = commands.supervisor()
    await commands.end(directory)
    assert supervisor.alive()
    await asyncio.to_thread(gate.write_text, "go\n")
    assert await asyncio.to_thread(supervisor.wait, WAIT_TIMEOUT)


async def test_endless_output_ends_the_command_at_the_cap(commands: CommandRig) -> None:
    end = await commands.run("yes", spool=MEGABYTE)
    assert end == CommandEnd(status=-signal.SIGTERM, cause=EndCause.OVERFLOW, limit=MEGABYTE)
    assert commands.directory().spool.stat().st_size == MEGABYTE


async def test_output_of_exactly_the_cap_is_no_overflow(commands: CommandRig) -> None:
    end = await commands.run(f"head -c {MEGABYTE} /dev/zero", spool=MEGABYTE)
    assert end == CommandEnd(status=0)


async def test_all_of_a_large_output_is_kept_up_to_the_last_byte(commands: CommandRig) -> None:
    end = await commands.run("head -c 200000000 /dev/zero; printf end", spool=3e8)
    assert end == CommandEnd(status=0)
    assert commands.directory().spool.stat().st_size == 200_000_003


async def test_output_in_the_pipe_at_the_end_of_the_shell_is_kept(commands: CommandRig) -> None:
    gate = commands.root / "gate"
    os.mkfifo(gate)
    write = f"import fcntl, os; fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, {MEGABYTE}); os.write(1, b'x' * 500000)"
    directory = await commands.start(f'read < {gate}; exec {sys.executable} -c "{write}"')
    os.kill(commands.supervisor().pid, signal.SIGSTOP)
    await asyncio.to_thread(gate.write_text, "go\n")
    assert await asyncio.to_thread(commands.shell().wait, 60)
    os.kill(commands.supervisor().pid, signal.SIGCONT)
    assert await commands.end(directory) == CommandEnd(status=0)
    assert directory.spool.stat().st_size == 500_000


async def test_a_supervisor_needs_little_memory_for_any_amount_of_output(commands: CommandRig) -> None:
    written = commands.root / "written"
    os.mkfifo(written)
    with written.open("r+b", buffering=0) as told:
        await commands.start(f"head -c 100000000 /dev/zero; echo > {written}; sleep 68", spool=3e8)
        ready, _, _ = await asyncio.to_thread(select.select, [told], [], [], 60)
    assert ready and psutil.Process(commands.supervisor().pid).memory_info().rss < 40 * MEGABYTE


async def test_a_command_without_a_follower_is_ended(commands: CommandRig) -> None:
    directory = await commands.start("sleep 66", lease=0.2)
    await wait_until(lambda: directory.end() is not None)
    assert directory.end() == CommandEnd(status=-signal.SIGTERM, cause=EndCause.ABANDONED, limit=0.2)


async def test_a_command_that_is_followed_is_not_ended(commands: CommandRig) -> None:
    directory = await commands.start("sleep 3; echo done", lease=2)
    assert await commands.end(directory) == CommandEnd(status=0)


async def test_a_full_disk_cuts_the_output_and_is_reported(commands: CommandRig) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEGABYTE, before[1]))
    try:
        directory = await commands.start("yes | head -c 3000000; echo done > $LEDGER")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert await commands.end(directory) == CommandEnd(status=0, write_error="File too large")
    assert commands.effects() == ["done"]


async def test_a_killed_command_reports_its_signal(commands: CommandRig) -> None:
    assert await commands.run("echo before; kill -9 $$") == CommandEnd(status=-signal.SIGKILL)


async def test_a_supervisor_is_not_ended_like_an_ordinary_process(commands: CommandRig) -> None:
    end = await commands.run("kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; echo still here")
    assert end == CommandEnd(status=0)
    assert commands.directory().spool.read_text() == "still here\n"


def running(*commands: str) -> list[str]:
    """Which of these command lines run; their numbers are this file's own."""
    found = (" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
    return [line for line in found if line in commands]
