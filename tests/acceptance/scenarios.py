"""Courses of events that a test and the mutant that it must catch have in common."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from activities.failpoints import ARRIVALS
from tests.acceptance.effects import effect
from tests.acceptance.proxy import proxy
from tests.acceptance.trial import Trial
from tests.acceptance.workers import appears
from tests.house import reached
from worker.bells import workflow_id
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.ids import AskId, SessionId
from workflows.domain.wire import AnswerRef

DONE = ScriptedAnswer(text="Done.")
EDIT = ScriptedAnswer(
    tools=(ScriptedCall(name="edit", arguments={"filePath": "a.txt", "oldString": "a", "newString": "ab"}),)
)


def runs(*tokens: str, hold: bool = False) -> ScriptedAnswer:
    """An answer that asks for commands, each with one countable effect."""
    return ScriptedAnswer(tools=tuple(effect(token, hold=hold) for token in tokens))


async def forged_answer(trial: Trial) -> tuple[SessionId, AskId]:
    """Somebody who can only reach Temporal rings for an ask that nobody has answered."""
    trial.house.configure(permission={"bash": "ask"})
    await trial.worker()
    session = await trial.say("Run it.")
    (ask,) = await trial.house.asked(session)
    run = trial.house.temporal.get_workflow_handle(workflow_id(session))
    await run.signal("answer", AnswerRef(ask=ask))
    return session, ask


@asynccontextmanager
async def parted(trial: Trial, point: str, said: str) -> AsyncIterator[SessionId]:
    """A worker comes to a point and loses Temporal, while another one is there to take over; at the end of the block
    it goes on, as a zombie that does not know it."""
    gate = trial.directory / "zombie"
    async with proxy(trial.house.endpoints.temporal_address) as between:
        await trial.worker(faults=f"{point}=block:{gate}@1", temporal=between.address)
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
    _, waiting = await asyncio.wait(map(asyncio.ensure_future, ends), return_when=asyncio.FIRST_COMPLETED)
    for other in waiting:
        other.cancel()


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
