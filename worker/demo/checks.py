"""The checks of a demo: each one holds or not, and says what was counted."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Final, TypeVar

from worker.demo import task
from worker.demo.evidence import Evidence
from worker.scripted.ledger import End
from worker.scripted.script import ScriptedUsage
from workflows.domain.events import AskAnswered, AskRaised, MessageCompleted, TurnEnded
from workflows.domain.usage import Cost, Rates, ReportedUsage, Tokens, measure
from workflows.domain.value import Value

E = TypeVar("E", bound=Value)

_ACCEPTED: Final = (End.COMPLETE, End.LEFT)  # what a provider's log shows of requests that it did not refuse


class Check(Value):
    """One claim of the demo, with the figures that decide it."""

    claim: str
    holds: bool
    figures: str


def judge(evidence: Evidence) -> list[Check]:
    """All checks, in the order in which they are told."""
    return [check(evidence) for check in CHECKS]


def no_answer_paid_twice(evidence: Evidence) -> Check:
    """Every answer was given whole once; the only request beyond that is the one that a kill has cut off."""
    whole = Counter(entry.step for entry in evidence.requests if entry.delivered)
    cut = [entry.step for entry in evidence.requests if not entry.delivered]
    stored = {answer.step - 1: at for at, answer in _events(evidence, MessageCompleted)}
    late = [entry.n for entry in evidence.requests if entry.step in stored and entry.began > stored[entry.step]]
    answers = len(evidence.script.answers)
    each_once = whole == dict.fromkeys(range(answers), 1) == dict.fromkeys(stored, 1)
    return Check(
        claim="No answer of the model was paid twice after it was stored",
        holds=each_once and cut == [task.CUT_SHORT] and not late,
        figures=f"{len(evidence.requests)} requests for {answers} answers: {len(cut)} cut off by a kill, "
        f"{len(late)} after the answer was stored",
    )


def conversations_are_valid(evidence: Evidence) -> Check:
    """The model server refuses what a provider would: a call without a result, a result without a call."""
    refused = [entry for entry in evidence.requests if entry.end not in _ACCEPTED]
    return Check(
        claim="The model never got a broken conversation",
        holds=bool(evidence.requests) and not refused,
        figures=f"{len(refused)} of {len(evidence.requests)} requests refused",
    )


def command_ran_once(evidence: Evidence) -> Check:
    """One start and one end, of one process, in the ledger that the command itself writes."""
    seen = [(mark.what, mark.token, mark.pid) for mark in evidence.marks]
    starts = [pid for what, token, pid in seen if (what, token) == ("start", task.TOKEN)]
    once = len(starts) == 1 and seen == [("start", task.TOKEN, starts[0]), ("end", task.TOKEN, starts[0])]
    return Check(
        claim="The command ran once",
        holds=once,
        figures=f"its own ledger has {len(starts)} start and {len(seen) - len(starts)} end",
    )


def command_outlived_its_worker(evidence: Evidence) -> Check:
    """The kill lies between the command's start and its end, and the process was there before and after."""
    begin = min((mark.at for mark in evidence.marks if mark.what == "start"), default=0.0)
    end = max((mark.at for mark in evidence.marks if mark.what == "end"), default=0.0)
    inside = [kill for kill in evidence.outlived if begin < kill.at.timestamp() < end]
    pids = sorted({mark.pid for mark in evidence.marks})
    return Check(
        claim="The command lived through the death of its worker",
        holds=len(inside) == len(evidence.outlived) == 1,
        figures=f"process {', '.join(map(str, pids)) or 'none'} ran for {max(0.0, end - begin):.1f} s",
    )


def edit_was_applied_once(evidence: Evidence) -> Check:
    found = evidence.repository
    return Check(
        claim="The edit was applied once, and nothing else was changed",
        holds=found.module == task.MENDED_MODULE and found.changed == f"M {task.MODULE}",
        figures=f"git says {found.changed!r}",
    )


def tests_are_green(evidence: Evidence) -> Check:
    before, now = evidence.repository.failed_before, evidence.repository.passes_now
    return Check(
        claim="The test that failed passes",
        holds=before and now,
        figures=f"run from outside: {'failed' if before else 'passed'} before, {'passes' if now else 'fails'} now",
    )


def asks_were_answered_once(evidence: Evidence) -> Check:
    raised = [event.ask for _, event in _events(evidence, AskRaised)]
    answered = [event.ask for _, event in _events(evidence, AskAnswered)]
    return Check(
        claim="Each question was asked once and answered once",
        holds=len(raised) == 2 and raised == answered,
        figures=f"{len(raised)} asked, {len(answered)} answered",
    )


def kills_were_real(evidence: Evidence) -> Check:
    """Every kill hit something, and each time another worker went on."""
    victims = [{victim.pid for victim in each.kill.victims} for each in evidence.recoveries]
    replaced = all(each.worker.pid not in hit for each, hit in zip(evidence.recoveries, victims, strict=True))
    ended = [event.reason for _, event in _events(evidence, TurnEnded)]
    return Check(
        claim="The session went on by itself after each kill",
        holds=len(victims) == 3 and all(victims) and replaced and ended == ["done"],
        figures=f"{len(victims)} kills hit {sum(map(len, victims))} processes; the turn ended: {', '.join(ended)}",
    )


def usage_is_counted_once(evidence: Evidence) -> Check:
    """Tokens and cost are the sum over the script's answers, each of them once."""
    expected = sum((_tokens(answer.usage) for answer in evidence.script.answers if answer.usage), Tokens())
    rates = Rates.model_validate({name: Decimal(str(price)) for name, price in task.PRICES.items()})
    found = evidence.totals
    return Check(
        claim="Tokens and cost are counted once",
        holds=(found.tokens, found.cost) == (expected, Cost(dollars=rates.cost(expected))),
        figures=f"{found.tokens.total:,} tokens, the script has {expected.total:,}",
    )


def log_is_intact(evidence: Evidence) -> Check:
    """The chain is recomputed, its head is what the command printed, and no event of it is missing here."""
    found = evidence.verified
    whole = found.events == len(evidence.records) == max((record.seq for record in evidence.records), default=0)
    return Check(
        claim="The audit log is whole",
        holds=found.problem is None and whole and found.head in evidence.printed,
        figures=found.problem or f"{found.events} events, hash {found.head}",
    )


def _events(evidence: Evidence, kind: type[E]) -> list[tuple[datetime, E]]:
    """The events of one kind with their times, in the order of the log."""
    seen = ((record.at, record.event) for record in evidence.records)
    return [(datetime.fromisoformat(at), event) for at, event in seen if isinstance(event, kind)]


def _tokens(used: ScriptedUsage) -> Tokens:
    total = used.input + used.output
    reported = ReportedUsage(
        input=used.input, output=used.output, total=total, reasoning=used.reasoning, cache_read=used.cached
    )
    return measure(reported)


CHECKS: Final[tuple[Callable[[Evidence], Check], ...]] = (
    no_answer_paid_twice,
    conversations_are_valid,
    command_ran_once,
    command_outlived_its_worker,
    edit_was_applied_once,
    tests_are_green,
    asks_were_answered_once,
    kills_were_real,
    usage_is_counted_once,
    log_is_intact,
)
