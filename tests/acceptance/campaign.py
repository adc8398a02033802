"""A campaign: trials with faults in parallel lanes, each compared with an undisturbed one, and counted."""

import argparse
import asyncio
import logging
import shutil
import signal
import sys
import tempfile
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from tests.acceptance.fault_counts import FaultCounts, FaultResult
from tests.acceptance.invariants import violations
from tests.acceptance.outline import difference, outline
from tests.acceptance.records import TrialRecords
from tests.acceptance.trial import Trial

_LONGEST: Final = 300.0  # seconds: a safety net for a hanging trial
_PROGRESS: Final = 25  # trials between two lines of progress


class Fault(Protocol):
    """A planned fault, which its text names; `again`: the command that repeats it."""

    @property
    def again(self) -> str: ...


F = TypeVar("F", bound=Fault)


@dataclass
class Campaign(Generic[F]):
    """Trials to come and results. `folder` holds the failures' evidence; passed trials leave none."""

    folder: Path
    todo: deque[F]
    results: list[tuple[F, FaultResult]] = field(default_factory=list)

    def end_after(self, minutes: float) -> None:
        """After these minutes, or SIGTERM, no trial begins."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.todo.clear)
        loop.call_later(60 * minutes, self.todo.clear)

    async def play(self, run: Callable[[F, Path], Awaitable[FaultResult]]) -> None:
        """One lane: run trials in turn, in their own directories, as long as there are any."""
        while self.todo:
            fault = self.todo.popleft()
            directory = self.folder / str(fault).replace(" ", "-")
            directory.mkdir(parents=True)
            try:
                async with asyncio.timeout(_LONGEST):
                    result = await run(fault, directory)
            except Exception:  # this trial's failure: others go on
                result = FaultResult(fired=True, problems=[traceback.format_exc()])
            self.results.append((fault, result))
            if result.passed:
                await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
            else:
                report(fault, result, directory)
            if len(self.results) % _PROGRESS == 0:
                print(f"so far {self.counts()}", flush=True)

    def counts(self, belongs: Callable[[F], bool] = lambda _: True) -> FaultCounts:
        return FaultCounts.of([result for fault, result in self.results if belongs(fault)])


def arguments(target: str, about: str | None, lanes: int) -> argparse.ArgumentParser:
    """What all campaigns take."""
    parser = argparse.ArgumentParser(prog=f'make {target} ARGS="..."', usage="%(prog)s", description=about)
    parser.add_argument("--seed", type=int, default=1, help="decides which trials are drawn (default: 1)")
    parser.add_argument("--trials", type=int, help="how many in all (default: one of each)")
    parser.add_argument("--minutes", type=float, default=24 * 60, help="begin no trial after so long")
    parser.add_argument("--lanes", type=int, default=lanes, help=f"trials side by side (default: {lanes})")
    parser.add_argument("--folder", type=Path, help="where failures are kept (default: a temporary one)")
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """What was typed, with the folder."""
    given = parser.parse_args()
    given.folder = given.folder or Path(tempfile.mkdtemp(prefix="holdfast-trials-"))
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # an unreachable database is expected here
    return given


def report(fault: Fault, result: FaultResult, directory: Path) -> None:
    """Print what did not pass immediately: where its evidence is, and how to repeat it."""
    (directory / "problems.txt").write_text("\n".join([repr(fault), *result.problems]) + "\n")
    what = "FAILED" if result.problems else "NOT FIRED"
    print(f"{what} {fault}; kept in {directory}; repeat: {fault.again}", file=sys.stderr)
    for problem in result.problems:
        print(f"  {problem[:1000]}", file=sys.stderr)


async def undisturbed_outline(trial: Trial) -> list[str]:
    """What comes of the sessions of a trial without a fault."""
    records = await trial.records()
    assert violations(records) == []
    return outline(records, trial.harness.project)


async def fault_result(
    trial: Trial,
    expected: Sequence[str],
    *,
    seen: Sequence[str] = (),
    ignored: str = "",
    healed: datetime | None = None,
) -> FaultResult:
    """The result of a trial whose fault has fired: what was `seen` to be wrong, violations but of `ignored`, and
    differences from the undisturbed outline. If there are any, it reports."""
    records = await trial.records()
    violated = [str(each) for each in violations(records) if each.invariant != ignored]
    problems = [*seen, *violated, *difference(expected, outline(records, trial.harness.project))]
    if problems:
        await trial.report()
    return FaultResult(fired=True, problems=problems, recovery=recovery(records, healed) if healed else None)


def recovery(records: TrialRecords, healed: datetime) -> float | None:
    """Seconds until a session has gone on; None if nothing was left to do."""
    moments = [datetime.fromisoformat(record.at) for session in records.sessions for record in session.log]
    later = [at for at in moments if at > healed]
    return (min(later) - healed).total_seconds() if later else None
