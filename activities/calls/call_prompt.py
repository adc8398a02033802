"""A call's own prompt for its session."""

from activities.calls.open_claim import require_open_claim
from activities.store import prompts
from activities.store.calls import CallRow
from activities.store.database import Database
from activities.store.journal import WORKER, session_journal
from workflows.domain.fence import Fence
from workflows.domain.ids import MessageId, PartId, Prefix
from workflows.domain.prompt import Prompt


def prompt_of_call(call: PartId) -> MessageId:
    """The same for every attempt."""
    return MessageId(f"{Prefix.MESSAGE}{call.removeprefix(Prefix.PART)}")


async def queue_prompt(database: Database, call: CallRow, fence: Fence, prompt: Prompt) -> None:
    """Accept it, once. Raises as `require_open_claim`."""
    async with session_journal(database, call.session, WORKER, epoch=fence.epoch) as journal:
        await require_open_claim(journal, call, fence)
        await prompts.accept(journal, prompt_of_call(call.id), prompt)
