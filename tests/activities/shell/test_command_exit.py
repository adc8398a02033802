"""Following a command: all followers notice its end, and see its output on the way."""

import asyncio
import os
import signal

from activities.shell.command_exit import wait_for_exit
from activities.shell.lease import CommandEnd
from activities.shell.supervisor import call_files
from tests.activities.shell.command_rig import CommandRig


async def test_two_followers_both_see_the_end(commands: CommandRig) -> None:
    directory = await commands.start("sleep 0.3; exit 2")
    ends = tuple(await asyncio.gather(commands.end(directory), commands.end(directory)))
    assert ends == (CommandEnd(status=2), CommandEnd(status=2))


async def test_a_follower_that_comes_after_the_end_sees_it_immediately(commands: CommandRig) -> None:
    directory = await commands.start("exit 2")
    assert await commands.end(directory) == await commands.end(directory) == CommandEnd(status=2)


async def test_the_death_of_the_supervisor_is_an_end_without_a_status(commands: CommandRig) -> None:
    directory = await commands.start("sleep 81")
    following = asyncio.create_task(commands.end(directory))
    os.kill(commands.supervisor().pid, signal.SIGKILL)
    assert await following is None


async def test_a_follower_polls_and_renews_the_lease_while_the_command_runs(commands: CommandRig) -> None:
    gate = commands.root / "gate"
    os.mkfifo(gate)
    directory = await commands.start(f"read < {gate}")
    os.utime(directory.path / call_files.RENEWED, (0, 0))
    renewals: list[float] = []

    async def look() -> None:
        renewals.append((directory.path / call_files.RENEWED).stat().st_mtime)
        if len(renewals) == 1:
            await asyncio.to_thread(gate.write_text, "go\n")

    assert await wait_for_exit(directory, look) == CommandEnd(status=0)
    assert renewals[0] > 0


async def test_a_follower_that_gives_up_leaves_the_command_alone(commands: CommandRig) -> None:
    gate = commands.root / "gate"
    os.mkfifo(gate)
    directory = await commands.start(f"read < {gate}; exit 6")
    following = asyncio.create_task(commands.end(directory))
    await asyncio.sleep(0)
    following.cancel()
    await asyncio.wait([following])
    await asyncio.to_thread(gate.write_text, "go\n")
    assert await commands.end(directory) == CommandEnd(status=6)
