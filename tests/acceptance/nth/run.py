"""Trials over many faults, in lanes side by side; one line for each kind, and a last one fit for quoting."""

import asyncio
import random
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final

from tests.acceptance.nth.faults import NEVER, Fault, Form, Kind
from tests.acceptance.nth.stand import Finding, Stand, Undisturbed

_MISSED: Final = 0.02  # of the trials may not fire (reliability.md 9)
_TOLD: Final = 25  # trials between two lines that say how far it is


def faults(
    undisturbed: Undisturbed,
    kinds: Iterable[Kind] = Kind,
    forms: Iterable[Form] = Form,
    places: Container[int] = range(1, NEVER),
) -> list[Fault]:
    """Every fault of these kinds and forms at these places, which count from 1."""
    wanted = set(forms)
    return [
        Fault(kind, form, place)
        for kind in kinds
        for place in range(1, len(undisturbed.calls[kind]) + 1)
        for form in kind.forms
        if form in wanted and place in places
    ]


def sampled(every: Sequence[Fault], count: int, seed: int) -> list[Fault]:
    """So many of them, evenly spread from where the seed says; a call more or less shifts them by little."""
    stride = max(1.0, len(every) / count)
    first = random.Random(seed).random() * stride
    return [every[int(first + stride * place)] for place in range(min(count, len(every)))]


async def tried(stand: Stand, undisturbed: Undisturbed, wanted: Iterable[Fault], lanes: int) -> list[Finding]:
    """A trial for each fault, so many at a time."""
    waiting = iter(wanted)
    found: list[Finding] = []

    async def lane() -> None:
        for fault in waiting:
            found.append(await stand.disturbed(fault, undisturbed))
            for line in told(found[-1]):
                print(line, flush=True)
            if len(found) % _TOLD == 0:
                print(f"{len(found)} trials so far: {_verdict(found)}", flush=True)

    await asyncio.gather(*(lane() for _ in range(lanes)))
    return found


def told(finding: Finding) -> Iterator[str]:
    """What a person needs who looks for the cause of a failure; nothing, if there is none."""
    if finding.fired and not finding.problems:
        return
    fault = finding.fault
    yield f"{fault}: {'' if finding.fired else 'did not fire; '}see {finding.directory}; again with:"
    yield f"  make faults-nth ARGS='--kind {fault.kind} --form {fault.form} --n {fault.n}'"
    yield from (f"  {problem}" for problem in finding.problems)


def summary(undisturbed: Undisturbed, found: Sequence[Finding], seed: int) -> Iterator[str]:
    """A line for each kind, and the last one."""
    for kind in Kind:
        of_kind = [finding for finding in found if finding.fault.kind is kind]
        forms = Counter(finding.fault.form for finding in of_kind)
        counted = ", ".join(f"{times} {form}" for form, times in sorted(forms.items())) or "none tried"
        yield f"{kind:9} {len(undisturbed.calls[kind]):4} calls; trials: {counted}; {_verdict(of_kind)}"
    yield f"n-th call: {len(found)} trials with seed {seed}, {_verdict(found)}"


def passing(found: Sequence[Finding]) -> bool:
    """Whether nothing ended otherwise; how often a running command is looked at is the clock's, so a call may lack."""
    missed = sum(not finding.fired for finding in found)
    return not any(finding.problems for finding in found) and missed <= len(found) * _MISSED


def _verdict(found: Sequence[Finding]) -> str:
    failed = sum(bool(finding.problems) for finding in found)
    return f"{failed} ended otherwise than undisturbed, {sum(not finding.fired for finding in found)} did not fire"
