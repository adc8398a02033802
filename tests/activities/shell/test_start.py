"""Starting a command: one supervisor runs it, whoever else tries, and whatever dies."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from activities.shell.lease import End
from activities.shell.start import start
from activities.shell.supervisor import layout
from tests.activities.shell.commands import Commands
from workflows.domain.errors import ToolError

EFFECT = 'echo "effect $$" >> "$LEDGER"'


async def test_a_command_runs_to_its_end(commands: Commands) -> None:
    end = await commands.run("echo out; echo err >&2; exit 3")
    assert end == End(status=3)
    assert commands.directory().spool.read_text() == "out\nerr\n"


async def test_a_command_gets_its_environment_and_nothing_else(commands: Commands) -> None:
    await commands.run("cat; env | cut -d= -f1 | sort | tr '\\n' ' '; ls /proc/self/fd | wc -l")
    names = "HOLDFAST_CALL_ID LEDGER PATH PWD SHLVL _ "
    assert commands.directory().spool.read_text() == f"{names}4\n"  # 0, 1, 2, and the one that ls opens


async def test_text_beyond_ascii_reaches_the_command_as_it_is(commands: Commands) -> None:
    await commands.run("printf 'h\u00e9 \u4e16\U0001f600'")
    assert commands.directory().spool.read_text("utf-8") == "h\u00e9 \u4e16\U0001f600"


async def test_of_racing_supervisors_one_runs_the_command(commands: Commands) -> None:
    orders = [commands.start(f"{EFFECT}; sleep 0.1; echo done") for _ in range(6)]
    await asyncio.gather(*orders)
    assert await commands.end(commands.directory()) == End(status=0)
    assert len(commands.effects()) == 1
    assert commands.directory().spool.read_text() == "done\n"


async def test_a_later_supervisor_runs_nothing_after_the_end(commands: Commands) -> None:
    await commands.run(EFFECT)
    await commands.run(EFFECT)
    assert len(commands.effects()) == 1


async def test_a_lease_taken_for_nobody_keeps_the_command_from_running(commands: Commands) -> None:
    directory = commands.directory()
    directory.create()
    assert directory.forbid()
    await commands.start(EFFECT)
    assert await commands.end(directory) is None
    assert commands.effects() == []


async def test_a_command_outlives_the_process_that_started_it(commands: Commands) -> None:
    gate = commands.root / "gate"
    os.mkfifo(gate)
    commands.directory()
    await asyncio.to_thread(_start_and_die, commands, f"{EFFECT}; echo before; read < {gate}; echo after; exit 4")
    assert commands.keeper().alive()
    await asyncio.to_thread(gate.write_text, "go\n")
    assert await commands.end(commands.directory()) == End(status=4)
    assert commands.directory().spool.read_text() == "before\nafter\n"
    assert len(commands.effects()) == 1


def _start_and_die(commands: Commands, command: str) -> None:
    """A process that starts the command and is killed in the moment in which it knows."""
    program = (
        "import asyncio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from activities.shell.lease import CallDirectory\n"
        "from activities.shell.supervisor.order import Order\n"
        "from activities.shell.start import start\n"
        "asyncio.run(start(CallDirectory(Path(sys.argv[1])), Order.read(sys.stdin.buffer.read())))\n"
        "os.killpg(0, signal.SIGKILL)\n"
    )
    died = subprocess.run(
        [sys.executable, "-c", program, str(commands.directory().path)],
        input=commands.order(command).text(),
        start_new_session=True,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL


async def test_what_lies_on_the_disk_is_private_and_holds_no_environment(commands: Commands) -> None:
    directory = await commands.start("true")
    await commands.end(directory)
    assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.path.iterdir()}
    assert files == dict.fromkeys([layout.LEASE, layout.SPOOL, layout.BELL, layout.RENEWED, layout.EXIT], 0o600)


async def test_the_command_line_of_a_supervisor_shows_nothing_of_the_command(commands: Commands) -> None:
    await commands.start("sleep 60 # secret_word")
    keeper = psutil.Process(commands.keeper().pid)
    assert "secret_word" not in " ".join(keeper.cmdline())
    assert keeper.environ().keys().isdisjoint({"LEDGER", "HOLDFAST_CALL_ID", "HOME"})


async def test_a_directory_that_vanished_is_told_by_the_command(commands: Commands) -> None:
    order = commands.order("true")
    order.directory = str(commands.root / "gone")
    await start(commands.directory(), order)
    assert await commands.end(commands.directory()) == End(status=126)
    assert "No such file or directory" in commands.directory().spool.read_text()


async def test_a_supervisor_that_cannot_begin_is_an_error_and_leaves_the_lease_free(commands: Commands) -> None:
    directory = commands.directory()
    directory.create()
    directory.bell.unlink()
    directory.bell.mkdir()
    with pytest.raises(ToolError, match="could not be started, and has not run: IsADirectoryError"):
        await commands.start(EFFECT)
    assert directory.lease() is None
    assert commands.effects() == []


def test_a_supervisor_imports_only_what_starts_fast() -> None:
    program = (
        "import sys; sys.path.append(sys.argv[1]); import activities.shell.supervisor.supervise; print(*sys.modules)"
    )
    root = Path(layout.__file__).parents[3]
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, root], capture_output=True, text=True, check=True
    )
    heavy = {"typing", "dataclasses", "asyncio", "subprocess", "pathlib", "pydantic", "psutil", "logging", "inspect"}
    assert heavy.isdisjoint(loaded.stdout.split())
