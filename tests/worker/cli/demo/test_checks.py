"""A demo's checks: each can fail, and does when its subject is wrong."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from worker.api.events import Verification
from worker.api.sessions import Totals
from worker.cli.demo import slug_project
from worker.cli.demo.checks import Evidence, Kill, run_checks
from worker.scripted.request_ledger import RequestRecord, StreamEnd
from workflows.domain.actor import Actor
from workflows.domain.events.asks import AskAnswered, AskRaised
from workflows.domain.events.event import Event, EventRecord
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import AskId, GenerationId, MessageId, PartId, SessionId, TurnId
from workflows.domain.usage import Cost, Tokens

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
SESSION, TURN, HEAD = SessionId("ses_1"), TurnId("trn_1"), "ab" * 32
SCRIPT = slug_project.script(Path("hold"))


def completed(step: int) -> Event:
    return MessageCompleted(
        generation=GenerationId(f"gen_{step}"),
        message=MessageId(f"msg_{step}"),
        turn=TURN,
        step=step,
        finish="stop",
        tokens=Tokens(),
        cost="0",
    )


def asked(ask: str) -> Event:
    return AskRaised(ask=AskId(ask), call=PartId("prt_1"), permission="edit", digest="d")


def answered(ask: str) -> Event:
    return AskAnswered(ask=AskId(ask), call=PartId("prt_1"), reply="once", digest="d")


def ended(reason: str) -> Event:
    return TurnEnded(turn=TURN, reason=reason)


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def entry(n: int, step: int, end: StreamEnd = StreamEnd.COMPLETE, times: int = 1) -> RequestRecord:
    return RequestRecord(
        n=n,
        attempt=times,
        script="default",
        step=step,
        messages="",
        began=at(n),
        ended=at(n + 0.5),
        end=end,
        chunks=9,
        delivered=end is StreamEnd.COMPLETE,
    )


def requests() -> list[RequestRecord]:
    """All answers in order, the one that is cut short asked for twice."""
    cut = slug_project.INTERRUPTED_STEP - 1
    first = [entry(n, n) for n in range(cut)]
    later = [entry(n + 1, n) for n in range(cut + 1, len(SCRIPT.answers))]
    return [*first, entry(cut, cut, StreamEnd.CLIENT_LEFT), entry(cut + 1, cut, times=2), *later]


def happened() -> list[tuple[float, Event]]:
    answers = [(each.n + 0.6, completed(each.step + 1)) for each in requests() if each.delivered]
    asks = [(20.0 + n, asked(f"per_{n}")) for n in range(2)]
    replies = [(30.0 + n, answered(f"per_{n}")) for n in range(2)]
    return [*answers, *asks, *replies, (40.0, ended("done"))]


def records(events: list[tuple[float, Event]]) -> list[EventRecord]:
    actor = Actor(subject="me@here", method="cli")
    return [
        EventRecord(session=SESSION, seq=seq, at=at(seconds).isoformat(), actor=actor, event=event)
        for seq, (seconds, event) in enumerate(events, start=1)
    ]


def kill(seconds: float, pid: int, worker: int) -> Kill:
    made = Kill("it goes on", [pid], at(seconds))
    made.worker, made.started, made.resumed = worker, at(seconds + 1), at(seconds + 3)
    return made


USED = [answer.usage for answer in (*SCRIPT.answers, SCRIPT.auxiliary_answer) if answer and answer.usage]
TOKENS = Tokens(
    total=sum(used.input + used.output for used in USED),
    input=sum(used.input - used.cached for used in USED),
    output=sum(used.output for used in USED),
    cache_read=sum(used.cached for used in USED),
)
COST = (TOKENS.input * Decimal(3) + TOKENS.output * Decimal(15) + TOKENS.cache_read * Decimal("0.3")) / 1_000_000
EFFECTS = ["start 77", "end 77"]
KILLS = [kill(3.0 * n, 100 + n, 101 + n) for n in range(3)]
TOTALS = Totals(steps=len(SCRIPT.answers), tokens=TOKENS, cost=Cost(dollars=COST))
VERIFIED = Verification(session=SESSION, events=len(happened()), head=HEAD)
GOOD: dict[str, Any] = {
    "totals": TOTALS,
    "verified": VERIFIED,
    "printed": f"all is well, {HEAD}",
    "git_status": f"M {slug_project.MODULE}",
    "module": slug_project.FIXED_MODULE,
    "tests_before": "FAILED (failures=1)",
    "tests_after": "OK",
    "requests": requests(),
    "effects": EFFECTS,
    "survivor": 77,
    "kills": KILLS,
    "records": records(happened()),
}

PAID = "No answer of the model was paid twice after it was stored"
BROKEN: list[tuple[str, dict[str, Any]]] = [
    (PAID, {"requests": [*requests(), entry(50, 0, times=2)]}),
    (PAID, {"requests": [*requests(), entry(50, 0, StreamEnd.CLIENT_LEFT, times=2)]}),
    (PAID, {"requests": requests()[:-1]}),
    ("The model never got a broken conversation", {"requests": [*requests(), entry(0, 9, StreamEnd.MALFORMED)]}),
    ("Tokens and cost are counted once", {"totals": TOTALS.model_copy(update={"cost": Cost(dollars=2 * COST)})}),
    ("Tokens and cost are counted once", {"totals": TOTALS.model_copy(update={"tokens": TOKENS + TOKENS})}),
    ("The command ran once", {"effects": [*EFFECTS, "start 78"]}),
    ("The command ran once", {"effects": EFFECTS[:1]}),
    ("The command ran once", {"effects": []}),
    ("The command lived through the death of its worker", {"survivor": None}),
    ("The command lived through the death of its worker", {"survivor": 78}),
    ("The edit was applied once", {"module": "twice"}),
    ("The edit was applied once", {"git_status": "M a\n?? b"}),
    ("The test that failed passes", {"tests_after": "FAILED (errors=1)"}),
    ("The test that failed passes", {"tests_before": "OK"}),
    ("Each question was asked once", {"records": records([*happened(), (41.0, answered("per_0"))])}),
    ("Each question was asked once", {"records": records([*happened(), (41.0, asked("per_2"))])}),
    ("The session went on by itself", {"kills": KILLS[:2]}),
    ("The session went on by itself", {"kills": [*KILLS[:2], kill(9.0, 102, 102)]}),
    ("The session went on by itself", {"records": records([*happened(), (41.0, ended("failed"))])}),
    ("The audit log is whole", {"verified": VERIFIED.model_copy(update={"problem": "event 3 is missing"})}),
    ("The audit log is whole", {"verified": VERIFIED.model_copy(update={"head": "cd" * 32})}),
    ("The audit log is whole", {"verified": VERIFIED.model_copy(update={"events": 3})}),
]


def failing(**flaw: Any) -> list[str]:
    evidence = Evidence(SCRIPT)
    for name, value in (GOOD | flaw).items():
        setattr(evidence, name, value)
    return [claim for claim, holds, _ in run_checks(evidence) if not holds]


def test_a_demo_without_a_flaw_passes_every_check() -> None:
    assert failing() == []


@pytest.mark.parametrize(("claim", "flaw"), BROKEN, ids=[claim for claim, _ in BROKEN])
def test_a_flaw_is_named_by_its_check(claim: str, flaw: dict[str, Any]) -> None:
    assert any(each.startswith(claim) for each in failing(**flaw))


def test_a_recovery_is_described_with_both_of_its_times() -> None:
    assert str(kill(0, 7, 8)) == "a new worker (8) after 1.0 s; it goes on 2.0 s later"
