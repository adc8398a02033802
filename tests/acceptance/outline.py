"""What came of a trial's sessions, in lines that are equal for equivalent courses."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

from tests.acceptance.records import SessionRecords, TrialRecords
from worker.scripted.script import Script, ScriptedAnswer, ScriptedUsage
from workflows.domain.events.calls import CallClaimed
from workflows.domain.events.event import Event
from workflows.domain.events.sessions import SessionCreated
from workflows.domain.value import Value

_MARKS: Final = ("model.retry", "write.refused")  # of retries: only their results are compared
# Times, salts, writers, and the length of a subagent's log with its marks.
_PASSING: Final = frozenset({"at", "seal", "fence", "next_at", "seq", "events"})
_NAME: Final = re.compile(r"\b(?:[a-z]{3}_[0-9a-zA-Z]{8,}|[0-9a-f]{64})\b")
_USAGE: Final = ScriptedUsage(input=1000, output=20)


def outline(records: TrialRecords, project: Path) -> list[str]:
    """Transcripts, effects, files and logs; generated, salted and measured values are numbered."""
    sessions = list(enumerate(sorted(records.sessions, key=_age)))
    effects = sorted(records.effects, key=lambda line: (line.token, line.at))
    lines = [
        *(f"{n} message {outline_value(message)}" for n, session in sessions for message in session.transcript),
        *(f"effect {line.token} {line.moment}" for line in effects),
        *(f"file {path.relative_to(project)} {path.read_bytes()!r}" for path in _files(project)),
        *(f"{n} log {line}" for n, session in sessions for line in log(session.events)),
    ]
    return list(numbered(line.replace(str(project), "PROJECT") for line in lines))


def difference(expected: Sequence[str], found: Sequence[str]) -> list[str]:
    """The lines in which two outlines differ."""
    compared = unified_diff(expected, found, "undisturbed", "disturbed", lineterm="", n=0)
    return [line for line in compared if not line.startswith(("@@", "---", "+++"))]


def comparable(scripts: Mapping[str, Script]) -> dict[str, Script]:
    """Scripts with ids of calls and usage, which depend on the request and our paths' length if left open."""
    return {
        name: Script(
            answers=tuple(map(_comparable, script.answers)),
            auxiliary_answer=script.auxiliary_answer and _comparable(script.auxiliary_answer),
        )
        for name, script in scripts.items()
    }


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


def numbered(lines: Iterator[str]) -> Iterator[str]:
    """Number ids and digests in the order of their appearance."""
    numbers: dict[str, str] = {}
    for line in lines:
        yield _NAME.sub(lambda found: numbers.setdefault(found[0], f"#{len(numbers) + 1}"), line)


def _age(session: SessionRecords) -> tuple[bool, str]:
    """Before subagents come their parents."""
    return any(isinstance(event, SessionCreated) and event.parent for event in session.events), session.session


def _files(project: Path) -> list[Path]:
    return sorted(path for path in project.rglob("*") if path.is_file())


def _comparable(answer: ScriptedAnswer) -> ScriptedAnswer:
    calls = tuple(call.model_copy(update={"id": f"call {n}"}) for n, call in enumerate(answer.tools))
    return answer.model_copy(update={"tools": calls, "usage": answer.usage or _USAGE})


def _without(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without(each) for name, each in value.items() if name not in _PASSING}
    if isinstance(value, list | tuple):
        return [_without(each) for each in value]
    return value
