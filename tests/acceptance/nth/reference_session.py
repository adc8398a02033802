"""The reference session: an edit that a rule allows, a command with an ask, a prompt in between, a subagent that reads
the file, runs a command, and is refused by its provider once, and then a context that is full."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from activities.failpoints import during_activity
from activities.new_ids import new_id
from tests.acceptance.effect_ledger import effect
from tests.acceptance.outline import comparable
from tests.acceptance.scenarios import EDIT, delegates, runs, send_until_accepted
from tests.acceptance.trial import Trial
from tests.polling import attempts
from worker.scripted.script import (
    DEFAULT_SCRIPT,
    Drop,
    Refuse,
    Script,
    ScriptedAnswer,
    ScriptedCall,
    ScriptedUsage,
)
from workflows.domain.ids import MessageId, Prefix, SessionId

_LOG_INTERVAL: Final = 0.03  # seconds between two looks at the log
_READ: Final = ScriptedCall(name="read", arguments={"filePath": "a.txt"})
_CHILD: Final = "child"
_BUSY: Final = Refuse(headers={"retry-after-ms": "100"})
_ANSWERS: Final = {
    DEFAULT_SCRIPT: (
        ScriptedAnswer(text="I edit, and then I run.", tools=(*EDIT.tools, effect("asked"))),
        ScriptedAnswer(
            text="I mind that, and hand the rest over.",
            tools=delegates(_CHILD).tools,
            usage=ScriptedUsage(input=70_000, output=20),
        ),
        ScriptedAnswer(text="All is done."),
    ),
    _CHILD: (
        ScriptedAnswer(text="I look first.", tools=(_READ,)),
        ScriptedAnswer(text="I run it.", tools=runs("handed").tools),
        ScriptedAnswer(text="It has run.", faults={1: _BUSY}),
    ),
}
_SUMMARY: Final = ScriptedAnswer(text="## Objective\nEdit.\n\n## Work state\nIt was edited.\n\n## Next move\nEnd.")
_LIMIT: Final = {"context": 100_000, "output": 32_000}
_TAIL: Final = 400  # tokens: the step that hands over, and what was said before it
_REQUESTS: Final = (  # in order: script, index of the answer (None: the summary), and number of the request for it
    *((DEFAULT_SCRIPT, 0, 1), (DEFAULT_SCRIPT, 1, 1)),
    *((_CHILD, 0, 1), (_CHILD, 1, 1), (_CHILD, 2, 1), (_CHILD, 2, 2)),
    *((DEFAULT_SCRIPT, None, 1), (DEFAULT_SCRIPT, 2, 1)),
)
REFUSED: Final = 1  # requests that are always refused
ANSWERS: Final = len(_REQUESTS) - REFUSED


def scripts(lost: int | None = None, fault: Drop | None = None) -> dict[str, Script]:
    """The model's answers; the answer to the n-th request is lost as `fault` says."""
    answers, summary = {name: list(each) for name, each in _ANSWERS.items()}, _SUMMARY
    if lost is not None and fault is not None:
        name, index, request = _REQUESTS[lost - 1]
        if index is None:
            summary = _with_fault(summary, request, fault)
        else:
            answers[name][index] = _with_fault(answers[name][index], request, fault)
    return comparable({name: Script(answers=tuple(each), auxiliary_answer=summary) for name, each in answers.items()})


def _with_fault(answer: ScriptedAnswer, request: int, fault: Drop) -> ScriptedAnswer:
    return answer.model_copy(update={"faults": {**answer.faults, request: fault}})


async def play(trial: Trial) -> SessionId:
    """The person's actions: always the same, each after the effect of the one before.

    Without a watcher, as its deltas would depend on the clock.
    """
    trial.harness.file("a.txt", "a\n")
    trial.harness.configure(permission={"bash": {"*": "allow", "effect asked": "ask"}})
    trial.harness.configure_person(model={"limit": _LIMIT}, compaction={"preserve_recent_tokens": _TAIL})
    client, programs = trial.recording_client, trial.effects.programs
    session = SessionId(new_id(Prefix.SESSION))
    first, second = (MessageId(new_id(Prefix.MESSAGE)) for _ in range(2))
    await _send(
        trial,
        lambda: client.start(trial.harness.project, "Edit and run. " * 200, programs, session=session, prompt=first),
    )
    await _logged(trial, session, "ask.raised", "call.finished")
    await _send(trial, lambda: client.prompt(session, "Mind this, too.", prompt=second))
    (entry,) = await trial.harness.client.inbox.asks(session=session)
    await _send(trial, lambda: client.answer(entry.id))
    await _logged(trial, session, "turn.ended")
    return session


async def _send(trial: Trial, send: Callable[[], Awaitable[object]]) -> None:
    """Send a request under the trial's name, which its failpoints know."""
    with during_activity(trial.directory.name):
        await send_until_accepted(send)


async def _logged(trial: Trial, session: SessionId, *kinds: str) -> None:
    """Wait until the session's log has one event of each of these kinds."""
    async for _ in attempts(interval=_LOG_INTERVAL):
        counts: Counter[str] = Counter(event.type for event in await trial.harness.events(session))
        if all(counts[kind] == 1 for kind in kinds):
            return
