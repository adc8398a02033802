"""Only its holder's death releases a lock."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from worker.stack import locks

_HOLD = (
    "import sys, time; from pathlib import Path; from worker.stack import locks; "
    "held = locks.try_acquire(Path(sys.argv[1])); print(held, flush=True); time.sleep(600)"
)


def test_a_held_lock_cannot_be_taken(tmp_path: Path) -> None:
    assert locks.try_acquire(tmp_path / "lock") is not None

    assert locks.try_acquire(tmp_path / "lock") is None


async def test_whoever_waits_is_told_and_gets_the_lock_in_the_end(tmp_path: Path) -> None:
    told, first = asyncio.Event(), locks.try_acquire(tmp_path / "lock")
    assert first is not None

    async def second() -> int:
        async with locks.hold(tmp_path / "lock", told.set) as descriptor:
            return descriptor

    waiting = asyncio.create_task(second())
    await told.wait()
    assert not waiting.done()
    os.close(first)

    assert await waiting


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _HOLD, os.fspath(tmp_path / "lock")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert locks.try_acquire(tmp_path / "lock") is None

        holder.send_signal(signal.SIGKILL)

    assert locks.try_acquire(tmp_path / "lock") is not None


def test_a_child_that_inherits_a_lock_holds_it(tmp_path: Path) -> None:
    descriptor = locks.try_acquire(tmp_path / "lock")
    assert descriptor is not None
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[descriptor]):
        os.close(descriptor)

        assert locks.try_acquire(tmp_path / "lock") is None

    assert locks.try_acquire(tmp_path / "lock") is not None
