"""The checks of a demo: each of them can fail, and does when what it looks at is not as it should be."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from worker.client import Totals, Verified
from worker.demo import task
from worker.demo.checks import judge
from worker.demo.evidence import Evidence, Mark, Repository
from worker.demo.kills import Kill, Recovery, Successor
from worker.demo.play import Played
from worker.demo.story import Story
from worker.scripted.ledger import End, Entry
from worker.stack.processes import ProcessRef
from workflows.domain.events import Actor, AskAnswered, AskRaised, Event, MessageCompleted, Record, TurnEnded
from workflows.domain.ids import AskId, MessageId, PartId, SessionId, TurnId
from workflows.domain.usage import Cost, Tokens

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
SESSION, TURN, HEAD = SessionId("ses_1"), TurnId("trn_1"), "ab" * 32
SCRIPT = task.script(Path("hold"))


def completed(step: int) -> Event:
    return MessageCompleted(
        message=MessageId(f"msg_{step}"), turn=TURN, step=step, finish="stop", tokens=Tokens(), cost="0"
    )


def asked(ask: str) -> Event:
    return AskRaised(ask=AskId(ask), call=PartId("prt_1"), permission="edit", digest="d")


def answered(ask: str) -> Event:
    return AskAnswered(ask=AskId(ask), call=PartId("prt_1"), reply="once", digest="d")


def ended(reason: str) -> Event:
    return TurnEnded(turn=TURN, reason=reason)


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def entry(n: int, step: int, end: End = End.COMPLETE, times: int = 1) -> Entry:
    return Entry(
        n=n,
        asked=times,
        script="default",
        step=step,
        messages="",
        began=at(n),
        ended=at(n + 0.5),
        end=end,
        chunks=9,
        delivered=end is End.COMPLETE,
    )


def requests() -> tuple[Entry, ...]:
    """All answers in order, the one that is cut short asked for twice."""
    cut = task.CUT_SHORT
    first = [entry(n, n) for n in range(cut)]
    later = [entry(n + 1, n) for n in range(cut + 1, len(SCRIPT.answers))]
    return (*first, entry(cut, cut, End.LEFT), entry(cut + 1, cut, times=2), *later)


def happened() -> list[tuple[float, Event]]:
    answers = [(each.n + 0.6, completed(each.step + 1)) for each in requests() if each.delivered]
    asks = [(20.0 + n, asked(f"per_{n}")) for n in range(2)]
    replies = [(30.0 + n, answered(f"per_{n}")) for n in range(2)]
    return [*answers, *asks, *replies, (40.0, ended("done"))]


def records(events: list[tuple[float, Event]]) -> tuple[Record, ...]:
    actor = Actor(subject="me@here", method="cli")
    return tuple(
        Record(session=SESSION, seq=seq, at=at(seconds).isoformat(), actor=actor, event=event)
        for seq, (seconds, event) in enumerate(events, start=1)
    )


def kill(seconds: float, pid: int) -> Kill:
    return Kill(what="the worker", victims=(ProcessRef(pid=pid, born="x"),), at=at(seconds))


def recovery(seconds: float, pid: int) -> Recovery:
    worker = Successor(pid=pid + 1, seen=at(seconds + 1))
    return Recovery(kill=kill(seconds, pid), worker=worker, progress=at(seconds + 2), how="it goes on")


def mark(what: Any, seconds: float, pid: int = 77) -> Mark:
    return Mark(what=what, token=task.TOKEN, pid=pid, at=at(seconds).timestamp())


MARKS = (mark("start", 10), mark("end", 14))
REPOSITORY = Repository(changed=f"M {task.MODULE}", module=task.MENDED_MODULE, failed_before=True, passes_now=True)
USED = [answer.usage for answer in SCRIPT.answers if answer.usage]
TOKENS = Tokens(
    total=sum(used.input + used.output for used in USED),
    input=sum(used.input - used.cached for used in USED),
    output=sum(used.output for used in USED),
    cache_read=sum(used.cached for used in USED),
)
COST = (TOKENS.input * Decimal(3) + TOKENS.output * Decimal(15) + TOKENS.cache_read * Decimal("0.3")) / 1_000_000
GOOD = Evidence(
    script=SCRIPT,
    requests=requests(),
    marks=MARKS,
    repository=REPOSITORY,
    recoveries=tuple(recovery(3.0 * n, 100 + 10 * n) for n in range(3)),
    outlived=(kill(12, 120),),
    records=records(happened()),
    totals=Totals(steps=len(SCRIPT.answers), tokens=TOKENS, cost=Cost(dollars=COST)),
    verified=Verified(session=SESSION, events=len(happened()), head=HEAD),
    printed=f"all is well, {HEAD}",
)

PAID = "No answer of the model was paid twice after it was stored"
BROKEN: list[tuple[str, dict[str, Any]]] = [
    (PAID, {"requests": (*requests(), entry(50, 0, times=2))}),
    (PAID, {"requests": (*requests(), entry(50, 0, End.LEFT, times=2))}),
    (PAID, {"requests": requests()[:-1]}),
    ("The model never got a broken conversation", {"requests": (*requests(), entry(0, 9, End.MALFORMED))}),
    ("The command ran once", {"marks": (*MARKS, mark("start", 13, pid=78))}),
    ("The command ran once", {"marks": MARKS[:1]}),
    ("The command ran once", {"marks": ()}),
    ("The command lived through the death of its worker", {"outlived": ()}),
    ("The command lived through the death of its worker", {"outlived": (kill(15, 120),)}),
    ("The edit was applied once", {"repository": REPOSITORY.model_copy(update={"module": "twice"})}),
    ("The edit was applied once", {"repository": REPOSITORY.model_copy(update={"changed": "M a\n?? b"})}),
    ("The test that failed passes", {"repository": REPOSITORY.model_copy(update={"passes_now": False})}),
    ("The test that failed passes", {"repository": REPOSITORY.model_copy(update={"failed_before": False})}),
    ("Each question was asked once", {"records": records([*happened(), (41.0, answered("per_0"))])}),
    ("Each question was asked once", {"records": records([*happened(), (41.0, asked("per_2"))])}),
    ("The session went on by itself", {"recoveries": GOOD.recoveries[:2]}),
    ("The session went on by itself", {"records": records([*happened(), (41.0, ended("failed"))])}),
    ("Tokens and cost are counted once", {"totals": GOOD.totals.model_copy(update={"cost": Cost(dollars=2 * COST)})}),
    ("Tokens and cost are counted once", {"totals": GOOD.totals.model_copy(update={"tokens": TOKENS + TOKENS})}),
    ("The audit log is whole", {"verified": GOOD.verified.model_copy(update={"problem": "event 3 is missing"})}),
    ("The audit log is whole", {"verified": GOOD.verified.model_copy(update={"head": "cd" * 32})}),
    ("The audit log is whole", {"verified": GOOD.verified.model_copy(update={"events": 3})}),
]


def told(evidence: Evidence) -> tuple[bool, list[str]]:
    """Whether a demo with this evidence has gone well, and which checks it tells as failed."""
    lines: list[str] = []
    checks = judge(evidence)
    Story(lambda text, *_: lines.append(text)).results(evidence, checks)
    failed = re.findall(r"FAILED +(.*)", "\n".join(lines))
    return Played(session=SESSION, checks=tuple(checks)).holds, failed


def failing(evidence: Evidence) -> list[str]:
    return [check.claim for check in judge(evidence) if not check.holds]


def test_a_demo_without_a_flaw_passes_every_check() -> None:
    assert failing(GOOD) == [] and told(GOOD) == (True, [])


def test_a_demo_whose_command_seems_to_have_run_twice_fails_and_says_so() -> None:
    forged = GOOD.model_copy(update={"marks": (*MARKS, mark("start", 13, pid=78))})
    assert told(forged) == (False, ["The command ran once"])


@pytest.mark.parametrize(("claim", "flaw"), BROKEN, ids=[claim for claim, _ in BROKEN])
def test_a_flaw_is_named_by_its_check(claim: str, flaw: dict[str, Any]) -> None:
    failed = failing(GOOD.model_copy(update=flaw))
    assert any(each.startswith(claim) for each in failed)
