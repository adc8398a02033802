"""Loses the n-th call of a kind: before or after it is carried out, or with its worker."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from activities.failpoints import ARRIVALS
from worker.scripted.script import Drop

NEVER: Final = 1_000_000


class FaultForm(StrEnum):
    """How a call is lost: before it is carried out, after it, or with the worker."""

    DROP = "drop"
    AMBIGUOUS = "ambiguous"
    KILL = "kill9"


class CallKind(StrEnum):
    """The counted calls: to PostgreSQL, to the model, and of activities; statements of a person's client; signals to
    workflows, from a client (`signal`) and from activities (`report`: a subagent's)."""

    SQL = "sql"
    MODEL = "model"
    ACTIVITY = "activity"
    REPORT = "report"
    DOOR = "door"
    SIGNAL = "signal"

    @property
    def at_the_door(self) -> bool:
        return self in (CallKind.DOOR, CallKind.SIGNAL)

    def covers(self, fault: "NthFault") -> bool:
        return fault.kind is self

    @property
    def forms(self) -> Sequence[FaultForm]:
        """A client that dies with its person is another test's."""
        return (FaultForm.DROP, FaultForm.AMBIGUOUS) if self.at_the_door else tuple(FaultForm)


_POINTS: Final = {
    CallKind.SQL: "external.sql:*",
    CallKind.MODEL: "model.before_request",
    CallKind.ACTIVITY: "external.activity:*",
    CallKind.REPORT: "external.signal:*",
    CallKind.DOOR: "external.sql:{trial}",
    CallKind.SIGNAL: "external.signal:{trial}",
}


@dataclass(frozen=True)
class NthFault:
    """One fault; `n` counts from 1."""

    kind: CallKind
    form: FaultForm
    n: int

    def armed(self, trial: Path) -> str:
        """The failpoint. The model's server cuts its answers itself: there the failpoint only counts."""
        form, n = (FaultForm.DROP, NEVER) if self.of_the_server else (self.form, self.n)
        return f"{point(self.kind, trial)}={form}@{n}"

    @property
    def of_the_server(self) -> Drop | None:
        """The model server's fault; beyond the end means before the last piece."""
        if self.kind is not CallKind.MODEL or self.form is FaultForm.KILL:
            return None
        return Drop(after=None if self.form is FaultForm.DROP else NEVER)

    @property
    def wasted(self) -> int:
        """How many model answers may be paid for and lost."""
        return int(self.kind is CallKind.MODEL or self.form is FaultForm.KILL)

    @property
    def again(self) -> str:
        return f'make faults-nth ARGS="--kind {self.kind} --form {self.form} --n {self.n}"'

    def __str__(self) -> str:
        return f"{self.kind} {self.n} {self.form}"


def point(kind: CallKind, trial: Path) -> str:
    """The failpoint of a kind; a client's has its trial's name, as clients share a process."""
    return _POINTS[kind].format(trial=trial.name)


def counting(trial: Path, *kinds: CallKind) -> str:
    """Failpoints that only count."""
    return ";".join(NthFault(kind, FaultForm.DROP, NEVER).armed(trial) for kind in kinds)


def passed(trial: Path, kind: CallKind) -> list[str]:
    """A trial's calls of a kind, by activity or client."""
    name, _, wanted = point(kind, trial).partition(":")
    arrivals = [line.split()[:2] for line in (trial / ARRIVALS).read_text().splitlines()]
    callers = [caller for point, caller in arrivals if point == name]
    if wanted == "*":
        return [caller for caller in callers if caller not in ("-", trial.name)]
    return [caller for caller in callers if wanted in (caller, "")]
