"""Asks.open: records a question to a person before it is shown."""

import asyncio

from temporalio import activity

from activities.calls.permissions import body_of
from activities.fault_limit import count_faults
from activities.session.answers import answer_covered
from activities.store import asks, calls, turns
from activities.store.database import Database
from activities.store.journal import WORKER, session_journal
from workflows.domain.messages import CallState
from workflows.domain.wire import AskRequest, AskResult, AskState


class AskActivities:
    """Opens asks. A second run finds the row of the first."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @activity.defn(name="holdfast.asks.open")
    async def open(self, request: AskRequest) -> AskResult:
        """Open an ask, unless its turn is over, its call is settled, or live grants cover it. An existing ask for the
        same requests is returned instead; what was answered before is not asked again."""
        asked = "/".join(map(str, (request.call, *request.requests)))
        async with count_faults(self.database, request, "this question", asked):
            return await self.find_or_open(request)

    async def find_or_open(self, request: AskRequest) -> AskResult:
        async with session_journal(self.database, request.session, WORKER, epoch=request.epoch) as journal:
            turn_status, call, all_asks = await asyncio.gather(
                turns.turn_status(journal, request.turn),
                calls.lock(journal, request.call),
                asks.of_call(journal, request.call),
            )
            known = asks.relevant_to(all_asks, call)
            if (
                turn_status.over
                or journal.ended
                or call.state is not CallState.PREPARED
                or any(ask.rejected for ask in known)
            ):
                return AskResult(state=AskState.CLOSED)
            found = [ask for ask in known if not set(request.requests).isdisjoint(ask.requests)]
            due = tuple(index for index in request.requests if all(index not in ask.requests for ask in found))
            undecided = next((ask for ask in found if ask.state is not AskState.ANSWERED), None)
            if undecided is not None or not due:
                last = undecided or found[-1]
                return AskResult(state=last.state, ask=last.id)
            body = body_of(call, due)
            if body is None or call.revision != request.revision:
                return AskResult(state=AskState.CLOSED)
            row = await asks.create(journal, call, request.ask, due, body)
            rules = (await turns.turn_config(journal, turn_status.turn_config)).rules
            answered = await answer_covered(journal, [row], rules, notify=False)
            return AskResult(state=AskState.ANSWERED if answered else AskState.OPEN, ask=row.id)
