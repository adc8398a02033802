"""Turns.outgrow: what becomes of a turn whose context fits its model in no way."""

import asyncio

from temporalio import activity

from activities.fault_limit import count_faults
from activities.new_ids import new_id
from activities.store import asks, turns
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, session_journal
from workflows.domain.ids import AskId, Prefix
from workflows.domain.turn_questions import overflow_question, question_digest
from workflows.domain.wire import AskState, OutgrowRequest, OutgrowResult, OutgrowState


class OverflowActivities:
    """Has the configured larger model take over, else asks a person. A second run finds what the first one did."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @activity.defn(name="holdfast.turns.outgrow")
    async def outgrow(self, request: OutgrowRequest) -> OutgrowResult:
        subject = f"{request.turn}/{request.step}"
        async with (
            count_faults(self.database, request, "a context that is too long", subject),
            session_journal(self.database, request.session, WORKER, epoch=request.epoch) as journal,
        ):
            return await self.find_way(journal, request)

    async def find_way(self, journal: Journal, request: OutgrowRequest) -> OutgrowResult:
        status, asked = await asyncio.gather(
            turns.turn_status(journal, request.turn), asks.newest_of_turn(journal, request.turn)
        )
        if status.over or journal.ended:
            return OutgrowResult(state=OutgrowState.STOPPED)
        if journal.suspension is not None:
            return OutgrowResult(state=OutgrowState.SUSPENDED)
        if asked is not None and asked.state is AskState.OPEN:
            return OutgrowResult(state=OutgrowState.ASKED, ask=asked.id)
        change = f"{request.epoch}-{request.sequence}"
        larger = (await turns.turn_config(journal, status.turn_config)).config.holdfast.larger_model
        if await turns.was_changed(journal, request.turn, change):
            return OutgrowResult(state=OutgrowState.ENLARGED)
        if larger is not None and larger != status.model:
            turns.change_model(journal, request.turn, larger, change, reason=request.reason)
            return OutgrowResult(state=OutgrowState.ENLARGED)
        ask, question = AskId(new_id(Prefix.ASK)), overflow_question(status.model, request.reason)
        asks.create_of_turn(journal, request.turn, ask, question, question_digest(question))
        return OutgrowResult(state=OutgrowState.ASKED, ask=ask)
