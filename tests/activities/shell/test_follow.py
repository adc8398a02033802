"""Following a command: its end is noticed, by as many as follow it, and its output shown on the way."""

import asyncio
import os
import signal

from activities.shell.follow import follow
from activities.shell.lease import End
from activities.shell.supervisor import layout
from tests.activities.shell.commands import Commands


async def test_two_followers_both_see_the_end(commands: Commands) -> None:
    directory = await commands.start("sleep 0.3; exit 2")
    ends = tuple(await asyncio.gather(commands.end(directory), commands.end(directory)))
    assert ends == (End(status=2), End(status=2))


async def test_a_follower_that_comes_after_the_end_sees_it_at_once(commands: Commands) -> None:
    directory = await commands.start("exit 2")
    assert await commands.end(directory) == await commands.end(directory) == End(status=2)


async def test_the_death_of_the_supervisor_is_an_end_without_a_status(commands: Commands) -> None:
    directory = await commands.start("sleep 81")
    following = asyncio.create_task(commands.end(directory))
    os.kill(commands.keeper().pid, signal.SIGKILL)
    assert await following is None


async def test_a_follower_looks_while_the_command_runs_and_renews_the_lease(commands: Commands) -> None:
    gate = commands.root / "gate"
    os.mkfifo(gate)
    directory = await commands.start(f"read < {gate}")
    os.utime(directory.path / layout.RENEWED, (0, 0))
    renewals: list[float] = []

    async def look() -> None:
        renewals.append((directory.path / layout.RENEWED).stat().st_mtime)
        if len(renewals) == 1:
            await asyncio.to_thread(gate.write_text, "go\n")

    assert await follow(directory, look) == End(status=0)
    assert renewals[0] > 0


async def test_a_follower_that_gives_up_leaves_the_command_alone(commands: Commands) -> None:
    gate = commands.root / "gate"
    os.mkfifo(gate)
    directory = await commands.start(f"read < {gate}; exit 6")
    following = asyncio.create_task(commands.end(directory))
    await asyncio.sleep(0)
    following.cancel()
    await asyncio.wait([following])
    await asyncio.to_thread(gate.write_text, "go\n")
    assert await commands.end(directory) == End(status=6)
