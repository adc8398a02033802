"""Retries: a turn that failed for good is taken up by a turn of its own, where the conversation stands."""

from typing import Any, Final

from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.errors import Conflict
from workflows.domain.events import RetryAccepted, RetryWithdrawn
from workflows.domain.ids import RetryId, TurnId
from workflows.domain.value import Value
from workflows.domain.wire import CloseReason

_QUERIES: Final = Queries("retries")


class Retried(Value):
    """An accepted retry of the turn that `failed`; `model` is the one that is asked instead, if one was named."""

    retry: RetryId
    failed: TurnId
    model: str | None


async def accept(opened: Journal, retry: RetryId, model: str | None = None) -> Retried:
    """Accept the retry of the newest turn: its row and its event. The same retry again changes nothing.

    Raises Conflict where there is nothing to retry.
    """
    known = await opened.row(_QUERIES.find, id=retry)
    if known is not None:
        if known["session"] != opened.session:
            raise Conflict(f"The retry id {retry!r} belongs to another session; use a new id.")
        return Retried(retry=retry, failed=known["failed"], model=known["model"])
    turn = await opened.row(_QUERIES.newest_turn, session=opened.session)
    if opened.ended:
        raise Conflict(f"Session {opened.session!r} has ended; start a new one with `holdfast run`.")
    if turn is None:
        raise Conflict(f"Session {opened.session!r} has had no turn yet, so there is nothing to retry.")
    if (why := _going_on(turn)) is not None:
        raise Conflict(f"There is nothing to retry in session {opened.session!r}: {why}")
    named = model or turn["model"]
    seq = opened.record(RetryAccepted(retry=retry, turn=turn["id"], model=named))
    accepted = {"failed": turn["id"], "accepted": seq, "model": named}
    opened.write(_QUERIES.accept, id=retry, session=opened.session, author=opened.actor.subject, **accepted)
    return Retried(retry=retry, failed=turn["id"], model=named)


def take(opened: Journal, retry: RetryId, turn: TurnId) -> None:
    """A turn takes a retry up; the event of its opening says so."""
    opened.write(_QUERIES.take, id=retry, turn=turn)


async def withdraw(opened: Journal, reason: str) -> None:
    """Withdraw a retry that no turn has taken up."""
    for row in await opened.rows(_QUERIES.withdraw, session=opened.session):
        opened.record(RetryWithdrawn(retry=row["id"], reason=reason))


def _going_on(turn: dict[str, Any]) -> str | None:
    """Why the newest turn is not to be retried; None if it failed, and nothing follows it yet."""
    if turn["parent"] is not None:
        return f"it is a subagent's, and goes on with {turn['parent']!r}, which was told that it failed."
    if turn["state"] == "open":
        return f"turn {turn['number']} is still open. `holdfast watch` shows it, `holdfast stop` ends it."
    if turn["waiting"]:
        return "it goes on already, with a prompt or a retry that is about to be taken."
    if turn["reason"] != CloseReason.FAILED:
        return f"its last turn did not fail, it ended as {turn['reason']!r}. `holdfast send` gives it a new prompt."
    return None
