"""Turns.close: settles every call, closes every ask, and stops what still runs."""

import asyncio
from contextlib import suppress
from functools import partial
from typing import Final

from temporalio import activity

from activities.activity_fence import fence_of
from activities.calls import outcomes
from activities.calls.effect import CallEffects
from activities.failpoints import failpoint
from activities.fault_limit import GivenUp, count_faults
from activities.heartbeat import heartbeats
from activities.project import worktree
from activities.session.task_results import deliver_results
from activities.store import (
    asks,
    calls,
    outbox,
    reservations,
    sessions,
    stops,
    suspensions,
    tasks,
    turns,
    work,
    work_kinds,
)
from activities.store.calls import CallRow
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, session_journal
from workflows.domain.errors import ConfigError, StaleFence, Unavailable
from workflows.domain.fence import Fence
from workflows.domain.ids import SessionId, TurnId
from workflows.domain.messages import CallState
from workflows.domain.wire import CloseReason, CloseRequest, CloseResult

_WITHOUT_REST: Final = (CloseReason.STOPPED, CloseReason.ENDED)  # also after a step that the run has not seen


class TurnActivities:
    """Closes turns. A second run settles what the first one left."""

    def __init__(self, database: Database, effects: CallEffects) -> None:
        self.database = database
        self.effects = effects

    @activity.defn(name="holdfast.turns.close")
    async def close(self, request: CloseRequest) -> CloseResult:
        async with heartbeats():
            try:
                return await self.end_or_give_up(request, fence_of(request))
            except GivenUp as given_up:
                async with session_journal(self.database, request.session, WORKER, epoch=request.epoch) as journal:
                    if await suspensions.suspend_broken(journal, given_up.text):
                        return CloseResult(prompts_waiting=False, ended=request.end)
                raise

    async def end_or_give_up(self, request: CloseRequest, fence: Fence) -> CloseResult:
        subject = f"{request.epoch}-{request.sequence}"
        counting = partial(count_faults, self.database, request, "the end of a turn", subject)
        try:
            async with counting():
                return await self.end_turn(request, fence)
        except GivenUp as given_up:
            async with counting():
                return await self.end_turn(request, fence, given_up.text)

    async def end_turn(self, request: CloseRequest, fence: Fence, given_up: str | None = None) -> CloseResult:
        """`given_up`: why claimed calls become unknown without another attempt to end them."""
        turn, directory_identity, is_child = request.turn, None, True
        if turn is not None:
            claimed = await self.take_over_claims(request, turn, fence)
            await asyncio.gather(*(self.settle(fence, call, given_up) for call in claimed))
            origin = await sessions.origin(self.database, request.session)
            is_child = origin.ancestors > 0
            with suppress(ConfigError):
                directory_identity = await worktree.find_identity(origin.directory)
        async with session_journal(self.database, request.session, WORKER, epoch=request.epoch) as journal:
            if request.end:
                await sessions.end(journal, "cancelled by an operator")
                await work_kinds.withdraw_untaken(journal, "session ended")
                await stops.stop_background(journal)
                suspensions.settle(journal)
            if turn is not None:
                await self.close_turn(journal, request, turn)
                sessions.save_directory_identity(journal, directory_identity)
            untaken = await work.oldest_untaken(journal) is not None
            waits = untaken and not journal.ended and journal.suspension is None
            closed = CloseResult(prompts_waiting=waits, ended=journal.ended or request.end)
        await failpoint("task.settled")
        if is_child:
            await self.notify_callers(request.session)
        return closed

    async def notify_callers(self, session: SessionId) -> None:
        """Signal the sessions that this one worked for, or give them its result; the sweeper repeats it if
        necessary."""
        callers, ended = await asyncio.gather(
            outbox.callers(self.database, session), tasks.ended(self.database, child=session)
        )
        for caller in callers:
            with suppress(Unavailable):
                await self.effects.deliver(caller)
        await deliver_results(self.database, ended, self.effects.deliver)

    async def take_over_claims(self, request: CloseRequest, turn: TurnId, fence: Fence) -> list[CallRow]:
        """Put this fence on all claimed calls: earlier holders can write nothing more."""
        async with session_journal(self.database, request.session, WORKER, epoch=request.epoch) as journal:
            open_calls, turn_status, open_turn = await asyncio.gather(
                calls.unsettled(journal, turn), turns.turn_status(journal, turn), turns.open_turn(journal)
            )
            if open_turn is not None and open_turn.step > request.step and request.reason not in _WITHOUT_REST:
                raise StaleFence(f"Turn {turn!r} has begun step {open_turn.step}: its run has seen {request.step}.")
            claimed = [call for call in open_calls if call.state is CallState.CLAIMED]
            for call in claimed:
                if not fence.may_take(call.fence):
                    raise StaleFence(f"Call {call.id!r} is claimed by a later attempt: {call.fence}, not {fence}.")
                calls.reclaim(journal, call, fence, turn_status.turn_config)
        return claimed

    async def settle(self, fence: Fence, call: CallRow, given_up: str | None) -> None:
        settlement = await self.effects.stop(call, fence, given_up)
        await calls.settle_claimed(self.database, call, fence, *settlement)

    async def close_turn(self, journal: Journal, request: CloseRequest, turn: TurnId) -> None:
        asked = await asks.close_of_turn(journal, turn, f"the turn ended ({request.reason})")
        waiting = asked if request.reason is CloseReason.STOPPED else ()
        for call in await calls.unsettled(journal, turn):
            if call.state is CallState.CLAIMED:  # by a paused attempt, after the takeover
                raise Unavailable(f"Call {call.id!r} was claimed while its turn was being closed: closing it again.")
            calls.settle(journal, call, *outcomes.interrupted("stopped_waiting" if call.id in waiting else "not_begun"))
        await turns.close(journal, turn, request.reason, request.error)
        await reservations.charge_turn(journal, turn)
