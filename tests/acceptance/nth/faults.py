"""What is lost: the n-th call of a kind, before it was carried out, after it, or with the worker that made it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from activities.failpoints import ARRIVALS
from worker.scripted.script import Drop

NEVER: Final = 1_000_000


class Form(StrEnum):
    """How a call is lost: before it is carried out, after it, or with the worker."""

    DROP = "drop"
    AMBIGUOUS = "ambiguous"
    KILL = "kill9"


class Kind(StrEnum):
    """Whose calls are counted: to PostgreSQL, to the model and of activities; statements of a person's door; signals
    to workflows, from a door (`bell`) and from activities (`report`: a subagent's)."""

    SQL = "sql"
    MODEL = "model"
    ACTIVITY = "activity"
    REPORT = "report"
    DOOR = "door"
    BELL = "bell"

    @property
    def at_the_door(self) -> bool:
        return self in (Kind.DOOR, Kind.BELL)

    @property
    def forms(self) -> Sequence[Form]:
        """A door that dies with its person is another test's."""
        return (Form.DROP, Form.AMBIGUOUS) if self.at_the_door else tuple(Form)


_POINTS: Final = {
    Kind.SQL: "external.sql:*",
    Kind.MODEL: "model.before_request",
    Kind.ACTIVITY: "external.activity:*",
    Kind.REPORT: "external.bell:*",
    Kind.DOOR: "external.sql:{trial}",
    Kind.BELL: "external.bell:{trial}",
}


@dataclass(frozen=True)
class Fault:
    """One fault; `n` counts from 1."""

    kind: Kind
    form: Form
    n: int

    def armed(self, trial: Path) -> str:
        """The failpoint. The model's answers are cut by its server, for real: there it only counts."""
        form, n = (Form.DROP, NEVER) if self.of_the_server else (self.form, self.n)
        return f"{point(self.kind, trial)}={form}@{n}"

    @property
    def of_the_server(self) -> Drop | None:
        """What the model's server does instead; beyond the end means before the last piece."""
        if self.kind is not Kind.MODEL or self.form is Form.KILL:
            return None
        return Drop(after=None if self.form is Form.DROP else NEVER)

    @property
    def wasted(self) -> int:
        """How many answers of the model may be paid for and lost."""
        return int(self.kind is Kind.MODEL or self.form is Form.KILL)

    def __str__(self) -> str:
        return f"{self.kind} {self.n} {self.form}"


def point(kind: Kind, trial: Path) -> str:
    """Where calls of a kind are counted; those of a door go by the name of its trial, for doors share a process."""
    return _POINTS[kind].format(trial=trial.name)


def counting(trial: Path, *kinds: Kind) -> str:
    """Failpoints that let everything pass, and count it."""
    return ";".join(Fault(kind, Form.DROP, NEVER).armed(trial) for kind in kinds)


def passed(trial: Path, kind: Kind) -> list[str]:
    """The calls of a kind that were made in a trial: by which activity, or door."""
    name, _, wanted = point(kind, trial).partition(":")
    arrivals = [line.split()[:2] for line in (trial / ARRIVALS).read_text().splitlines()]
    callers = [caller for point, caller in arrivals if point == name]
    if wanted == "*":
        return [caller for caller in callers if caller not in ("-", trial.name)]
    return [caller for caller in callers if caller == (wanted or "-")]
