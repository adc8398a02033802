"""The scenarios of the recorded histories: a script, and what a person does meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import ScheduleActionExecutionStartWorkflow

from activities.store import schedules
from activities.store.journal import session_journal
from tests.harness import ACTOR, Harness, wait_for_file
from tests.workflows.session_runs import activities
from worker.engine_schedules import EngineSchedules
from worker.outbox import SignalSender
from worker.scripted.script import Hold, Refuse, ScriptedAnswer, ScriptedCall, ScriptedUsage
from worker.settings import ResumePolicy
from worker.startup_suspension import suspend_all
from workflows.domain.generation import Purpose
from workflows.domain.hash_chain import LogPosition
from workflows.domain.ids import WORKFLOW_TYPE, ScheduleId, SessionId, scheduled_id, workflow_id
from workflows.domain.output_format import STRUCTURED_OUTPUT, OutputFormat
from workflows.domain.permissions.replies import Reply
from workflows.domain.prompt import Prompt
from workflows.domain.schedules.timing import parse_every
from workflows.domain.views.schedules import ScheduleTiming
from workflows.domain.wake_signal import WAKE, Wake, WakeKind

_POLL_INTERVAL = 0.05
DONE = ScriptedAnswer(text="Done.")
LOOK = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*.txt"}),))
LIMITED = DONE.model_copy(update={"faults": {1: Refuse(status=429, headers={"retry-after": "7200"})}})
REFUSED = Refuse(status=400, body={"error": {"message": "too long", "code": "context_length_exceeded"}})
TOO_LONG = DONE.model_copy(update={"faults": {1: REFUSED, 2: REFUSED}})
NOTES = ScriptedAnswer(text="## Objective\nGo.\n\n## Work state\nnone\n\n## Next move\nSay done.")
LIMITED_NOTES = NOTES.model_copy(update={"faults": LIMITED.faults})
FILLS = LOOK.model_copy(update={"usage": ScriptedUsage(input=70_000, output=10)})
GIVE = ScriptedAnswer(tools=(ScriptedCall(name=STRUCTURED_OUTPUT, arguments={"city": "Ulm"}),))
WRITE = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "a"}),))
CUT = ScriptedAnswer(text="I beg", finish="length")
CUT_CALL = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments='{"filePath": "a.'),), finish="length")
DELEGATES = ScriptedAnswer(
    tools=(
        ScriptedCall(
            name="task",
            arguments={"description": "look", "prompt": "[[script:child]] Looking.", "subagent_type": "general"},
        ),
    )
)
WAITS = ScriptedAnswer(
    tools=(
        ScriptedCall(name="wait", arguments={"until": "2s"}),
        ScriptedCall(name="wait", arguments={"token": "go", "at_most": "1d"}),
    )
)
PARALLEL = ScriptedAnswer(
    tools=tuple(ScriptedCall(name="read", arguments={"filePath": name}) for name in ("a.txt", "b.txt", "c.txt"))
)

ORDERED = ScriptedAnswer(
    tools=(
        ScriptedCall(name="read", arguments={"filePath": "a.txt"}),
        *(
            ScriptedCall(name="edit", arguments={"filePath": "a.txt", "oldString": old, "newString": new})
            for old, new in (("one", "1"), ("two", "2"), ("three", "3"))
        ),
        ScriptedCall(name="bash", arguments={"command": "cat a.txt"}),
    )
)


@dataclass(frozen=True)
class Scenario:
    """`play` starts a session (or what it returns) and brings it into the state to record. `workflow`: how the ids
    of the recorded workflows begin."""

    answers: tuple[ScriptedAnswer, ...]
    play: Callable[[Harness, Path], Awaitable[Any]]
    events: int | None = None
    child: tuple[ScriptedAnswer, ...] = ()
    summary: ScriptedAnswer | None = None
    workflow: Callable[[Any], str] = workflow_id


async def whole_turn(harness: Harness, _: Path) -> SessionId:
    session = await harness.start_session("Go.")
    await harness.ended(session)
    return session


async def cut(harness: Harness, gate: Path) -> SessionId:
    """Answers that the output limit has cut: one in its text, one in a call."""
    harness.configure_person(model={"limit": {"context": 100_000, "output": 4_000}})
    return await whole_turn(harness, gate)


async def compacted(harness: Harness, _: Path) -> SessionId:
    harness.configure_person(model={"limit": {"context": 100_000, "output": 32_000}})
    session = await harness.start_session("Go. " * 50)
    await harness.ended(session)
    return session


async def outgrown(harness: Harness, gate: Path) -> SessionId:
    """A larger model takes over where the context fits the turn's own in no way."""
    limit = {"context": 100_000, "output": 32_000}
    harness.configure_person(model={"limit": limit}, holdfast={"larger_model": "scripted/larger"})
    return await whole_turn(harness, gate)


