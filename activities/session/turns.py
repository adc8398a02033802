"""Turns.close: a turn ends with every call settled, every ask closed, and nothing of it still running."""

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path

from temporalio import activity

from activities.failpoints import failpoint
from activities.giving_up import GivenUp, counting_faults
from activities.heartbeat import beating
from activities.mint import Mint
from activities.project import worktree
from activities.session.parking import park_broken
from activities.store import asks, bells, calls, parks, prompts, retries, sessions, turns
from activities.store.calls import CallRow
from activities.store.database import Database
from activities.store.journal import WORKER, Journal, journal
from activities.tools.run import aborted, end_claimed
from activities.tools.workshop import Workshop
from workflows.domain.errors import Unavailable
from workflows.domain.ids import SessionId, TurnId
from workflows.domain.messages import CallState
from workflows.domain.wire import Closed, CloseRequest, Fence


class Turns:
    """Closes turns. Running twice settles what the first attempt left."""

    def __init__(self, database: Database, workshop: Workshop) -> None:
        self.database = database
        self.workshop = workshop
        self.mint = Mint()

    @activity.defn(name="holdfast.turns.close")
    async def close(self, request: CloseRequest) -> Closed:
        """End the turn (and the session, if the request says so); tell whether untaken prompts wait."""
        async with beating():
            try:
                return await self.end_or_give_up(request, request.fence(activity.info().attempt))
            except GivenUp as given_up:
                if await park_broken(self.database, request, self.mint, given_up.text):
                    return Closed(untaken=False, ended=request.end)
                raise

    async def end_or_give_up(self, request: CloseRequest, fence: Fence) -> Closed:
        of = f"{request.chain}-{request.schedule}"
        counting = partial(counting_faults, self.database, request, "the end of a turn", of)
        try:
            async with counting():
                return await self.end_turn(request, fence)
        except GivenUp as given_up:
            async with counting():
                return await self.end_turn(request, fence, given_up.text)

    async def end_turn(self, request: CloseRequest, fence: Fence, given_up: str | None = None) -> Closed:
        """`given_up`: why calls that cannot be ended are called unknown, instead of being ended once more."""
        turn, place = request.turn, None
        if turn is not None:
            claimed = await self.take_over(request, turn, fence)
            await asyncio.gather(*(self.settle(request, fence, call, given_up) for call in claimed))
            origin = await sessions.origin(self.database, request.session)
            place = await asyncio.to_thread(worktree.whereabouts, Path(origin.directory))
        async with journal(self.database, request.session, WORKER, chain_start=request.chain) as opened:
            if request.end:
                await sessions.end(opened, "cancelled by an operator")
                await prompts.withdraw(opened, "session ended")
                await retries.withdraw(opened, "session ended")
                parks.settle(opened)
            if turn is not None:
                await self.finish(opened, request, turn)
                sessions.left(opened, place)
            untaken = await prompts.oldest(opened) is not None
            waits = untaken and not opened.ended and opened.parked is None
            closed = Closed(untaken=waits, ended=opened.ended or request.end)
        await failpoint("task.settled")
        await self.tell_parents(request.session)
        return closed

    async def tell_parents(self, session: SessionId) -> None:
        """Ring at the calls that this session has worked for as a subagent; the sweeper does what fails here."""
        for bell in await bells.unheard(self.database, session):
            with suppress(Unavailable):
                await self.workshop.ring(bell)

    async def take_over(self, request: CloseRequest, turn: TurnId, fence: Fence) -> list[CallRow]:
        """Put this fence on what is still claimed: whoever held it can write nothing more."""
        async with journal(self.database, request.session, WORKER, chain_start=request.chain) as opened:
            open_calls, standing = await asyncio.gather(calls.unsettled(opened, turn), turns.standing(opened, turn))
            claimed = [call for call in open_calls if call.state is CallState.CLAIMED]
            for call in claimed:
                calls.reclaim(opened, call, fence, standing.snapshot)
        return claimed

    async def settle(self, request: CloseRequest, fence: Fence, call: CallRow, given_up: str | None) -> None:
        """End what a claimed call still has running, and write what can be said of it."""
        state, outcome = await end_claimed(self.workshop, call, fence, given_up)
        async with journal(self.database, request.session, WORKER, chain_start=request.chain) as opened:
            row = await calls.lock(opened, call.id)
            if not row.settled:
                calls.settle(opened, row, state, outcome)

    async def finish(self, opened: Journal, request: CloseRequest, turn: TurnId) -> None:
        await asks.close_open_of_turn(opened, turn, f"the turn ended ({request.reason})")
        for call in await calls.unsettled(opened, turn):
            if call.state is CallState.CLAIMED:  # by a paused attempt, since its claims were taken over
                raise Unavailable(f"Call {call.id!r} was claimed while its turn was being closed: closing it again.")
            calls.settle(opened, call, CallState.CANCELLED, aborted())
        await turns.close(opened, turn, request.reason, request.error)
