"""Trials of many faults in parallel lanes; a line per kind, and a summary."""

import asyncio
import random
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final

from tests.acceptance.nth.nth_faults import NEVER, CallKind, FaultForm, NthFault
from tests.acceptance.nth.trial_stack import Baseline, FaultResult, TrialStack

_MISSED: Final = 0.02  # of the trials may not fire (reliability.md 9)
_TOLD: Final = 25  # trials between two lines of progress


def faults(
    undisturbed: Baseline,
    kinds: Iterable[CallKind] = CallKind,
    forms: Iterable[FaultForm] = FaultForm,
    places: Container[int] = range(1, NEVER),
) -> list[NthFault]:
    """Every fault of these kinds and forms at these places, which count from 1."""
    wanted = set(forms)
    return [
        NthFault(kind, form, place)
        for kind in kinds
        for place in range(1, len(undisturbed.calls[kind]) + 1)
        for form in kind.forms
        if form in wanted and place in places
    ]


def sampled(every: Sequence[NthFault], count: int, seed: int) -> list[NthFault]:
    """`count` of them, evenly spread, starting by the seed; another number of calls shifts them little."""
    stride = max(1.0, len(every) / count)
    first = random.Random(seed).random() * stride
    return [every[int(first + stride * place)] for place in range(min(count, len(every)))]


async def run_all(
    trial_stack: TrialStack, undisturbed: Baseline, wanted: Iterable[NthFault], lanes: int
) -> list[FaultResult]:
    """A trial per fault, in `lanes` lanes."""
    waiting = iter(wanted)
    found: list[FaultResult] = []

    async def lane() -> None:
        for fault in waiting:
            found.append(await trial_stack.disturbed(fault, undisturbed))
            for line in describe_result(found[-1]):
                print(line, flush=True)
            if len(found) % _TOLD == 0:
                print(f"{len(found)} trials so far: {_verdict(found)}", flush=True)

    await asyncio.gather(*(lane() for _ in range(lanes)))
    return found


def describe_result(finding: FaultResult) -> Iterator[str]:
    """What helps to find a failure's cause; empty without one."""
    if finding.fired and not finding.problems:
        return
    fault = finding.fault
    yield f"{fault}: {'' if finding.fired else 'did not fire; '}see {finding.directory}; again with:"
    yield f"  make faults-nth ARGS='--kind {fault.kind} --form {fault.form} --n {fault.n}'"
    yield from (f"  {problem}" for problem in finding.problems)


def summary(undisturbed: Baseline, found: Sequence[FaultResult], seed: int) -> Iterator[str]:
    """A line per kind, and the last one."""
    for kind in CallKind:
        of_kind = [finding for finding in found if finding.fault.kind is kind]
        forms = Counter(finding.fault.form for finding in of_kind)
        counted = ", ".join(f"{times} {form}" for form, times in sorted(forms.items())) or "none tried"
        yield f"{kind:9} {len(undisturbed.calls[kind]):4} calls; trials: {counted}; {_verdict(of_kind)}"
    yield f"n-th call: {len(found)} trials with seed {seed}, {_verdict(found)}"


def all_passed(found: Sequence[FaultResult]) -> bool:
    """Whether all ended as undisturbed; a call may be missing, as the clock decides how often a command is polled."""
    missed = sum(not finding.fired for finding in found)
    return not any(finding.problems for finding in found) and missed <= len(found) * _MISSED


def _verdict(found: Sequence[FaultResult]) -> str:
    failed = sum(bool(finding.problems) for finding in found)
    return f"{failed} ended otherwise than undisturbed, {sum(not finding.fired for finding in found)} did not fire"
