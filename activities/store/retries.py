"""Retries: a new turn continues where a failed turn ended."""

from typing import Any, Final

from activities.store import budgets, turns, work
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.work import TurnRequest, WorkItem, WorkKind
from workflows.domain.close_reason import CloseReason
from workflows.domain.errors import Conflict
from workflows.domain.events.turns import RetryAccepted, RetryWithdrawn
from workflows.domain.ids import RetryId, TurnId
from workflows.domain.value import Value

_QUERIES: Final = Queries("retries")


class RetryRequest(Value):
    """An accepted retry; agent, model and variant are its work's or the retry's own."""

    retry: RetryId
    failed_turn: TurnId
    agent: str | None = None
    model: str | None = None
    variant: str | None = None


async def accept(
    journal: Journal, retry: RetryId, model: str | None = None, variant: str | None = None
) -> RetryRequest:
    """Accept a retry of the newest turn. Repeating it changes nothing. Raises Conflict when there is nothing to
    retry. Another model is asked without the variant of the failed turn."""
    item = WorkItem(id=retry, kind=WorkKind.RETRY)
    if await work.was_accepted(journal, item):
        return await _find(journal, retry)
    turn = await journal.row(_QUERIES.newest_turn, session=journal.session)
    if journal.ended:
        raise Conflict(f"Session {journal.session!r} has ended; start a new one with `holdfast run`.")
    if turn is None:
        raise Conflict(f"Session {journal.session!r} has had no turn yet, so there is nothing to retry.")
    if (why := _why_not(turn)) is not None:
        raise Conflict(f"There is nothing to retry in session {journal.session!r}: {why}")
    names = {"agent": turn["agent"], "model": model or turn["model"]}
    names["variant"] = variant or (turn["variant"] if names["model"] == turn["model"] else None)
    work.accept(journal, item, journal.record(RetryAccepted(retry=retry, turn=turn["id"], **names)))
    journal.write(_QUERIES.accept, id=retry, failed_turn=turn["id"], **names)
    return RetryRequest(retry=retry, failed_turn=turn["id"], **names)


async def request_turn(journal: Journal, item: WorkItem) -> TurnRequest:
    retry = await _find(journal, RetryId(item.id))
    (failed,) = await journal.rows(_QUERIES.facts_of_turn, turn=retry.failed_turn)
    config = await turns.turn_config(journal, failed["turn_config"])
    limits = await budgets.limits_of_turn(journal, retry.failed_turn)
    named = retry.model_dump(include={"agent", "model", "variant"})
    named["instructed_by"] = failed["instructed_by"]
    return TurnRequest(item=item, tools=config.tools, format=config.format, limits=limits, retry=retry.retry, **named)


def withdraw(journal: Journal, item: WorkItem, reason: str) -> None:
    work.withdraw(journal, item)
    journal.record(RetryWithdrawn(retry=RetryId(item.id), reason=reason))


async def _find(journal: Journal, retry: RetryId) -> RetryRequest:
    (row,) = await journal.rows(_QUERIES.find, id=retry)
    return RetryRequest(retry=retry, **row)


def _why_not(turn: dict[str, Any]) -> str | None:
    """Why the turn cannot be retried; None if it failed and nothing follows."""
    if turn["parent"] is not None:
        return f"it is a subagent's: {turn['parent']!r} has its failure, and decides how to go on."
    if turn["state"] == "open":
        return f"turn {turn['number']} is still open. `holdfast watch` shows it, `holdfast stop` ends it."
    if turn["waiting"]:
        return "it goes on already, with a prompt or a retry that is about to be taken."
    if turn["reason"] != CloseReason.FAILED:
        return f"its last turn did not fail, it ended as {turn['reason']!r}. `holdfast send` gives it a new prompt."
    return None
