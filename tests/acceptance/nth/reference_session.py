"""The reference session: an edit that a rule allows, a command with an ask, a prompt in between, and a subagent that
reads the file, runs a command, and is refused by its provider once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from activities.failpoints import during_activity
from tests.acceptance.effect_ledger import effect
from tests.acceptance.trial import Trial
from tests.polling import WAIT_TIMEOUT
from worker.scripted.script import DEFAULT_SCRIPT, Drop, Refuse, Script, ScriptedAnswer, ScriptedCall, ScriptedUsage
from workflows.domain.errors import Unavailable
from workflows.domain.events.event import Event
from workflows.domain.ids import MessageId, Prefix, SessionId

FILE: Final = "a.txt"
_POLL_INTERVAL: Final = 0.03
_USAGE: Final = ScriptedUsage(input=1000, output=20)  # not estimated, as that depends on our paths' length
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
    DEFAULT_SCRIPT: (
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
REFUSED: Final = 1  # requests that are always refused
_REQUESTS: Final = (  # in order: script, index of the answer, and number of the request for it
    *((DEFAULT_SCRIPT, 0, 1), (DEFAULT_SCRIPT, 1, 1)),
    *((_CHILD, 0, 1), (_CHILD, 1, 1), (_CHILD, 2, 1), (_CHILD, 2, 2)),
    (DEFAULT_SCRIPT, 2, 1),
)


def scripts(lost: int | None = None, fault: Drop | None = None) -> Mapping[str, Script]:
    """The model's answers; the answer to the n-th request is lost as `fault` says."""
    said = {name: list(answers) for name, answers in _SAID.items()}
    if lost is not None and fault is not None:
        name, place, asked = _REQUESTS[lost - 1]
        answer = said[name][place]
        said[name][place] = answer.model_copy(update={"faults": {**answer.faults, asked: fault}})
    return {name: Script(answers=tuple(answers)) for name, answers in said.items()}


def furnish(trial: Trial) -> None:
    """Make the session's project."""
    trial.harness.file(FILE, "a\n")
    trial.harness.configure(permission={"bash": {"*": "allow", "effect asked": "ask"}})


async def play(trial: Trial) -> SessionId:
    """The person's actions: always the same, each after the effect of the one before.

    Without a watcher, as its deltas would depend on the clock.
    """
    recording_client = trial.recording_client
    session = SessionId(recording_client.mint.new(Prefix.SESSION))
    first, second = (MessageId(recording_client.mint.new(Prefix.MESSAGE)) for _ in range(2))
    project, programs = trial.harness.project, trial.effects.programs
    await retry_until_accepted(
        trial, lambda: recording_client.start(project, "Edit and run.", programs, session=session, prompt=first)
    )
    await seen(trial, session, lambda events: _types(events, "ask.raised") == _types(events, "call.finished") == 1)
    await retry_until_accepted(trial, lambda: recording_client.prompt(session, "Mind this, too.", prompt=second))
    (entry,) = await trial.harness.client.inbox.asks(session=session)
    await retry_until_accepted(trial, lambda: recording_client.answer(entry.id))
    await seen(trial, session, lambda events: _types(events, "turn.ended") == 1)
    return session


async def retry_until_accepted(trial: Trial, say: Callable[[], Awaitable[object]]) -> None:
    """Send a request, and the same again if the database was away: it may have been accepted."""
    with during_activity(trial.directory.name):
        async with asyncio.timeout(WAIT_TIMEOUT):
            while True:
                with suppress(Unavailable):
                    await say()
                    return


async def seen(trial: Trial, session: SessionId, wanted: Callable[[Sequence[Event]], bool]) -> None:
    """Wait until the session's log is as wanted."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while not wanted(await trial.harness.events(session)):
            await asyncio.sleep(_POLL_INTERVAL)


def _types(events: Sequence[Event], name: str) -> int:
    return sum(event.type == name for event in events)
