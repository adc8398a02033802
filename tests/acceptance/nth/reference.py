"""The reference session: an edit that a rule allows, a command that a person is asked about, a prompt in between, and
a subagent that reads the file, runs a command of its own, and is refused by its provider once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from activities.failpoints import at_work
from tests.acceptance.effects import effect
from tests.acceptance.trial import Trial
from tests.patience import PATIENCE
from worker.scripted.script import DEFAULT, Drop, Refuse, Script, ScriptedAnswer, ScriptedCall, ScriptedUsage
from workflows.domain.errors import Unavailable
from workflows.domain.events import Event
from workflows.domain.ids import MessageId, Prefix, SessionId

FILE: Final = "a.txt"
_LOOK_PERIOD: Final = 0.03
_USAGE: Final = ScriptedUsage(input=1000, output=20)  # not estimated: that would count the length of our paths
_EDIT: Final = ScriptedCall(name="edit", arguments={"filePath": FILE, "oldString": "a", "newString": "ab"}, id="edit")
_RUN: Final = effect("asked").model_copy(update={"id": "run"})
_HAND_OVER: Final = ScriptedCall(
    name="task",
    arguments={"description": "run it", "prompt": "[[script:child]] Run it.", "subagent_type": "general"},
    id="hand over",
)
_READ: Final = ScriptedCall(name="read", arguments={"filePath": FILE}, id="read")
_HANDED: Final = effect("handed").model_copy(update={"id": "run"})
_CHILD: Final = "child"
_BUSY: Final = Refuse(headers={"retry-after-ms": "100"})
_SAID: Final = {
    DEFAULT: (
        ScriptedAnswer(text="I edit, and then I run.", tools=(_EDIT, _RUN), usage=_USAGE),
        ScriptedAnswer(text="I mind that, and hand the rest over.", tools=(_HAND_OVER,), usage=_USAGE),
        ScriptedAnswer(text="All is done.", usage=_USAGE),
    ),
    _CHILD: (
        ScriptedAnswer(text="I look first.", tools=(_READ,), usage=_USAGE),
        ScriptedAnswer(text="I run it.", tools=(_HANDED,), usage=_USAGE),
        ScriptedAnswer(text="It has run.", usage=_USAGE, faults={1: _BUSY}),
    ),
}
REFUSED: Final = 1  # requests that are refused anyhow
_REQUESTS: Final = (  # in their order: script, place of the answer in it, and how often it was asked for
    *((DEFAULT, 0, 1), (DEFAULT, 1, 1)),
    *((_CHILD, 0, 1), (_CHILD, 1, 1), (_CHILD, 2, 1), (_CHILD, 2, 2)),
    (DEFAULT, 2, 1),
)


def scripts(lost: int | None = None, fault: Drop | None = None) -> Mapping[str, Script]:
    """What the model says; the answer to the n-th request is lost as `fault` says."""
    said = {name: list(answers) for name, answers in _SAID.items()}
    if lost is not None and fault is not None:
        name, place, asked = _REQUESTS[lost - 1]
        answer = said[name][place]
        said[name][place] = answer.model_copy(update={"faults": {**answer.faults, asked: fault}})
    return {name: Script(answers=tuple(answers)) for name, answers in said.items()}


def furnish(trial: Trial) -> None:
    """The project that the session works in."""
    trial.house.file(FILE, "a\n")
    trial.house.configure(permission={"bash": {"*": "allow", "effect asked": "ask"}})


async def play(trial: Trial) -> SessionId:
    """What the person does: always the same, each thing when the one before it is seen to have led on.

    Nobody watches: a watcher has deltas written, whose number the clock decides.
    """
    door = trial.door
    session = SessionId(door.mint.new(Prefix.SESSION))
    first, second = (MessageId(door.mint.new(Prefix.MESSAGE)) for _ in range(2))
    project, programs = trial.house.project, trial.effects.programs
    await insisting(trial, lambda: door.start(project, "Edit and run.", programs, session=session, prompt=first))
    await seen(trial, session, lambda events: _types(events, "ask.raised") == _types(events, "call.finished") == 1)
    await insisting(trial, lambda: door.prompt(session, "Mind this, too.", prompt=second))
    (entry,) = await trial.house.client.asks(session=session)
    await insisting(trial, lambda: door.answer(entry.id))
    await seen(trial, session, lambda events: _types(events, "turn.ended") == 1)
    return session


async def insisting(trial: Trial, say: Callable[[], Awaitable[object]]) -> None:
    """Say something at a door, and the very same again when the database was away: it may have been accepted."""
    with at_work(trial.directory.name):
        async with asyncio.timeout(PATIENCE):
            while True:
                with suppress(Unavailable):
                    await say()
                    return


async def seen(trial: Trial, session: SessionId, wanted: Callable[[Sequence[Event]], bool]) -> None:
    """Wait until the session's log is as wanted."""
    async with asyncio.timeout(PATIENCE):
        while not wanted(await trial.house.events(session)):
            await asyncio.sleep(_LOOK_PERIOD)


def _types(events: Sequence[Event], name: str) -> int:
    return sum(event.type == name for event in events)
