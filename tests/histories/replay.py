"""Replays all recorded histories in one process, in a seeded order: `python -P -m tests.histories.replay SEED`.

It shows caches of the process, and what one history leaves behind for the next (bug B12).
"""

import asyncio
import hashlib
import random
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from worker.assemble import WORKFLOWS, workflow_runner
from worker.connect import DATA_CONVERTER
from worker.exit_process import exit_process

FOLDER: Final = Path(__file__).parent
DIGESTS: Final = FOLDER / "digests.txt"  # of all recorded files, as sha256sum prints them


def recorded() -> list[Path]:
    """The recorded histories of all releases; each release has a folder."""
    return sorted(FOLDER.glob("*/*.json"))


def digests() -> dict[Path, str]:
    """The SHA-256 of each history, as it was recorded."""
    lines = (line.split() for line in DIGESTS.read_text().splitlines()) if DIGESTS.exists() else ()
    return {FOLDER / name: digest for digest, name in lines}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def replay(paths: Sequence[Path]) -> list[str]:
    """Replay these histories in turn; the failed ones, and why."""
    replayer = Replayer(workflows=WORKFLOWS, data_converter=DATA_CONVERTER, workflow_runner=workflow_runner())
    async with replayer.workflow_replay_iterator(_histories(paths)) as results:
        failures = [result.replay_failure async for result in results]
    return [f"{path.name}: {why}" for path, why in zip(paths, failures, strict=True) if why is not None]


async def _histories(paths: Sequence[Path]) -> AsyncIterator[WorkflowHistory]:
    for path in paths:
        yield WorkflowHistory.from_json(path.stem, path.read_text())


def main() -> None:
    paths = recorded()
    random.Random(sys.argv[1]).shuffle(paths)
    failed = asyncio.run(replay(paths))
    print("\n".join(failed) or f"{len(paths)} histories replay")
    exit_process(1 if failed else 0)


if __name__ == "__main__":
    main()
