"""The demo's checks."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TypeVar

from worker.api.events import Verification
from worker.api.sessions import Totals
from worker.cli.demo import slug_project
from worker.scripted.request_ledger import RequestRecord, StreamEnd
from worker.scripted.script import Script
from workflows.domain.events.asks import AskAnswered, AskRaised
from workflows.domain.events.event import EventRecord
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.usage import Cost, Rates, Tokens

T = TypeVar("T")
Check = tuple[str, bool, str]  # a claim, whether it holds, the figures behind it


@dataclass
class Kill:
    """A `kill -9`: process ids, next worker, the session's next event."""

    how: str
    hit: list[int]
    at: datetime
    worker: int = field(init=False)
    started: datetime = field(init=False)
    resumed: datetime = field(init=False)

    def __str__(self) -> str:
        back, further = (each.total_seconds() for each in (self.started - self.at, self.resumed - self.started))
        return f"a new worker ({self.worker}) after {back:.1f} s; {self.how} {further:.1f} s later"


@dataclass
class Evidence:
    """What the checks count."""

    script: Script
    totals: Totals = field(init=False)
    verified: Verification = field(init=False)
    printed: str = ""  # by `holdfast log --verify`
    git_status: str = ""
    module: str = ""
    tests_before: str = ""  # run outside of the session
    tests_after: str = ""
    requests: list[RequestRecord] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)  # the command's ledger: "start PID", "end PID"
    survivor: int | None = None  # the command's process, if it outlived its worker's kill
    kills: list[Kill] = field(default_factory=list)
    records: list[EventRecord] = field(default_factory=list)


def run_checks(evidence: Evidence) -> list[Check]:
    return [*_model(evidence), *_project(evidence), *_session(evidence)]


def _model(evidence: Evidence) -> Iterator[Check]:
    requests = [each for each in evidence.requests if each.step >= 0]  # without that for the title
    steps = range(1, len(evidence.script.answers) + 1)
    complete = Counter(each.step + 1 for each in requests if each.delivered)
    cut_off = [each.step + 1 for each in requests if not each.delivered]
    stored = {answer.step: at for at, answer in _events(evidence, MessageCompleted) if answer.step is not None}
    late = [each for each in requests if each.step + 1 in stored and each.began > stored[each.step + 1]]
    once = complete == dict.fromkeys(steps, 1) == dict.fromkeys(stored, 1)
    yield (
        "No answer of the model was paid twice after it was stored",
        once and cut_off == [slug_project.INTERRUPTED_STEP] and not late,
        f"{len(requests)} requests for {len(steps)} answers: {len(cut_off)} cut off, {len(late)} after it was stored",
    )
    # Like a provider, the server rejects calls without results and results without calls.
    rejected = [each for each in requests if each.end not in (StreamEnd.COMPLETE, StreamEnd.CLIENT_LEFT)]
    figures = f"{len(rejected)} of {len(requests)} requests rejected"
    yield ("The model never got a broken conversation", bool(requests) and not rejected, figures)
    rates = Rates.model_validate({name: Decimal(str(price)) for name, price in slug_project.PRICES.items()})
    title = evidence.script.auxiliary_answer
    used = [each.usage for each in (*evidence.script.answers, title) if each and each.usage]
    spent, output, cached = (sum(getattr(each, name) for each in used) for name in ("input", "output", "cached"))
    expected = Tokens(total=spent + output, input=spent - cached, output=output, cache_read=cached)
    counted_once = (evidence.totals.tokens, evidence.totals.cost) == (expected, Cost(dollars=rates.cost(expected)))
    figures = f"{evidence.totals.tokens.total:,} tokens, the script has {expected.total:,}"
    yield ("Tokens and cost are counted once", counted_once, figures)


def _project(evidence: Evidence) -> Iterator[Check]:
    effects, survivor = evidence.effects, evidence.survivor
    starts = [each.removeprefix("start ") for each in effects if each.startswith("start ")]
    once = len(starts) == 1 and effects == [f"start {starts[0]}", f"end {starts[0]}"]
    figures = f"its own ledger has {len(starts)} start and {len(effects) - len(starts)} end"
    yield ("The command ran once", once, figures)
    figures = f"process {survivor} ran before the kill and after it" if survivor else "its process was gone"
    yield ("The command lived through the death of its worker", f"end {survivor}" in effects, figures)
    fixed = evidence.module == slug_project.FIXED_MODULE and evidence.git_status == f"M {slug_project.MODULE}"
    yield ("The edit was applied once, and nothing else was changed", fixed, f"git says {evidence.git_status!r}")
    before, after = evidence.tests_before, evidence.tests_after
    figures = f"run from outside: {before} before, {after} now"
    yield ("The test that failed passes", before.startswith("FAILED") and after == "OK", figures)


def _session(evidence: Evidence) -> Iterator[Check]:
    raised = [event.ask for _, event in _events(evidence, AskRaised)]
    answered = [event.ask for _, event in _events(evidence, AskAnswered)]
    figures = f"{len(raised)} asked, {len(answered)} answered"
    yield ("Each question was asked once and answered once", len(raised) == 2 and raised == answered, figures)
    kills, ended = evidence.kills, [event.reason for _, event in _events(evidence, TurnEnded)]
    recovered = len(kills) == 3 and all(kill.hit and kill.worker not in kill.hit for kill in kills)
    hit = sum(len(kill.hit) for kill in kills)
    figures = f"{len(kills)} kills hit {hit} processes; the turn ended: {', '.join(ended)}"
    yield ("The session went on by itself after each kill", recovered and ended == ["done"], figures)
    verified, records = evidence.verified, evidence.records
    complete = verified.events == len(records) == max((record.seq for record in records), default=0)
    intact = verified.problem is None and complete and verified.head in evidence.printed
    yield ("The audit log is whole", intact, verified.problem or f"{verified.events} events, hash {verified.head}")


def _events(evidence: Evidence, kind: type[T]) -> list[tuple[datetime, T]]:
    events = ((record.at, record.event) for record in evidence.records)
    return [(datetime.fromisoformat(at), event) for at, event in events if isinstance(event, kind)]
