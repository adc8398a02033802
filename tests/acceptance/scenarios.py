"""Courses of events that a test and the mutant that it must catch have in common."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from activities.cancelling import ended
from activities.failpoints import ARRIVALS
from tests.acceptance.effects import effect
from tests.acceptance.proxy import proxy
from tests.acceptance.trial import Trial
from tests.house import reached
from tests.patience import appears
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.ids import AskId, MessageId, SessionId, workflow_id
from workflows.domain.wire import AnswerRef

Mutate = Callable[[str, str, str], Path]
DONE = ScriptedAnswer(text="Done.")
EDIT = ScriptedAnswer(
    tools=(ScriptedCall(name="edit", arguments={"filePath": "a.txt", "oldString": "a", "newString": "ab"}),)
)


SLOW = 8.0  # seconds without a heartbeat: a worker of other code than the nursery's is late with its first request
_SHELL = "activities/tools/bash.py"


HANDS_OVER = ScriptedAnswer(
    tools=(
        ScriptedCall(
            name="task",
            arguments={"description": "run it", "prompt": "[[script:child]] Run it.", "subagent_type": "general"},
        ),
    )
)


def runs(*tokens: str, hold: bool = False) -> ScriptedAnswer:
    """An answer that asks for commands, each with one countable effect."""
    return ScriptedAnswer(tools=tuple(effect(token, hold=hold) for token in tokens))


def hands_over(script: str) -> ScriptedAnswer:
    """An answer that hands its work to a subagent, which plays a script."""
    task = {"description": "work", "prompt": f"[[script:{script}]] Do it.", "subagent_type": "general"}
    return ScriptedAnswer(tools=(ScriptedCall(name="task", arguments=dict(task)),))


def unguarded(mutate: Mutate) -> Path:
    """Our code with a shell that starts a command for each attempt: only ledger and fence are left to prevent it."""
    named = "call=call.id,"  # what a command's lease, among others, is named by
    return mutate("activities/tools/workshop.py", named, 'call=f"{call.id}-{attempt}",')


def once(mutate: Mutate) -> Path:
    """Our code with a shell that cannot find out what it has done: a tool of the class *once*."""
    unguarded(mutate)
    mutate(_SHELL, "async def recover(", "async def recover_not(")
    return mutate(_SHELL, "recovery = Recovery.REATTACHABLE", "recovery = Recovery.ONCE")


async def forged_answer(trial: Trial) -> tuple[SessionId, AskId]:
    """Somebody who can only reach Temporal rings for an ask that nobody has answered."""
    trial.house.configure(permission={"bash": "ask"})
    await trial.worker()
    session = await trial.say("Run it.")
    (ask,) = await trial.house.asked(session)
    run = trial.house.temporal.get_workflow_handle(workflow_id(session))
    await run.signal("answer", AnswerRef(ask=ask))
    return session, ask


async def unheard_prompt(trial: Trial) -> MessageId:
    """A prompt is accepted by a door that does not reach the engine."""
    await trial.worker()
    session = await trial.say("Hello?")
    await trial.house.ended(session)
    async with trial.cut_off() as door:
        accepted = await door.prompt(session, "Are you there?")
    assert not accepted.rung
    return accepted.prompt


@asynccontextmanager
async def frozen(trial: Trial, point: str, said: str = "Run it.") -> AsyncIterator[SessionId]:
    """A worker is frozen at a point, and another one is there to take over; at the end of the block it wakes, as a
    zombie that does not know it, and carries out another turn: by then it has done whatever it was frozen at."""
    first = await trial.worker(faults=f"{point}=stop@1")
    session = await trial.say(said)
    await first.frozen()
    await trial.worker()
    yield session
    await wake(trial, session)


async def wake(trial: Trial, session: SessionId) -> None:
    """Have the first worker go on, alone, with another turn."""
    first, *others = trial.workers
    turns = [event.type for event in await trial.house.events(session)].count("turn.ended")
    first.wake()
    for other in others:
        await other.kill()
    await trial.door.prompt(session, "And now?")
    await trial.house.ended(session, turns + 1)


@asynccontextmanager
async def parted(trial: Trial, point: str, said: str) -> AsyncIterator[SessionId]:
    """A worker comes to a point and loses Temporal, while another one is there to take over; at the end of the block
    it goes on, as a zombie that does not know it."""
    gate = trial.directory / "zombie"
    async with proxy(trial.house.endpoints.temporal_address) as between:
        await trial.worker(faults=f"{point}=deaf:{gate}@1", temporal_address=between.address)
        session = await trial.say(said)
        await reached(gate)
        between.part()
        await trial.worker()
        yield session
        gate.touch()
        await over(trial, session)


async def over(trial: Trial, session: SessionId) -> None:
    """Wait until the zombie has come to its end: its write was refused, or (which must not be) was made."""
    arrivals = trial.directory / ARRIVALS
    ends = (
        trial.house.until(session, lambda event: event.type == "write.refused"),
        appears(lambda: "tool.committed" in arrivals.read_text()),
    )
    ways: list[asyncio.Task[object]] = [asyncio.create_task(each) for each in ends]
    try:
        await next(asyncio.as_completed(ways))
    finally:
        await ended(*ways)


async def outcome_of_a_zombie(trial: Trial) -> SessionId:
    """A worker has carried a call out, and has lost Temporal, when another one settles the call."""
    async with parted(trial, "tool.effect_done", "Run it.") as session:
        await trial.house.ended(session)
    return session


async def edit_of_a_zombie(trial: Trial) -> Path:
    """A worker that has claimed an edit has lost Temporal, when another one closes the stopped turn."""
    file = trial.house.file("a.txt", "a\n")
    async with parted(trial, "tool.claimed", "Edit it.") as session:
        await trial.door.stop(session)
        await trial.house.ended(session)
    return file
