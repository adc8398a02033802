"""Replays all recorded histories in one process, in an order of their own: `python -P -m tests.histories.replay SEED`.

A cache of this process, or a history that leaves something behind for the next one, would show (bug B12).
"""

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from worker.assemble import runner
from worker.connect import DATA_CONVERTER
from worker.leaving import leave
from workflows.session import SessionWorkflow

FOLDER: Final = Path(__file__).parent


async def replay(paths: Sequence[Path]) -> list[str]:
    """Replay these histories one after the other; which of them failed, and why."""
    replayer = Replayer(workflows=[SessionWorkflow], data_converter=DATA_CONVERTER, workflow_runner=runner())
    async with replayer.workflow_replay_iterator(_histories(paths)) as results:
        failures = [result.replay_failure async for result in results]
    return [f"{path.name}: {why}" for path, why in zip(paths, failures, strict=True) if why is not None]


async def _histories(paths: Sequence[Path]) -> AsyncIterator[WorkflowHistory]:
    for path in paths:
        yield WorkflowHistory.from_json(f"session/{path.stem}", path.read_text())


def main() -> None:
    recorded = sorted(FOLDER.glob("*.json"))
    random.Random(sys.argv[1]).shuffle(recorded)
    failed = asyncio.run(replay(recorded))
    print("\n".join(failed) or f"{len(recorded)} histories replay")
    leave(1 if failed else 0)


if __name__ == "__main__":
    main()
