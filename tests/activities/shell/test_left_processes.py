"""What ended calls have left running is found, whatever it has done to get away, and nothing else is."""

import subprocess

from activities.shell.left_processes import find_left
from tests.activities.shell.command_rig import CALL, SESSION, CommandRig
from tests.polling import wait_until

DETACHED = "(setsid setsid sleep 91 &) ; (nohup sleep 92 >/dev/null & disown -a) ; echo started"


def commands_left(commands: CommandRig) -> list[str]:
    return sorted(each.command for each in find_left(commands.root))


async def test_processes_that_have_left_their_group_and_parent_are_found(commands: CommandRig) -> None:
    end = await commands.end(await commands.start(DETACHED))
    assert end is not None and end.left_running
    await wait_until(lambda: commands_left(commands) == ["sleep 91", "sleep 92"])  # once each has become one
    assert {(each.session, each.call) for each in find_left(commands.root)} == {(SESSION, CALL)}


async def test_a_command_that_runs_has_left_nothing_yet_nor_has_one_that_is_over(commands: CommandRig) -> None:
    await commands.start("sleep 93 & sleep 94")
    end = await commands.end(await commands.start("(sleep 0.01 &) ; wait; sleep 0.1", call=f"{CALL}_over"))
    assert end is not None and not end.left_running
    assert commands_left(commands) == []


async def test_another_process_that_looks_like_a_supervisor_is_not_believed(commands: CommandRig) -> None:
    await commands.run("true")
    arguments = ["bash", "-c", "echo; read", str(commands.directory().path), "order-1"]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as alike:
        assert alike.stdout is not None and alike.stdout.readline()
        assert commands_left(commands) == []
