"""What the recorded histories play: each a script, and what a person does meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from temporalio.api.enums.v1 import EventType

from activities.store.journal import journal
from tests.house import ACTOR, House, reached
from tests.workflows.runs import activities
from worker.parking import park_all
from worker.scripted.script import Hold, ScriptedAnswer, ScriptedCall
from worker.settings import Resume
from workflows.domain.ids import SessionId, workflow_id

_LOOK_PERIOD = 0.05
DONE = ScriptedAnswer(text="Done.")
LOOK = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*.txt"}),))
WRITE = ScriptedAnswer(tools=(ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "a"}),))
HANDED_OVER = ScriptedAnswer(
    tools=(
        ScriptedCall(
            name="task",
            arguments={"description": "look", "prompt": "[[script:child]] Looking.", "subagent_type": "general"},
        ),
    )
)
PARALLEL = ScriptedAnswer(
    tools=tuple(ScriptedCall(name="read", arguments={"filePath": name}) for name in ("a.txt", "b.txt", "c.txt"))
)


@dataclass(frozen=True)
class Scenario:
    """`play` starts a session and returns it when it stands as its history shall show it."""

    answers: tuple[ScriptedAnswer, ...]
    play: Callable[[House, Path], Awaitable[SessionId]]
    events: int | None = None
    child: tuple[ScriptedAnswer, ...] = ()


async def whole_turn(house: House, _: Path) -> SessionId:
    session = await house.say("Go.")
    await house.ended(session)
    return session


async def steps_used_up(house: House, gate: Path) -> SessionId:
    house.configure(agent={"build": {"steps": 1}})
    return await whole_turn(house, gate)


async def fallen_asleep(house: House, gate: Path) -> SessionId:
    """A run that has nothing left to do completes after its idle time."""
    session = await whole_turn(house, gate)
    await house.temporal.get_workflow_handle(workflow_id(session)).result()
    return session


async def ask_waiting(house: House, _: Path) -> SessionId:
    house.configure(permission={"edit": "ask"})
    session = await house.say("Go.")
    await house.asked(session)
    return session


async def ask_answered(house: House, gate: Path) -> SessionId:
    session = await ask_waiting(house, gate)
    for entry in await house.client.asks(session=session):
        await house.answer(entry.id)
    await house.ended(session)
    return session


async def steered(house: House, gate: Path) -> SessionId:
    session = await house.say("Go.")
    await reached(gate)
    await house.client.prompt(session, "And this.")
    gate.touch()
    await house.ended(session)
    return session


async def stopped(house: House, gate: Path) -> SessionId:
    session = await house.say("Go.")
    await reached(gate)
    await house.client.stop(session)
    await house.ended(session)
    return session


async def child_waiting(house: House, _: Path) -> SessionId:
    house.configure(permission={"edit": "ask"})
    session = await house.say("Go.")
    await house.until(session, lambda event: event.type == "task.started")
    await house.asked((await house.client.tree(session))[1])
    return session


async def child_answered(house: House, gate: Path) -> SessionId:
    session = await child_waiting(house, gate)
    for entry in await house.client.asks(session=session):
        await house.answer(entry.id)
    await house.ended(session)
    return session


async def child_stopped(house: House, gate: Path) -> SessionId:
    session = await child_waiting(house, gate)
    await house.client.stop(session)
    await house.ended(session)
    return session


async def parked(house: House, _: Path) -> SessionId:
    """An answered call is refused while its session is parked, and runs when the session goes on."""
    session = await ask_waiting(house, _)
    ask = house.settings.model_copy(update={"resume": Resume.ASK})
    await park_all(ask, house.endpoints.postgres_url, print)
    before = await completed(house, session)
    for entry in await house.client.asks(session=session):
        await house.answer(entry.id)
    while await completed(house, session) == before:
        await asyncio.sleep(_LOOK_PERIOD)
    await house.client.resume(session)
    await house.ended(session)
    return session


async def held_up(house: House, _: Path) -> SessionId:
    """A quick call that cannot be claimed within its second gets a task of its own."""
    session = await house.say("Go.")
    await house.until(session, lambda event: event.type == "message.completed")
    async with journal(house.database, session, ACTOR) as opened:
        await opened.locked()
        while "holdfast.tools.run" not in activities(await house.history(session)):
            await asyncio.sleep(_LOOK_PERIOD)
    await house.ended(session)
    return session


async def completed(house: House, session: SessionId) -> int:
    """How many activities of the session have completed."""
    history = await house.history(session)
    return sum(event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED for event in history.events)


async def retried(house: House, _: Path) -> SessionId:
    """A turn without a model fails, and is taken up with one."""
    session = (await house.client.start(str(house.project), "Go.")).session
    await house.ended(session)
    await house.client.retry(session, model="scripted/model")
    await house.ended(session, 2)
    return session


def held(gate: Path) -> ScriptedAnswer:
    return LOOK.model_copy(update={"text": "Looking.", "faults": {1: Hold(after=1, path=str(gate))}})


def scenarios(gate: Path) -> dict[str, Scenario]:
    """All scenarios; `gate` is the file at which a held answer waits."""
    return {
        "plain_turn": Scenario((DONE,), whole_turn),
        "fallen_asleep": Scenario((DONE,), fallen_asleep),
        "parallel_calls": Scenario((PARALLEL, DONE), whole_turn),
        "held_up": Scenario((LOOK, DONE), held_up),
        "ask_waiting": Scenario((WRITE, DONE), ask_waiting),
        "ask_answered": Scenario((WRITE, DONE), ask_answered),
        "steered": Scenario((held(gate), DONE), steered),
        "stopped": Scenario((held(gate), DONE), stopped),
        "continued_as_new": Scenario((LOOK, LOOK, WRITE, DONE), ask_answered, events=15),
        "steps_used_up": Scenario((WRITE, WRITE), steps_used_up),
        "parked": Scenario((WRITE, DONE), parked),
        "retried": Scenario((DONE,), retried),
        "child_waiting": Scenario((HANDED_OVER, DONE), child_waiting, child=(WRITE, DONE)),
        "child_answered": Scenario((HANDED_OVER, DONE), child_answered, child=(WRITE, DONE), events=15),
        "child_stopped": Scenario((HANDED_OVER, DONE), child_stopped, child=(WRITE, DONE)),
    }
