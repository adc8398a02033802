"""Asks.open: records a question to a person before it is shown."""

import asyncio

from temporalio import activity

from activities.calls.permissions import PermissionEvaluator, request_at
from activities.fault_limit import count_faults
from activities.store import asks, calls, grants, turns
from activities.store.asks import AskAnswer, AskRow
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, session_journal
from workflows.domain.actor import Actor
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import Reply
from workflows.domain.wire import AskRequest, AskResult, AskState


class AskActivities:
    """Opens asks. A second run finds the row of the first."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @activity.defn(name="holdfast.asks.open")
    async def open(self, request: AskRequest) -> AskResult:
        """Open an ask, unless its turn is over, its call is settled, or a live grant covers it. An existing ask for the
        same request is returned instead."""
        async with count_faults(self.database, request, "this question", f"{request.call}/{request.request}"):
            return await self.find_or_open(request)

    async def find_or_open(self, request: AskRequest) -> AskResult:
        async with session_journal(self.database, request.session, WORKER, epoch=request.epoch) as journal:
            turn_status, call, all_asks, live = await asyncio.gather(
                turns.turn_status(journal, request.turn),
                calls.lock(journal, request.call),
                asks.of_call(journal, request.call),
                grants.list_live(journal),
            )
            known = asks.relevant_to(all_asks, call)
            if (
                turn_status.over
                or journal.ended
                or call.state is not CallState.PREPARED
                or any(ask.rejected for ask in known)
            ):
                return AskResult(state=AskState.CLOSED)
            found = next((ask for ask in known if ask.request == request.request), None)
            if found is not None:
                return AskResult(state=found.state, ask=found.id)
            body = request_at(call, request.request)
            if body is None or call.revision != request.revision:
                return AskResult(state=AskState.CLOSED)
            row = await asks.create(journal, call, request.ask, request.request, body)
            rules = (await turns.turn_config(journal, turn_status.turn_config)).rules
            return AskResult(state=_answer_by_grant(journal, row, PermissionEvaluator(rules, live)), ask=row.id)


def _answer_by_grant(journal: Journal, row: AskRow, evaluator: PermissionEvaluator) -> AskState:
    """Answer the ask by a grant that came after the call was judged."""
    found = evaluator.rules.finding(row.body, evaluator.live)
    grant = next((grant for grant in evaluator.live if grant.id == found.grant), None)
    if grant is None:
        return AskState.OPEN
    author = Actor(subject=grant.author, method="grant")
    asks.answer(journal, row, AskAnswer(reply=Reply.ALWAYS, by_grant=grant.id), author, notify=False)
    grants.count_uses(journal, [grant.id])
    return AskState.ANSWERED