async def outgrown_asked(harness: Harness, _: Path) -> SessionId:
    """A person is asked, and names one."""
    session = await harness.start_session("Go.")
    await harness.wait_for_asks(session)
    (entry,) = await harness.client.inbox.asks(session=session)
    await harness.answer(entry.id, Reply.ANSWER, answers=(("scripted/larger",),))
    await harness.ended(session)
    return session


async def compaction_paused(harness: Harness, _: Path) -> SessionId:
    """A person has an idle session compacted, which is a turn of its own, and ends the provider's long pause."""
    session = await compacted(harness, _)
    before = await completed(harness, session)
    await harness.client.compact(session)
    while await completed(harness, session) < before + 2:  # the load, and the request that was refused
        await asyncio.sleep(_POLL_INTERVAL)
    await harness.client.wake(session)
    await harness.ended(session, 2)
    return session


async def paused(harness: Harness, _: Path) -> SessionId:
    """The provider's long pause is ended by a person."""
    session = await harness.start_session("Go.")
    while await completed(harness, session) < 2:  # the load, and the step that was refused
        await asyncio.sleep(_POLL_INTERVAL)
    await harness.client.wake(session)
    await harness.ended(session)
    return session


async def budget_spent(harness: Harness, _: Path) -> SessionId:
    """It waits at its limit, is given more, and finishes at the next one."""
    harness.configure_person(model={}, holdfast={"budget": {"session": {"steps": 1}}})
    session = await harness.start_session("Go.")
    for times, answer in ((1, "1"), (2, "Finish")):
        await harness.wait_for_asks(session, times)
        (entry,) = await harness.client.inbox.asks(session=session)
        await harness.answer(entry.id, Reply.ANSWER, answers=((answer,),))
    await harness.ended(session)
    return session


async def day_spent(harness: Harness, _: Path) -> SessionId:
    """It waits at the limit of its project's day, with a timer, and is given more."""
    harness.configure_person(model={}, holdfast={"budget": {"project": {"day": {"steps": 1}}}})
    session = await harness.start_session("Go.")
    await harness.wait_for_asks(session)
    (entry,) = await harness.client.inbox.asks(session=session)
    await harness.answer(entry.id, Reply.ANSWER, answers=(("5",),))
    await harness.ended(session)
    return session


async def titled(harness: Harness, gate: Path) -> SessionId:
    harness.configure_person(model={}, agent={"title": {}})
    session = await whole_turn(harness, gate)
    await harness.until(session, lambda event: event.type == "session.titled")
    await harness.workflow(session).result()
    return session


async def summed_up(harness: Harness, gate: Path) -> SessionId:
    session = await whole_turn(harness, gate)
    asked = await harness.client.asides.ask(session, Purpose.SUMMARY)
    await harness.until(session, lambda event: getattr(event, "generation", None) == asked.generation, 2)
    await harness.workflow(session).result()
    return session


async def structured_output(harness: Harness, _: Path) -> SessionId:
    """An answer in text is corrected."""
    owing = OutputFormat(json_schema={"type": "object"})
    prompt = Prompt.of_text("Go.", model="scripted/model", format=owing)
    session = (await harness.client.start(str(harness.project), prompt)).session
    await harness.ended(session)
    return session


async def steps_used_up(harness: Harness, gate: Path) -> SessionId:
    harness.configure(agent={"build": {"steps": 1}})
    return await whole_turn(harness, gate)


async def idle_exit(harness: Harness, gate: Path) -> SessionId:
    """An idle run completes after its idle time."""
    session = await whole_turn(harness, gate)
    await harness.workflow(session).result()
    return session


async def ask_waiting(harness: Harness, _: Path) -> SessionId:
    harness.configure(permission={"edit": "ask"})
    session = await harness.start_session("Go.")
    await harness.wait_for_asks(session)
    return session


async def ask_answered(harness: Harness, gate: Path) -> SessionId:
    session = await ask_waiting(harness, gate)
    for entry in await harness.client.inbox.asks(session=session):
        await harness.answer(entry.id)
    await harness.ended(session)
    return session


async def ordered(harness: Harness, _: Path) -> SessionId:
    """Edits of one file, of which the first is refused, and what looks at it before and after them."""
    harness.configure(permission={"edit": "ask"})
    harness.file("a.txt", "one\ntwo\nthree\n")
    session = await harness.start_session("Go.")
    await harness.wait_for_asks(session, 3)
    first = min(await harness.client.inbox.asks(session=session), key=lambda entry: len(entry.builds_on))
    await harness.answer(first.id, Reply.REJECT, feedback="not this one")
    await harness.wait_for_asks(session, 5)
    for entry in await harness.client.inbox.asks(session=session):
        await harness.answer(entry.id)
    await harness.ended(session)
    return session


