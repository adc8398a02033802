"""Starting a command: exactly one supervisor runs it, despite competitors and crashes."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from activities.shell.launch import launch
from activities.shell.lease import CommandEnd
from activities.shell.supervisor import call_files
from tests.activities.shell.command_rig import CommandRig
from workflows.domain.errors import ToolError

EFFECT = 'echo "effect $$" >> "$LEDGER"'


async def test_a_command_runs_to_its_end(commands: CommandRig) -> None:
    end = await commands.run("echo out; echo err >&2; exit 3")
    assert end == CommandEnd(status=3)
    assert commands.directory().spool.read_text() == "out\nerr\n"


async def test_a_command_gets_its_environment_and_nothing_else(commands: CommandRig) -> None:
    await commands.run("cat; env | cut -d= -f1 | sort | tr '\\n' ' '; ls /proc/self/fd | wc -l")
    names = "HOLDFAST_CALL_ID LEDGER PATH PWD SHLVL _ "
    assert commands.directory().spool.read_text() == f"{names}4\n"  # 0, 1, 2, and the one that ls opens


async def test_text_beyond_ascii_reaches_the_command_as_it_is(commands: CommandRig) -> None:
    await commands.run("printf 'h\u00e9 \u4e16\U0001f600'")
    assert commands.directory().spool.read_text("utf-8") == "h\u00e9 \u4e16\U0001f600"


async def test_of_racing_supervisors_one_runs_the_command(commands: CommandRig) -> None:
    orders = [commands.start(f"{EFFECT}; sleep 0.1; echo done") for _ in range(6)]
    await asyncio.gather(*orders)
    assert await commands.end(commands.directory()) == CommandEnd(status=0)
    assert len(commands.effects()) == 1
    assert commands.directory().spool.read_text() == "done\n"


async def test_a_later_supervisor_runs_nothing_after_the_end(commands: CommandRig) -> None:
    await commands.run(EFFECT)
    await commands.run(EFFECT)
    assert len(commands.effects()) == 1


async def test_a_lease_without_a_supervisor_keeps_the_command_from_running(commands: CommandRig) -> None:
    directory = commands.directory()
    directory.create()
    assert directory.prevent_start()
    await commands.start(EFFECT)
    assert await commands.end(directory) is None
    assert commands.effects() == []


async def test_a_command_outlives_the_process_that_started_it(commands: CommandRig) -> None:
    gate = commands.root / "gate"
    os.mkfifo(gate)
    commands.directory()
    await asyncio.to_thread(_start_and_die, commands, f"{EFFECT}; echo before; read < {gate}; echo after; exit 4")
    assert commands.supervisor().alive()
    await asyncio.to_thread(gate.write_text, "go\n")
    assert await commands.end(commands.directory()) == CommandEnd(status=4)
    assert commands.directory().spool.read_text() == "before\nafter\n"
    assert len(commands.effects()) == 1


def _start_and_die(commands: CommandRig, command: str) -> None:
    """A process that starts the command and is killed as soon as the start is confirmed."""
    program = (
        "import asyncio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from activities.shell.lease import CallDirectory\n"
        "from activities.shell.supervisor.command_spec import CommandSpec\n"
        "from activities.shell.launch import launch\n"
        "asyncio.run(launch(CallDirectory(Path(sys.argv[1])), CommandSpec.read(sys.stdin.buffer.read())))\n"
        "os.killpg(0, signal.SIGKILL)\n"
    )
    died = subprocess.run(
        [sys.executable, "-c", program, str(commands.directory().path)],
        input=commands.command_spec(command).text(),
        start_new_session=True,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL


async def test_files_on_disk_are_private_and_hold_no_environment(commands: CommandRig) -> None:
    directory = await commands.start("true")
    await commands.end(directory)
    assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.path.iterdir()}
    assert files == dict.fromkeys(
        [call_files.LEASE, call_files.SPOOL, call_files.EXIT_FIFO, call_files.RENEWED, call_files.EXIT], 0o600
    )


async def test_the_command_line_of_a_supervisor_shows_nothing_of_the_command(commands: CommandRig) -> None:
    await commands.start("sleep 60 # secret_word")
    supervisor = psutil.Process(commands.supervisor().pid)
    assert "secret_word" not in " ".join(supervisor.cmdline())
    assert supervisor.environ().keys().isdisjoint({"LEDGER", "HOLDFAST_CALL_ID", "HOME"})


async def test_a_directory_that_vanished_is_reported_by_the_command(commands: CommandRig) -> None:
    command_spec = commands.command_spec("true")
    command_spec.directory = str(commands.root / "gone")
    await launch(commands.directory(), command_spec)
    assert await commands.end(commands.directory()) == CommandEnd(status=126)
    assert "No such file or directory" in commands.directory().spool.read_text()


async def test_a_supervisor_that_cannot_begin_is_an_error_and_leaves_the_lease_free(commands: CommandRig) -> None:
    directory = commands.directory()
    directory.create()
    directory.exit_fifo.unlink()
    directory.exit_fifo.mkdir()
    with pytest.raises(ToolError, match="could not be started, and has not run: IsADirectoryError"):
        await commands.start(EFFECT)
    assert directory.lease() is None
    assert commands.effects() == []


def test_a_supervisor_imports_only_what_starts_fast() -> None:
    program = (
        "import sys; sys.path.append(sys.argv[1]); import activities.shell.supervisor.entrypoint; print(*sys.modules)"
    )
    root = Path(call_files.__file__).parents[3]
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, root], capture_output=True, text=True, check=True
    )
    heavy = {"typing", "dataclasses", "asyncio", "subprocess", "pathlib", "pydantic", "psutil", "logging", "inspect"}
    assert heavy.isdisjoint(loaded.stdout.split())
