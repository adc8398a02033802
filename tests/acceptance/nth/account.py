"""What a session came to, in lines that are the same for every course of it that is worth the same."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any, Final

from tests.acceptance.nth.reference import FILE
from tests.acceptance.records import SessionRecords
from tests.acceptance.trial import Trial
from workflows.domain.events import CallClaimed, Event
from workflows.domain.value import Value

_MARKS: Final = ("model.retry", "write.refused")  # of trying again: what they lead to is compared, not they
# Times, salts, who it was that wrote, and how long a subagent's log is with its marks.
_PASSING: Final = frozenset({"at", "seal", "fence", "next_at", "seq", "events"})
_NAME: Final = re.compile(r"\b(?:[a-z]{3}_[0-9a-zA-Z]{8,}|[0-9a-f]{64})\b")


async def account(trial: Trial, sessions: Sequence[SessionRecords]) -> list[str]:
    """Transcripts, effects and logs; what is minted, salted or measured anew each time goes by number."""
    file = trial.house.project / FILE
    said = [
        *(f"{n} message {plain(message)}" for n, session in enumerate(sessions) for message in session.transcript),
        *(f"effect {line.moment} {line.token}" for line in sorted(trial.effects.lines(), key=lambda each: each.at)),
        f"file {FILE} {file.read_text()!r}",
        *(f"{n} log {line}" for n, session in enumerate(sessions) for line in log(session.events)),
    ]
    return list(numbered(text.replace(str(trial.house.project), "PROJECT") for text in said))


def difference(expected: Sequence[str], found: Sequence[str]) -> list[str]:
    """The lines in which two accounts differ; none: they are the same."""
    compared = unified_diff(expected, found, "undisturbed", "disturbed", lineterm="", n=0)
    return [line for line in compared if not line.startswith(("@@", "---", "+++"))]


def log(events: Sequence[Event]) -> Iterator[str]:
    """The audit log, told for the session and for each call: between two calls order means nothing."""
    threads: dict[str, list[str]] = defaultdict(list)
    for event in events:
        if event.type in _MARKS or (isinstance(event, CallClaimed) and event.recovered):
            continue
        thread = getattr(event, "call", "session")
        threads[thread].append(f"{thread} {plain(event)}")
    for lines in threads.values():
        yield from lines


def plain(value: Value) -> str:
    """A value without what is another each time."""
    return str(_without(value.model_dump(mode="json")))


def _without(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without(each) for name, each in value.items() if name not in _PASSING}
    if isinstance(value, list | tuple):
        return [_without(each) for each in value]
    return value


def numbered(lines: Iterator[str]) -> Iterator[str]:
    """Each id and digest by the order in which they first appear."""
    numbers: dict[str, str] = {}
    for line in lines:
        yield _NAME.sub(lambda found: numbers.setdefault(found[0], f"#{len(numbers) + 1}"), line)