async def rejected(harness: Harness, _: Path) -> SessionId:
    """A reject that ends the turn: nothing else of the answer begins."""
    harness.configure(permission={"edit": "ask"})
    harness.file("a.txt", "one\ntwo\nthree\n")
    session = await harness.start_session("Go.")
    asks = await harness.wait_for_asks(session, 3)
    await harness.answer(asks[0], Reply.REJECT)
    await harness.ended(session)
    return session


async def reloaded(harness: Harness, gate: Path) -> SessionId:
    """A run that waits for a person loads its rows again in place, and waits on."""
    session = await ask_waiting(harness, gate)
    before = await completed(harness, session)
    await harness.workflow(session).signal(WAKE, Wake(kind=WakeKind.REFRESH))
    while await completed(harness, session) == before:
        await asyncio.sleep(_POLL_INTERVAL)
    for entry in await harness.client.inbox.asks(session=session):
        await harness.answer(entry.id)
    await harness.ended(session)
    return session


async def steered(harness: Harness, gate: Path) -> SessionId:
    session = await harness.start_session("Go.")
    await wait_for_file(gate)
    await harness.client.prompt(session, "And this.")
    gate.touch()
    await harness.ended(session)
    return session


async def stopped(harness: Harness, gate: Path) -> SessionId:
    session = await harness.start_session("Go.")
    await wait_for_file(gate)
    await harness.client.stop(session)
    await harness.ended(session)
    return session


async def child_waiting(harness: Harness, _: Path) -> SessionId:
    harness.configure(permission={"edit": "ask"})
    session = await harness.start_session("Go.")
    await harness.until(session, lambda event: event.type == "task.started")
    await harness.wait_for_asks((await harness.client.sessions.tree(session))[1])
    return session


async def child_answered(harness: Harness, gate: Path) -> SessionId:
    session = await child_waiting(harness, gate)
    for entry in await harness.client.inbox.asks(session=session):
        await harness.answer(entry.id)
    await harness.ended(session)
    return session


async def child_stopped(harness: Harness, gate: Path) -> SessionId:
    session = await child_waiting(harness, gate)
    await harness.client.stop(session)
    await harness.ended(session)
    return session


async def suspended(harness: Harness, _: Path) -> SessionId:
    """An answered call is refused while its session is suspended, and runs when it resumes."""
    session = await ask_waiting(harness, _)
    ask = harness.settings.model_copy(update={"resume": ResumePolicy.ASK})
    await suspend_all(ask, harness.endpoints.postgres_url, print)
    before = await completed(harness, session)
    for entry in await harness.client.inbox.asks(session=session):
        await harness.answer(entry.id)
    while await completed(harness, session) == before:
        await asyncio.sleep(_POLL_INTERVAL)
    await harness.client.resume(session)
    await harness.ended(session)
    return session


async def put_back(harness: Harness, _: Path) -> SessionId:
    """A run has seen more than the log has: it loads the rows as they are, and goes on when a person resumes it."""
    session = await ask_waiting(harness, _)
    await harness.workflow(session).terminate()
    sender = SignalSender(harness.database, harness.temporal, harness.settings)
    state, queue = sender.state(session, LogPosition(99, "0a1b2c3d")), harness.settings.task_queue
    await harness.temporal.start_workflow(WORKFLOW_TYPE, state, id=workflow_id(session), task_queue=queue)
    await harness.until(session, lambda event: event.type == "session.suspended")
    await harness.client.resume(session)
    for entry in await harness.client.inbox.asks(session=session):
        await harness.answer(entry.id)
    await harness.ended(session)
    return session


async def slow_quick_call(harness: Harness, _: Path) -> SessionId:
    """A quick call that cannot be claimed within its second becomes an activity of its own."""
    session = await harness.start_session("Go.")
    await harness.until(session, lambda event: event.type == "message.completed")
    async with session_journal(harness.database, session, ACTOR) as journal:
        await journal.locked()
        while "holdfast.tools.run" not in activities(await harness.history(session)):
            await asyncio.sleep(_POLL_INTERVAL)
    await harness.ended(session)
    return session


async def completed(harness: Harness, session: SessionId) -> int:
    """The session's number of completed activities."""
    history = await harness.history(session)
    return sum(event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED for event in history.events)


