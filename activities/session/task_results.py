"""Results of background tasks, given to the sessions whose calls have begun them: each by one prompt."""

import logging
from collections.abc import Iterable
from time import time_ns
from typing import Final, NamedTuple

from activities.calls.subagent import Deliver, read_status
from activities.failpoints import failpoint
from activities.fault_limit import MAX_FAULTS
from activities.store import calls, faults, prompts, tasks
from activities.store.database import Database
from activities.store.journal import WORKER, session_journal
from activities.store.tasks import EndedTask
from activities.tools.task import background_failure, background_result
from activities.turn_context import output_limits
from workflows.domain.errors import Unavailable
from workflows.domain.events.tasks import TaskSettled
from workflows.domain.ids import SessionId
from workflows.domain.messages import TaskEnd, TextPart
from workflows.domain.prompt import Prompt

_LOG: Final = logging.getLogger("holdfast.tools")


class _Result(NamedTuple):
    """What a session learns of a task. `settled`: the end of the subagent's log, if it could be read."""

    text: str
    title: str
    failed: bool
    settled: TaskSettled | None


async def deliver_results(database: Database, ended: Iterable[EndedTask], deliver: Deliver | None = None) -> None:
    """Give each result to its session as a prompt; signal it, unless a run reads it anyway. The sweeper repeats what
    fails here; after MAX_FAULTS failures the session gets an error in place of the result."""
    for task in ended:
        try:
            await _accept_or_give_up(database, task)
            await failpoint("task.delivered", task.call)
            if deliver is not None:
                await deliver(task.session)
        except Unavailable as error:
            _LOG.info("the result of task %s, or its signal, is not delivered yet: %s", task.call, error)
        except Exception:  # one must not delay the others
            _LOG.exception("the result of task %s is not delivered", task.call)


async def deliver_held_results(database: Database, session: SessionId) -> None:
    """Give the open turn the results that a stop held back or withdrew."""
    await deliver_results(database, await tasks.ended(database, session=session))


async def _accept_or_give_up(database: Database, task: EndedTask) -> None:
    try:
        await _accept(database, task, await _read(database, task))
    except Unavailable:
        raise
    except Exception as error:
        work = f"the result of task {task.call}"
        failures = await faults.count_failed_attempt(database, task.session, work, [time_ns()])
        if failures < MAX_FAULTS:
            raise
        if failures == MAX_FAULTS:  # else telling of it has failed, too
            _LOG.exception("given up: %s", work)
        why = f"Holdfast itself failed {failures} times at its result, the last time: {type(error).__name__}"
        await _accept(database, task, _Result(background_failure(task.child, why), "", failed=True, settled=None))


async def _read(database: Database, task: EndedTask) -> _Result | None:
    """A task's result; None if it was deleted."""
    found = await read_status(database, task.call)
    if found is None:
        return None
    call, environment = await calls.read(database, task.call)
    turn_config = await database.turn_configs.get(database, environment.turn_config)
    title = str(call.arguments.get("description", ""))
    text, failed = background_result(title, found, output_limits(turn_config))
    return _Result(text, title, failed, TaskSettled(call=task.call, child=task.child, seq=found.seq, head=found.head))


async def _accept(database: Database, task: EndedTask, result: _Result | None) -> None:
    """Once: the task's row says whether it was done."""
    if result is None:
        return
    async with session_journal(database, task.session, WORKER) as journal:
        undelivered = await tasks.undelivered(journal, task.call)
        if undelivered is None:
            return
        if journal.ended:
            tasks.deliver(journal, task.call, None)
            return
        end = TaskEnd(call=task.call, child=task.child, agent=task.agent, title=result.title, failed=result.failed)
        prompt = await prompts.mint(journal, journal.session)  # a new one: clients sort messages by their ids
        await prompts.accept(journal, prompt, Prompt(parts=(TextPart(text=result.text),), task_end=end))
        tasks.deliver(journal, task.call, prompt)
        if undelivered.withdrawn is None and result.settled is not None:
            journal.record(result.settled)
