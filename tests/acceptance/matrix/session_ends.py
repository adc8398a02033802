"""The end of a session, comparable between runs: without ids, times or places."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.acceptance.trial import Trial
from workflows.domain.events.calls import CallClaimed
from workflows.domain.events.event import Event
from workflows.domain.ids import SessionId
from workflows.domain.messages import Part, ToolPart, UserMessage
from workflows.domain.value import Value

_ID: Final = re.compile(r"\b(ses|msg|prt|per|trn)_\w+")
_MARKS: Final = ("model.retry", "write.refused")  # of lost attempts


class SessionEnd(Value):
    """What came of a session."""

    transcript: tuple[str, ...]
    effects: Mapping[str, int]
    events: Mapping[str, int]
    files: Mapping[str, bytes]


async def end_of(trial: Trial, session: SessionId) -> SessionEnd:
    """The state of a session and its subagents."""
    place, client = str(trial.harness.project), trial.harness.client
    listed = [session, *sorted(each.id for each in await client.sessions.list_recent() if each.id != session)]
    lines = [line for each in listed for message in await client.records.transcript(each) for line in _lines(message)]
    logs = [await trial.harness.events(each) for each in listed]
    files = [path for path in trial.harness.project.rglob("*") if path.is_file()]
    return SessionEnd(
        transcript=tuple(_ID.sub("<id>", line.replace(place, "<project>")) for line in lines),
        effects=Counter(f"{line.moment} {line.token}" for line in trial.effects.lines()),
        events=Counter(f"{n} {event.type}" for n, log in enumerate(logs) for event in log if not _mark(event)),
        files={str(path.relative_to(trial.harness.project)): path.read_bytes() for path in files},
    )


def differences(undisturbed: SessionEnd, disturbed: SessionEnd) -> Iterator[str]:
    """The wrong changes by a fault."""
    for name in SessionEnd.model_fields:
        one, other = getattr(undisturbed, name), getattr(disturbed, name)
        if one != other:
            yield f"{name} differ: undisturbed {_only(one, other)}, here {_only(other, one)}"


def _lines(message: Any) -> Iterator[str]:
    if isinstance(message, UserMessage):
        yield f"user at step {message.step}: {message.text}"
        return
    yield f"assistant at step {message.step}: {message.body.finish}"
    yield from map(_line, message.parts)


def _line(part: Part) -> str:
    if not isinstance(part, ToolPart):
        return f"{part.type}: {part.text}"
    outcome = part.outcome and (part.outcome.title, part.outcome.output, part.outcome.error)
    return f"{part.tool} {part.arguments}: {part.state} {outcome}"


def _mark(event: Event) -> bool:
    return event.type in _MARKS or (isinstance(event, CallClaimed) and event.recovered)


def _only(one: Any, other: Any) -> Any:
    """What only one of the two has."""
    if isinstance(one, tuple):
        return [line for line in one if line not in other] or f"{len(one)} lines"
    return {name: value for name, value in one.items() if other.get(name) != value}
