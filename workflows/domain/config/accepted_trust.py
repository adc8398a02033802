"""AcceptedTrust: what of a project's files people have accepted."""

from datetime import datetime
from typing import NamedTuple

from workflows.domain.config.trust_items import TrustContent
from workflows.domain.value import Value


class AcceptedStart(Value):
    """Something that a project's file starts or redirects, by its digest."""

    digest: str
    file: str
    field: str


class AcceptedTrust(Value):
    """What counts of the project's files as they are now: the `starts`, and the `rules` with all limits. `record`: the
    newest one that says so, of its author; `read_to`: the last one of the project that was there. `rules_changed`:
    other rules were accepted before."""

    record: int
    read_to: int
    author: str
    at: datetime
    starts: tuple[AcceptedStart, ...] = ()
    rules: bool = False
    rules_changed: bool = False


class TrustDecision(Value):
    """`accepted`: else it stays ignored. `seq`: the number of its record; `method`: the door."""

    seq: int
    accepted: bool
    author: str
    method: str
    at: datetime


class DecidedTrust(NamedTuple):
    """What people have decided about a content. `decision`: the last one about all of it; `before`: what was accepted
    last for its directory."""

    accepted: AcceptedTrust | None
    decision: TrustDecision | None = None
    before: TrustContent | None = None
