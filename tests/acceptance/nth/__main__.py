"""Lose the n-th call of the reference session, for every n: `make faults-nth [ARGS="--kind sql --n 17"]`."""

import argparse
import asyncio
import gc
import logging
import shutil
import sys
import tempfile
from pathlib import Path

from tests import databases
from tests.acceptance import workers
from tests.acceptance.nth.nth_faults import NEVER, CallKind, FaultForm
from tests.acceptance.nth.run_faults import all_passed, faults, run_all, sampled, summary
from tests.acceptance.nth.trial_stack import TrialStack
from tests.conftest import remove, settings_of
from worker.stack.up import up


def places(text: str) -> range:
    """One place, or a range."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make faults-nth ARGS=…", description=__doc__)
    parser.add_argument(
        "--kind", type=CallKind, action="append", choices=list(CallKind), help="whose calls (default: all)"
    )
    parser.add_argument(
        "--form", type=FaultForm, action="append", choices=list(FaultForm), help="how they are lost (all)"
    )
    parser.add_argument("--n", type=places, default=range(1, NEVER), help="only this call, or those of 94-180 (all)")
    parser.add_argument("--trials", type=int, default=sys.maxsize, help="so many, drawn by the seed (all)")
    parser.add_argument("--seed", type=int, default=1, help="decides which are drawn, and their order (1)")
    parser.add_argument("--lanes", type=int, default=2, help="trials side by side (2)")
    return parser.parse_args()


async def main(given: argparse.Namespace, directory: Path) -> bool:
    """Run the trials on a stack made for them; whether all passed."""
    settings = settings_of(directory / "home")
    with workers.fork_server() as fork_server:
        endpoints = await up(settings, print, worker=False)
        try:
            trial_stack = TrialStack(
                settings, endpoints, await databases.template(settings), fork_server, directory / "trials"
            )
            undisturbed = await trial_stack.undisturbed()
            every = faults(undisturbed, given.kind or CallKind, given.form or FaultForm, given.n)
            found = await run_all(trial_stack, undisturbed, sampled(every, given.trials, given.seed), given.lanes)
        finally:
            await remove(settings)
    for line in summary(undisturbed, found, given.seed):
        print(line)
    return bool(found) and all_passed(found)


if __name__ == "__main__":
    scratch = Path(tempfile.mkdtemp(prefix="holdfast-nth-"))
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # a lost connection is expected here
    good = asyncio.run(main(arguments(), scratch))
    gc.collect()  # a Temporal client left at the interpreter's end may abort it
    if good:
        shutil.rmtree(scratch)
    sys.exit(0 if good else 1)
