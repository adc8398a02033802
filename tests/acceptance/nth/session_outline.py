"""What came of a session, in lines that are equal for equivalent courses."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any, Final

from tests.acceptance.nth.reference_session import FILE
from tests.acceptance.records import SessionRecords
from tests.acceptance.trial import Trial
from workflows.domain.events.calls import CallClaimed
from workflows.domain.events.event import Event
from workflows.domain.value import Value

_MARKS: Final = ("model.retry", "write.refused")  # of retries: only their results are compared
# Times, salts, writers, and the length of a subagent's log with its marks.
_PASSING: Final = frozenset({"at", "seal", "fence", "next_at", "seq", "events"})
_NAME: Final = re.compile(r"\b(?:[a-z]{3}_[0-9a-zA-Z]{8,}|[0-9a-f]{64})\b")


async def session_outline(trial: Trial, sessions: Sequence[SessionRecords]) -> list[str]:
    """Transcripts, effects and logs; generated, salted and measured values are numbered."""
    file = trial.harness.project / FILE
    said = [
        *(
            f"{n} message {outline_value(message)}"
            for n, session in enumerate(sessions)
            for message in session.transcript
        ),
        *(f"effect {line.moment} {line.token}" for line in sorted(trial.effects.lines(), key=lambda each: each.at)),
        f"file {FILE} {file.read_text()!r}",
        *(f"{n} log {line}" for n, session in enumerate(sessions) for line in log(session.events)),
    ]
    return list(numbered(text.replace(str(trial.harness.project), "PROJECT") for text in said))


def difference(expected: Sequence[str], found: Sequence[str]) -> list[str]:
    """The lines in which two outlines differ."""
    compared = unified_diff(expected, found, "undisturbed", "disturbed", lineterm="", n=0)
    return [line for line in compared if not line.startswith(("@@", "---", "+++"))]


def log(events: Sequence[Event]) -> Iterator[str]:
    """The audit log by session and call: between calls, order means nothing."""
    threads: dict[str, list[str]] = defaultdict(list)
    for event in events:
        if event.type in _MARKS or (isinstance(event, CallClaimed) and event.recovered):
            continue
        thread = getattr(event, "call", "session")
        threads[thread].append(f"{thread} {outline_value(event)}")
    for lines in threads.values():
        yield from lines


def outline_value(value: Value) -> str:
    """A value without what differs each time."""
    return str(_without(value.model_dump(mode="json")))


def _without(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without(each) for name, each in value.items() if name not in _PASSING}
    if isinstance(value, list | tuple):
        return [_without(each) for each in value]
    return value


def numbered(lines: Iterator[str]) -> Iterator[str]:
    """Number ids and digests in the order of their appearance."""
    numbers: dict[str, str] = {}
    for line in lines:
        yield _NAME.sub(lambda found: numbers.setdefault(found[0], f"#{len(numbers) + 1}"), line)
