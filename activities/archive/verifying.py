"""Verifying an archive by itself: its seal, the hash chains, and the seals of the contents."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from activities.archive import file
from activities.archive.file import Head, Row
from activities.store import events
from activities.store.events import Verified
from workflows.domain import chain
from workflows.domain.events import Record, TaskSettled
from workflows.domain.ids import SessionId

# table → what its rows hold that events name by a seal: the name's end, the content's column and the salt's
_CONTENTS: Final = {
    "prompt": (("", "body", "salt"),),
    "part": (("", "body", "salt"),),
    "note": (("", "body", "salt"),),
    "call": (("", "arguments", "salt"), ("/outcome", "outcome", "outcome_salt")),
    "ask": (("/feedback", "feedback", "feedback_salt"),),
}


@dataclass
class _Chain:
    """A session's chain, as far as it was recomputed."""

    seq: int = 0
    head: bytes = chain.GENESIS
    problem: str | None = None
    answers: events.Answers = field(default_factory=events.Answers)


@dataclass
class _Check:
    seals: dict[str, str] = field(default_factory=dict)
    chains: dict[str, _Chain] = field(default_factory=dict)
    hashes: dict[tuple[str, int], str] = field(default_factory=dict)
    settled: list[tuple[str, TaskSettled]] = field(default_factory=list)

    def content(self, table: str, row: Row) -> None:
        for end, column, salt in _CONTENTS.get(table, ()):
            content, grain = row[column], row[salt]
            if content is not None and grain is not None:
                self.seals[f"{row['id']}{end}"] = chain.sealed(_bytes(grain), content.encode())

    def event(self, row: Row) -> None:
        read = event(row)
        session = str(row["session"])
        seen = self.chains.setdefault(session, _Chain())
        seen.problem = (
            seen.problem or events.problem(read, seen.seq + 1, seen.head, self.seals) or seen.answers.problem(read)
        )
        if seen.problem is None:
            seen.seq, seen.head = read["seq"], read["hash"]
            self.hashes[session, seen.seq] = seen.head.hex()
            if isinstance(told := events.record(read["canonical"]).event, TaskSettled):
                self.settled.append((session, told))

    def verified(self, wanted: Head) -> Verified:
        seen = self.chains.get(wanted.session, _Chain())
        problem = seen.problem or self._subagent(wanted.session)
        if problem is None and (seen.seq, seen.head.hex()) != (wanted.seq, wanted.head):
            problem = f"event {wanted.seq} should be the last, with the hash {wanted.head}"
        return Verified(session=wanted.session, events=seen.seq, head=seen.head.hex(), problem=problem)

    def _subagent(self, session: SessionId) -> str | None:
        for parent, told in self.settled:
            if parent == session and self.hashes.get((told.child, told.seq)) != told.head:
                return f"event {told.seq} of {told.child} is not the one that was its last when its task was settled"
        return None


def verify(path: Path) -> list[Verified]:
    """Recompute all that the archive says of itself, session by session. Raises Damaged."""
    check = _Check()
    for table, row in file.rows(path):
        if table == "event":
            check.event(row)
        else:
            check.content(table, row)
    return [check.verified(wanted) for wanted in file.manifest(path).sessions]


def records(path: Path) -> Iterator[Record]:
    """The events in an archive, session by session. Raises Damaged."""
    return (events.record(event(row)["canonical"]) for table, row in file.rows(path) if table == "event")


def event(row: Row) -> dict[str, Any]:
    """A row of events as the database gives it."""
    binary = {name: _bytes(str(row[name])) for name in ("canonical", "prev_hash", "hash")}
    return {"seq": int(str(row["seq"])), "type": row["type"], **binary}


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("\\x"))
