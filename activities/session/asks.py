"""Asks.open: a question to a person becomes a row, before anyone can see it."""

import asyncio

from temporalio import activity

from activities.giving_up import counting_faults
from activities.session.judging import Judge, request_of
from activities.store import asks, calls, grants, turns
from activities.store.asks import Answer, AskRow
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, journal
from workflows.domain.events import Actor
from workflows.domain.messages import CallState
from workflows.domain.permissions.findings import finding
from workflows.domain.permissions.replies import Reply
from workflows.domain.wire import AskOpened, AskRequest, AskState


class Asks:
    """Opens asks. Running twice finds the row that the first attempt wrote."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @activity.defn(name="holdfast.asks.open")
    async def open(self, request: AskRequest) -> AskOpened:
        """Open an ask, unless its turn is over, the call is settled, or a live grant covers it by now.

        One that is there already stays the only one, whatever id it was asked for under.
        """
        async with counting_faults(self.database, request, "this question", f"{request.call}/{request.request}"):
            return await self.put(request)

    async def put(self, request: AskRequest) -> AskOpened:
        async with journal(self.database, request.session, WORKER, chain_start=request.chain) as opened:
            standing, call, all_asks, live = await asyncio.gather(
                turns.standing(opened, request.turn),
                calls.lock(opened, request.call),
                asks.of_call(opened, request.call),
                grants.live(opened),
            )
            known = asks.counting(all_asks, call)
            if (
                standing.over
                or opened.ended
                or call.state is not CallState.PREPARED
                or any(ask.rejected for ask in known)
            ):
                return AskOpened(state=AskState.CLOSED)
            found = next((ask for ask in known if ask.request == request.request), None)
            if found is not None:
                return AskOpened(state=found.state, ask=found.id)
            body = request_of(call, request.request)
            if body is None or call.revision != request.revision:
                return AskOpened(state=AskState.CLOSED)
            row = await asks.put(opened, call, request.ask, request.request, body)
            rules = (await turns.snapshot(opened, standing.snapshot)).rules
            return AskOpened(state=_by_grant(opened, row, Judge(rules, live)), ask=row.id)


def _by_grant(opened: Journal, row: AskRow, by: Judge) -> AskState:
    """A grant that was given since the call was judged answers the ask at once."""
    found = finding(row.body, by.rules, by.live)
    grant = next((grant for grant in by.live if grant.id == found.grant), None)
    if grant is None:
        return AskState.OPEN
    author = Actor(subject=grant.author, method="grant")
    asks.answer(opened, row, Answer(reply=Reply.ALWAYS, by_grant=grant.id), author, delivered=True)
    grants.used(opened, grant.id)
    return AskState.ANSWERED
