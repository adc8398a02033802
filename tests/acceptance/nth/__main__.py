"""Lose the n-th call of the reference session, for every n: `make faults-nth [ARGS="--kind sql --n 17"]`."""

import argparse
import asyncio
import shutil
import sys
from collections import deque

from tests.acceptance import workers
from tests.acceptance.campaign import Campaign, arguments, parsed
from tests.acceptance.nth.nth_faults import CallKind, FaultForm, NthFault
from tests.acceptance.nth.run_trial import NthTrials, sampled
from tests.acceptance.stacks import SharedStack
from tests.conftest import new_home, settings_of
from worker.exit_process import exit_process


def numbers(text: str) -> range:
    """One number, or a range."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def read_arguments() -> argparse.Namespace:
    parser = arguments("faults-nth", __doc__, lanes=2)
    kinds, forms = list(CallKind), list(FaultForm)
    parser.add_argument("--kind", type=CallKind, action="append", choices=kinds, help="whose calls (default: all)")
    parser.add_argument("--form", type=FaultForm, action="append", choices=forms, help="how they are lost (all)")
    parser.add_argument("--n", type=numbers, help="only this call, or those of 94-180 (all)")
    return parsed(parser)


async def main(given: argparse.Namespace) -> bool:
    """Run the trials on a stack made for them; whether all ended as undisturbed.

    A call may be missing, as the clock decides how often a command is polled.
    """
    with workers.fork_server() as fork_server:
        async with SharedStack.running(settings_of(new_home()), fork_server) as stack:
            trials = NthTrials(stack)
            await trials.count(given.folder / "undisturbed")
            shutil.rmtree(given.folder / "undisturbed")
            every = trials.faults(given.kind or CallKind, given.form or FaultForm, given.n)
            drawn = sampled(every, given.trials or sys.maxsize, given.seed)
            campaign: Campaign[NthFault] = Campaign(given.folder, deque(drawn))
            campaign.end_after(given.minutes)
            await asyncio.gather(*(campaign.play(trials.run) for _ in range(given.lanes)))
    for kind in CallKind:
        print(f"{kind:9} {len(trials.calls[kind]):4} calls; {campaign.counts(kind.covers)}")
    print(f"n-th call, seed {given.seed}: {campaign.counts()}")
    return bool(drawn) and campaign.counts().sound


if __name__ == "__main__":
    exit_process(0 if asyncio.run(main(read_arguments())) else 1)
