"""Whether an attempt may still begin something for its call."""

import asyncio

from activities.store import calls, turns
from activities.store.calls import CallRow
from activities.store.journal import Journal
from activities.store.turns import TurnStatus
from prompts import render_prompt
from workflows.domain.errors import CallStopped, StaleFence
from workflows.domain.fence import Fence


async def require_open_claim(journal: Journal, call: CallRow, fence: Fence) -> TurnStatus:
    """Locks the call; returns its turn. Raises StaleFence when another attempt holds the claim, CallStopped when the
    turn is over."""
    row, turn = await asyncio.gather(calls.lock(journal, call.id), turns.turn_status(journal, call.turn))
    if row.settled or row.fence != fence:
        raise StaleFence(f"Call {row.id!r} is {row.state} under {row.fence}, this attempt is {fence}.")
    if turn.over or journal.ended:
        raise CallStopped(render_prompt("tools/not_begun"))
    return turn
