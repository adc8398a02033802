"""Ending a command: a stop, or its supervisor's death, leaves nothing of it."""

import asyncio
import os
import signal

import psutil

from activities.shell import termination
from activities.shell.lease import CommandEnd, EndCause, Lease
from tests.activities.shell.command_rig import CALL, CommandRig
from tests.polling import WAIT_TIMEOUT
from workflows.domain.ids import PartId

TREE = (
    "trap '' TERM; setsid sleep 71 & (sleep 72 & disown -a); (trap '' TERM; setsid setsid sleep 73 &) ; "
    'nohup sleep 74 >/dev/null & (setsid bash -c "sleep 75; :" &); echo ready > "$READY"; sleep 76'
)


async def tree(commands: CommandRig, command: str = TREE) -> Lease:
    """A started command with descendants of every kind."""
    ready = commands.root / "ready"
    os.mkfifo(ready)
    await commands.start(f"READY={ready}; {command}")
    assert await asyncio.to_thread(ready.read_text) == "ready\n"
    return commands.lease()


def remaining(call: str = CALL) -> list[list[str]]:
    """The processes with the call's name in their environment."""
    return [process.cmdline() for process in psutil.process_iter() if _named(process, call)]


def _named(process: psutil.Process, call: str) -> bool:
    try:
        return process.environ().get("HOLDFAST_CALL_ID") == call and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def stopped(commands: CommandRig) -> bool:
    end = commands.directory().end()
    return end is not None and end.cause is EndCause.STOPPED


async def test_a_stop_ends_every_descendant(commands: CommandRig) -> None:
    await tree(commands)
    await asyncio.to_thread(termination.stop_command, commands.directory(), CALL)
    assert remaining() == []
    assert not commands.supervisor().alive()
    assert stopped(commands)


async def test_a_stop_before_the_start_keeps_the_command_from_running(commands: CommandRig) -> None:
    lease = await asyncio.to_thread(termination.stop_command, commands.directory(), CALL)
    assert lease == Lease()
    await commands.start('echo effect >> "$LEDGER"')
    assert commands.effects() == []


async def test_a_stop_twice_is_a_stop(commands: CommandRig) -> None:
    await tree(commands)
    stops = (asyncio.to_thread(termination.stop_command, commands.directory(), CALL) for _ in range(2))
    await asyncio.gather(*stops)
    assert remaining() == []
    assert stopped(commands)


async def test_a_stop_after_the_end_changes_the_end_no_more(commands: CommandRig) -> None:
    await commands.run("exit 5")
    await asyncio.to_thread(termination.stop_command, commands.directory(), CALL)
    assert commands.directory().end() == CommandEnd(status=5)


async def test_a_stop_after_the_end_ends_what_runs_in_the_background(commands: CommandRig) -> None:
    directory = await commands.start("setsid sleep 77 & sleep 78 & echo started")
    await commands.end(directory)
    await asyncio.to_thread(termination.stop_command, directory, CALL)
    assert remaining() == []
    assert directory.end() == CommandEnd(status=0, left_running=True)


async def test_what_an_ended_call_has_left_is_ended_and_an_open_call_left_alone(commands: CommandRig) -> None:
    over, running = await commands.start("setsid sleep 81 & echo started"), f"{CALL}_open"
    await commands.end(over)
    other = await commands.start("sleep 82 & sleep 83", call=running)
    for call in (CALL, running, f"{CALL}_unknown"):
        await asyncio.to_thread(termination.end_left_call, commands.root, PartId(call))
    assert remaining() == [] and not commands.supervisor().alive()
    assert len(remaining(running)) >= 2 and other.end() is None
    assert not (commands.root / "calls" / f"{CALL}_unknown").exists()


async def test_a_supervisor_that_is_frozen_is_stopped_all_the_same(commands: CommandRig) -> None:
    await tree(commands)
    os.kill(commands.supervisor().pid, signal.SIGSTOP)
    await asyncio.to_thread(termination.stop_command, commands.directory(), CALL)
    assert remaining() == []
    assert stopped(commands)


async def test_a_killed_supervisor_takes_its_shell_along_and_the_rest_is_killed(commands: CommandRig) -> None:
    lease = await tree(commands)
    os.kill(commands.supervisor().pid, signal.SIGKILL)
    assert await commands.end(commands.directory()) is None
    assert await asyncio.to_thread(commands.shell().wait, WAIT_TIMEOUT)
    await asyncio.to_thread(termination.kill_command, lease, CALL)
    assert remaining() == []


async def test_a_process_that_hides_its_environment_is_found_by_its_group(commands: CommandRig) -> None:
    hidden = 'env -i sleep 79 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; echo ready > "$READY"; wait'
    lease = await tree(commands, hidden)
    os.kill(commands.supervisor().pid, signal.SIGKILL)
    assert await asyncio.to_thread(commands.shell().wait, WAIT_TIMEOUT)
    assert [process.cmdline() for process in termination.remaining_processes(lease, CALL)] == [["sleep", "79"]]
    await asyncio.to_thread(termination.kill_command, lease, CALL)
    assert termination.remaining_processes(lease, CALL) == []


async def test_commands_of_other_calls_are_left_alone(commands: CommandRig) -> None:
    await tree(commands)
    other = await commands.start("sleep 80", call=f"{CALL}_other")
    await asyncio.to_thread(termination.stop_command, commands.directory(), CALL)
    assert len(remaining(f"{CALL}_other")) == 1
    assert other.end() is None