async def retried(harness: Harness, _: Path) -> SessionId:
    """A turn without a model fails, and is retried with one."""
    session = (await harness.client.start(str(harness.project), "Go.")).session
    await harness.ended(session)
    await harness.client.retry(session, model="scripted/model")
    await harness.ended(session, 2)
    return session


async def waited(harness: Harness, _: Path) -> SessionId:
    """One wait ends by its moment, the other by a poke, over several runs."""
    session = await harness.start_session("Go.")
    await harness.until(session, lambda event: event.type == "wait.ended")
    await harness.client.waits.poke("go", "It is time.")
    await harness.ended(session)
    return session


def asides(session: SessionId) -> str:
    return f"aside/{session}/"


async def scheduled(harness: Harness, _: Path) -> ScheduleId:
    """Temporal starts the workflow of a schedule."""
    timing = ScheduleTiming(words="hourly", recurrence=parse_every("hourly"), zone="Etc/UTC")
    prompt = Prompt.of_text("Go.", model="scripted/model")
    schedule = (await harness.client.schedules.start_sessions(str(harness.project), prompt, timing)).id
    engine = EngineSchedules(harness.temporal, harness.settings.task_queue)
    for each in await schedules.wanted(harness.database):
        await engine.create(each)
    handle = harness.temporal.get_schedule_handle(schedule)
    await handle.trigger()
    while not (actions := (await handle.describe()).info.recent_actions):
        await asyncio.sleep(_POLL_INTERVAL)
    started = actions[0].action
    assert isinstance(started, ScheduleActionExecutionStartWorkflow)
    await harness.temporal.get_workflow_handle(started.workflow_id).result()
    return schedule


def held_answer(gate: Path) -> ScriptedAnswer:
    return LOOK.model_copy(update={"text": "Looking.", "faults": {1: Hold(after=1, path=str(gate))}})


def scenarios(gate: Path) -> dict[str, Scenario]:
    """All scenarios; a held answer waits at the file `gate`."""
    return {
        "plain_turn": Scenario((DONE,), whole_turn),
        "idle_exit": Scenario((DONE,), idle_exit),
        "parallel_calls": Scenario((PARALLEL, DONE), whole_turn),
        "ordered": Scenario((ORDERED, DONE), ordered),
        "rejected": Scenario((ORDERED, DONE), rejected),
        "slow_quick_call": Scenario((LOOK, DONE), slow_quick_call),
        "ask_waiting": Scenario((WRITE, DONE), ask_waiting),
        "ask_answered": Scenario((WRITE, DONE), ask_answered),
        "reloaded": Scenario((WRITE, DONE), reloaded),
        "steered": Scenario((held_answer(gate), DONE), steered),
        "stopped": Scenario((held_answer(gate), DONE), stopped),
        "continued_as_new": Scenario((LOOK, LOOK, WRITE, DONE), ask_answered, events=15),
        "budget_spent": Scenario((LOOK, LOOK, DONE), budget_spent),
        "day_spent": Scenario((LOOK, DONE), day_spent),
        "cut": Scenario((CUT, CUT_CALL, DONE), cut),
        "compacted": Scenario((FILLS, DONE), compacted, summary=NOTES),
        "compaction_paused": Scenario((DONE,), compaction_paused, summary=LIMITED_NOTES),
        "outgrown": Scenario((LOOK, TOO_LONG), outgrown, summary=NOTES),
        "outgrown_asked": Scenario((LOOK, TOO_LONG), outgrown_asked, summary=NOTES),
        "paused": Scenario((LIMITED,), paused),
        "titled": Scenario((DONE,), titled, summary=DONE),
        "title_asked": Scenario((DONE,), titled, summary=DONE, workflow=asides),
        "summed_up": Scenario((DONE,), summed_up, summary=DONE),
        "summary_asked": Scenario((DONE,), summed_up, summary=DONE, workflow=asides),
        "scheduled": Scenario((), scheduled, workflow=scheduled_id),
        "steps_used_up": Scenario((WRITE, WRITE), steps_used_up),
        "structured_output": Scenario((DONE, GIVE), structured_output),
        "waited": Scenario((WAITS, DONE), waited, events=15),
        "suspended": Scenario((WRITE, DONE), suspended),
        "put_back": Scenario((WRITE, DONE), put_back),
        "retried": Scenario((DONE,), retried),
        "child_waiting": Scenario((DELEGATES, DONE), child_waiting, child=(WRITE, DONE)),
        "child_answered": Scenario((DELEGATES, DONE), child_answered, child=(WRITE, DONE), events=15),
        "child_stopped": Scenario((DELEGATES, DONE), child_stopped, child=(WRITE, DONE)),
    }
