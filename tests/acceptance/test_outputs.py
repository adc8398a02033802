"""Outputs of any size and form: a preview in the transcript, all of it by reference (row 39, B10, B11)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE
from worker.scripted.script import DEFAULT_SCRIPT, Script, ScriptedAnswer, ScriptedCall
from workflows.domain.messages import CallState, ToolPart

pytestmark = pytest.mark.acceptance

MEGABYTE = 1_000_000
SPOOL = 50 * 1024 * 1024  # bytes after which a command is ended (docs/faults.md)
SHOWN = 60_000  # characters of a preview at most, with what is said around it
GROWTH = 100 * MEGABYTE  # bytes of a worker's memory (reliability.md 7)
STEPS = 25
PER_STEP = 2_350  # bytes of history: 2.2 KB, and 0.1 for the positions by which a step finds its log put back
LINES = "yes 0123456789012345678901234567890123456789012345678 | head -c"
SIZES = {"1.9": 1.9, "2.0": 2.097152, "2.1": 2.1, "8": 8.0}  # in megabytes; 2.097152 is Temporal's own limit
COMMANDS = {
    **{size: (f"{LINES} {int(number * MEGABYTE)}", int(number * MEGABYTE)) for size, number in SIZES.items()},
    "binary": ("seq 2000000 | gzip | head -c 2500000", 2_500_000),
    "one line": ("yes x | tr -d '\\n' | head -c 3000000", 3_000_000),
    "a million lines": ("seq 1000000", 6_888_896),
    "invalid UTF-8": ("yes x | tr 'x\\n' '\\377\\376' | head -c 2500000", 2_500_000),
}


def shell(command: str) -> ScriptedAnswer:
    return ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": command}),))


def kept(call: ToolPart) -> Path:
    """The file with a call's whole output."""
    assert call.outcome is not None and len(call.outcome.output) <= SHOWN
    return Path(str(call.outcome.metadata["outputPath"]))


async def test_row_39_outputs_of_any_size_and_form_are_shown_in_part_and_kept_whole(open_trial: Open) -> None:
    commands = [*(command for command, _ in COMMANDS.values()), f"{LINES} {200 * MEGABYTE}"]
    scripts = {DEFAULT_SCRIPT: Script(answers=(*map(shell, commands), DONE)), "warm": Script(answers=(DONE,))}
    async with open_trial(scripts=scripts) as trial:
        worker = await trial.worker()
        await trial.harness.ended(await trial.start_session("[[script:warm]] Hello?"))
        async with memory(worker.process) as seen:
            session = await trial.start_session("Run them.")
            await trial.harness.ended(session)
        *calls, loudest = await trial.harness.calls(session)
        history = await trial.harness.history(session)
    assert [kept(call).stat().st_size for call in calls] == [size for _, size in COMMANDS.values()]
    assert [call.state for call in calls] == [CallState.DONE] * len(COMMANDS)
    assert loudest.outcome is not None and f"after it had written {SPOOL} bytes" in loudest.outcome.output
    assert kept(loudest).stat().st_size == SPOOL
    assert max(seen) - seen[0] < GROWTH and max(steps(history)) <= PER_STEP


async def test_b11_a_step_costs_as_much_history_at_the_end_of_a_long_talk_as_at_its_beginning(open_trial: Open) -> None:
    reads = [
        ScriptedCall(name="read", arguments={"filePath": "a.txt", "offset": 1 + number}) for number in range(STEPS)
    ]
    async with open_trial(*(ScriptedAnswer(tools=(call,)) for call in reads), DONE) as trial:
        trial.harness.file("a.txt", "".join(f"line {number} of a long file\n" for number in range(3000)))
        session = await trial.played("Read it, again and again.")
        calls = await trial.harness.calls(session)
        sizes = steps(await trial.harness.history(session))
    assert len(sizes) == STEPS and all(len(call.outcome.output) > 40_000 for call in calls if call.outcome)
    assert max(sizes) <= PER_STEP and sum(sizes[-10:]) <= 1.05 * sum(sizes[:10])


def steps(history: WorkflowHistory) -> list[int]:
    """The history bytes of each step with a call."""
    asks = [place for place, event in enumerate(history.events) if activity(event) == "holdfast.model.generate"]
    return [sum(event.ByteSize() for event in history.events[one:other]) for one, other in pairwise(asks)]


def activity(event: HistoryEvent) -> str:
    return event.activity_task_scheduled_event_attributes.activity_type.name


@asynccontextmanager
async def memory(process: psutil.Process) -> AsyncIterator[list[int]]:
    """What a process has of memory while the block runs, again and again; the first is from before it."""
    seen = [process.memory_info().rss]

    async def look() -> None:
        while True:
            seen.append(process.memory_info().rss)
            await asyncio.sleep(0.05)

    looking = asyncio.create_task(look())
    try:
        yield seen
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
