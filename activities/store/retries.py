"""Retries: a new turn continues where a failed turn ended."""

from typing import Any, Final

from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.errors import Conflict
from workflows.domain.events.turns import RetryAccepted, RetryWithdrawn
from workflows.domain.ids import RetryId, TurnId
from workflows.domain.value import Value
from workflows.domain.wire import CloseReason

_QUERIES: Final = Queries("retries")


class RetryRequest(Value):
    """An accepted retry of a failed turn; `model`: the one to ask, if named."""

    retry: RetryId
    failed_turn: TurnId
    model: str | None


async def accept(journal: Journal, retry: RetryId, model: str | None = None) -> RetryRequest:
    """Accept a retry of the newest turn. Repeating it changes nothing.

    Raises Conflict when there is nothing to retry.
    """
    known = await journal.row(_QUERIES.find, id=retry)
    if known is not None:
        if known["session"] != journal.session:
            raise Conflict(f"The retry id {retry!r} belongs to another session; use a new id.")
        return RetryRequest(retry=retry, failed_turn=known["failed_turn"], model=known["model"])
    turn = await journal.row(_QUERIES.newest_turn, session=journal.session)
    if journal.ended:
        raise Conflict(f"Session {journal.session!r} has ended; start a new one with `holdfast run`.")
    if turn is None:
        raise Conflict(f"Session {journal.session!r} has had no turn yet, so there is nothing to retry.")
    if (why := _why_not(turn)) is not None:
        raise Conflict(f"There is nothing to retry in session {journal.session!r}: {why}")
    named = model or turn["model"]
    seq = journal.record(RetryAccepted(retry=retry, turn=turn["id"], model=named))
    accepted = {"failed_turn": turn["id"], "accepted_seq": seq, "model": named}
    journal.write(_QUERIES.accept, id=retry, session=journal.session, author=journal.actor.subject, **accepted)
    return RetryRequest(retry=retry, failed_turn=turn["id"], model=named)


def take(journal: Journal, retry: RetryId, turn: TurnId) -> None:
    """Take a retry into a turn, whose opening event names it."""
    journal.write(_QUERIES.take, id=retry, turn=turn)


async def withdraw(journal: Journal, reason: str) -> None:
    """Withdraw an untaken retry."""
    for row in await journal.rows(_QUERIES.withdraw, session=journal.session):
        journal.record(RetryWithdrawn(retry=row["id"], reason=reason))


def _why_not(turn: dict[str, Any]) -> str | None:
    """None if the turn failed and nothing follows."""
    if turn["parent"] is not None:
        return f"it is a subagent's, and goes on with {turn['parent']!r}, which was told that it failed."
    if turn["state"] == "open":
        return f"turn {turn['number']} is still open. `holdfast watch` shows it, `holdfast stop` ends it."
    if turn["waiting"]:
        return "it goes on already, with a prompt or a retry that is about to be taken."
    if turn["reason"] != CloseReason.FAILED:
        return f"its last turn did not fail, it ended as {turn['reason']!r}. `holdfast send` gives it a new prompt."
    return None
