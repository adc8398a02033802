"""How a session stands: in a word or two for lists, and in whole sentences for one of them."""

from collections.abc import Iterator
from datetime import datetime

from worker.cli.look import parking
from worker.cli.look.text import age, behind, clock, counted, exact, line, prose
from worker.client import Overview
from workflows.domain.closing import CloseReason
from workflows.domain.ids import AskId, SessionId


def state(seen: Overview, now: datetime) -> str:
    """What a session does, in a word or two."""
    if seen.archive is not None:
        return "archived"
    if seen.stuck is not None:
        return "stuck"
    if seen.parked is not None:
        return "parked"
    if seen.asks:
        return f"asks ({seen.asks})"
    if waits_for_its_host(seen):
        return f"waits for {exact(seen.host or '')}"
    if seen.pause is not None:
        return f"retrying at {clock(seen.pause.until, now)}"
    if seen.working:
        return f"step {seen.step}" if seen.step else "begins"
    return "ended" if seen.status == "ended" else seen.reason or "new"


def waits_for_its_host(seen: Overview) -> bool:
    """Whether a session would go on if a worker were there where its files are."""
    return seen.away and seen.working and seen.parked is None


def absent(seen: Overview) -> str:
    """Whom a session waits for, and what can be done."""
    host = exact(seen.host or "")
    return (
        f"It waits for a worker on host {host}, where its files are: start one there (`python -P -m worker.serve`), "
        f"or one with HOLDFAST_HOST={host} where the same files are under the same paths."
    )


def sentences(seen: Overview, at: datetime, ask: AskId | None = None) -> Iterator[str]:
    """What a person may want to know of a session, and what they can do; `ask` is what waits there for an answer."""
    yield f"{line(seen.title)}"
    where = f"{exact(seen.directory)} on {exact(seen.host)}" if seen.host else exact(seen.directory)
    yield f"  {seen.id} in {where}, changed {age(seen.updated_at, at)} ago"
    yield f"  {line(seen.agent)}, {exact(seen.model or 'no model yet')}"
    yield f"  {f'Turn {seen.number}: ' if seen.number else ''}{state(seen, at)}"
    yield from (f"  {each}" for each in _reasons(seen, at, ask))


def now(seen: Overview, at: datetime, ask: AskId | None = None) -> Iterator[str]:
    """How a session stands, as the end of what is told of it."""
    yield f"Now: {state(seen, at)}"
    yield from (f"  {each}" for each in _reasons(seen, at, ask))


def again(session: SessionId) -> str:
    """How a failed turn is retried."""
    return f"holdfast retry {session}  retries it; `-m provider/model` asks another model"


def _reasons(seen: Overview, now: datetime, ask: AskId | None) -> Iterator[str]:
    if seen.archive is not None:
        yield f"It {seen.archive}."
    if seen.stuck is not None:
        yield f"It cannot go on: {prose(seen.stuck)}."
    if seen.parked is not None:
        yield parking.why(seen.parked.reason, seen.parked.was, seen.parked.now)
        yield from parking.ways(seen.id)
    if waits_for_its_host(seen):
        yield absent(seen)
    if seen.pause is not None:
        why = f"{exact(seen.pause.kind)}, attempt {seen.pause.attempt}"
        yield f"The provider has failed ({why}), and is asked again then."
        yield f"It said: {line(seen.pause.said or '(erased)', 300)}"
        yield f"`holdfast stop {seen.id}` ends the waiting."
    if seen.asks:
        yield f"{counted(seen.asks, 'question')} for you: holdfast asks --session {seen.id}"
    if seen.waiting:
        yield behind(seen.waiting, ask) or f"{counted(seen.waiting, 'prompt')} not taken yet."
    if seen.error is not None:
        yield f"It failed: {prose(seen.error)}"
    if seen.reason == CloseReason.FAILED and seen.status != "ended" and not seen.working and seen.parent is None:
        yield again(seen.id)
