"""A call's own prompt for its session."""

from activities.store import calls, prompts, turns
from activities.store.calls import CallRow
from activities.store.database import Database
from activities.store.journal import WORKER, session_journal
from activities.tools.tool import ABORTED
from workflows.domain.errors import CallStopped, StaleFence
from workflows.domain.ids import MessageId, PartId, Prefix
from workflows.domain.prompt import Prompt
from workflows.domain.wire import Fence


def prompt_of_call(call: PartId) -> MessageId:
    """The same for every attempt."""
    return MessageId(f"{Prefix.MESSAGE}{call.removeprefix(Prefix.PART)}")


async def queue_prompt(database: Database, call: CallRow, fence: Fence, prompt: Prompt) -> None:
    """Accept it, once. Raises StaleFence when another attempt holds the claim, CallStopped when the turn is over."""
    async with session_journal(database, call.session, WORKER, epoch=fence.epoch) as journal:
        row = await calls.lock(journal, call.id)
        if row.settled or row.fence != fence:
            raise StaleFence(f"Call {row.id!r} is {row.state} under {row.fence}, this attempt is {fence}.")
        if (await turns.turn_status(journal, call.turn)).over or journal.ended:
            raise CallStopped(ABORTED)
        await prompts.accept(journal, prompt_of_call(call.id), prompt)
