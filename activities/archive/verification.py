"""Verifies an archive without a database."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from activities.archive import archive_file
from activities.archive.archive_file import LogEnd, Row
from activities.store import events
from activities.store.events import ChainCheck
from workflows.domain import hash_chain
from workflows.domain.events.event import EventRecord
from workflows.domain.events.tasks import TaskSettled
from workflows.domain.ids import SessionId
from workflows.domain.views.sessions import Verification

# table → sealed contents of its rows: suffix of the name, column of the content, column of the salt
_CONTENTS: Final = {
    "prompt": (("", "body", "salt"),),
    "part": (("", "body", "salt"),),
    "note": (("", "body", "salt"),),
    "call": (("", "arguments", "salt"), ("/outcome", "outcome", "outcome_salt")),
    "ask": (("/feedback", "feedback", "feedback_salt"), ("/answers", "answers", "answers_salt")),
    "generation": (("/reminders", "reminders", "reminders_salt"),),
}
_DELETED: Final = "\\x"  # the empty salt


@dataclass
class _ArchiveCheck:
    seals: dict[str, str] = field(default_factory=dict)
    chains: dict[str, ChainCheck] = field(default_factory=dict)
    hashes: dict[tuple[str, int], str] = field(default_factory=dict)
    settled: list[tuple[str, TaskSettled]] = field(default_factory=list)

    def content(self, table: str, row: Row) -> None:
        for end, column, salt in _CONTENTS.get(table, ()):
            content, grain = row[column], row[salt]
            if content is not None and grain not in (None, _DELETED):
                self.seals[f"{row['id']}{end}"] = hash_chain.salted_hash(_bytes(grain), content.encode())

    def event(self, row: Row) -> None:
        session = str(row["session"])
        chain = self.chains.setdefault(session, ChainCheck())
        if record := chain.add(event_row(row), self.seals):
            self.hashes[session, chain.seq] = chain.head.hex()
            if isinstance(record.event, TaskSettled):
                self.settled.append((session, record.event))

    def verified(self, wanted: LogEnd) -> Verification:
        chain = self.chains.get(wanted.session, ChainCheck())
        chain.problem = chain.problem or self._subagent(wanted.session)
        if chain.problem is None and (chain.seq, chain.head.hex()) != (wanted.seq, wanted.head):
            chain.problem = f"event {wanted.seq} should be the last, with the hash {wanted.head}"
        return chain.verification(wanted.session)

    def _subagent(self, session: SessionId) -> str | None:
        for parent, settlement in self.settled:
            if parent == session and self.hashes.get((settlement.child, settlement.seq)) != settlement.head:
                return f"event {settlement.seq} of {settlement.child} is not the last one of its settled task"
        return None


def verify(path: Path) -> list[Verification]:
    """Recompute each session's hashes. Raises DamagedArchive."""
    check = _ArchiveCheck()
    for table, row in archive_file.read_rows(path):
        if table == "event":
            check.event(row)
        else:
            check.content(table, row)
    return [check.verified(wanted) for wanted in archive_file.read_manifest(path).sessions]


def read_records(path: Path) -> Iterator[EventRecord]:
    """An archive's events, session by session. Raises DamagedArchive."""
    return (
        events.parse_record(event_row(row)["canonical"])
        for table, row in archive_file.read_rows(path)
        if table == "event"
    )


def event_row(row: Row) -> dict[str, Any]:
    """An `event` row, converted as the database gives it."""
    binary = {name: _bytes(str(row[name])) for name in ("canonical", "prev_hash", "hash")}
    return {"seq": int(str(row["seq"])), "type": row["type"], **binary}


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("\\x"))
