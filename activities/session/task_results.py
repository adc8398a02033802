"""Results of background tasks, given to the sessions whose calls have begun them: each by one prompt."""

import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from activities.calls.subagent import Deliver, read_status
from activities.failpoints import failpoint
from activities.new_ids import new_id
from activities.store import calls, prompts, tasks
from activities.store.database import Database
from activities.store.journal import WORKER, session_journal
from activities.store.tasks import EndedTask
from activities.tools.task import background_result
from activities.tools.tool import SubagentStatus
from workflows.domain.errors import HoldfastError, Unavailable
from workflows.domain.events.tasks import TaskSettled
from workflows.domain.ids import MessageId, Prefix, SessionId
from workflows.domain.messages import TaskEnd, TextPart
from workflows.domain.prompt import Prompt

_LOG: Final = logging.getLogger("holdfast.tools")


async def deliver_results(database: Database, ended: Iterable[EndedTask], deliver: Deliver | None = None) -> None:
    """Accept their prompts; signal them, unless a run reads them anyway. The sweeper repeats what fails here."""
    for task in ended:
        try:
            await _accept_result(database, task)
        except Unavailable as error:
            _LOG.info("the result of task %s is not delivered yet: %s", task.call, error)
            continue
        except HoldfastError:  # one must not delay the others
            _LOG.exception("the result of task %s is not delivered", task.call)
            continue
        await failpoint("task.delivered", task.call)
        if deliver is not None:
            with suppress(Unavailable):
                await deliver(task.session)


async def tell_of_held(database: Database, session: SessionId) -> None:
    """Have the open turn read what ended with a stop, or was withdrawn by one."""
    await deliver_results(database, await tasks.held(database, session))


async def _accept_result(database: Database, task: EndedTask) -> None:
    """Once: the task's row says whether it was done."""
    found = await read_status(database, task.call)
    if found is None:
        return
    call, _ = await calls.read(database, task.call)
    description = str(call.arguments.get("description", ""))
    async with session_journal(database, task.session, WORKER) as journal:
        undelivered = await tasks.lock_undelivered(journal, task.call)
        if undelivered is None:
            return
        if journal.ended:
            tasks.deliver(journal, task.call, None)
            return
        prompt = MessageId(new_id(Prefix.MESSAGE))  # a new one: clients sort messages by their ids
        await prompts.accept(journal, prompt, _prompt(task, found, description))
        tasks.deliver(journal, task.call, prompt)
        if undelivered.withdrawn is None:
            journal.record(TaskSettled(call=task.call, child=found.session, seq=found.seq, head=found.head))


def _prompt(task: EndedTask, found: SubagentStatus, description: str) -> Prompt:
    text, failed = background_result(description, found)
    end = TaskEnd(call=task.call, child=found.session, agent=found.agent, title=description, failed=failed)
    return Prompt(parts=(TextPart(text=text),), task_end=end)
