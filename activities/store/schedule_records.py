"""The records of a schedule: what people do with it, and what came of its moments, in a hash chain."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

from activities.store.database import Database
from activities.store.queries import Queries
from activities.store.statements import RowReader, Statements
from workflows.domain import hash_chain
from workflows.domain.ids import MessageId, ScheduleId, SessionId
from workflows.domain.views.schedules import ScheduleEvent, ScheduleVerification

_QUERIES: Final = Queries("schedule_records")
_LISTED: Final = 20
_VERIFY_BATCH: Final = 500
_HASHED: Final = ("schedule", "seq", "kind", "author", "session", "prompt", "seal")  # and two times
_DEFINITION: Final = ("author", "host", "session", "timing", "recurrence", "zone", "overlap", "missed", "body")


class RecordKind(StrEnum):
    """What people do, what comes of a moment, and REFUSED: the session takes no prompt."""

    CREATED = "created"
    PAUSED = "paused"
    RESUMED = "resumed"
    DELETED = "deleted"
    TRIGGERED = "triggered"
    STARTED = "started"
    QUEUED = "queued"
    SKIPPED = "skipped"
    MISSED = "missed"
    REFUSED = "refused"


class ScheduleRecordRow(ScheduleEvent):
    """`seal`: of the note; at the creation, of the schedule's definition."""

    schedule: ScheduleId
    seq: int
    kind: RecordKind
    seal: str | None

    @property
    def canonical(self) -> bytes:
        """The bytes that are hashed. Its fields are fixed: older records have these."""
        fields = {name: getattr(self, name) for name in _HASHED}
        return hash_chain.canonical_json(fields | {"nominal": _moment(self.nominal), "at": _moment(self.at)})


class LastRecord(NamedTuple):
    """The end of a schedule's records under the schedule's lock, and the database's time."""

    schedule: ScheduleId
    seq: int
    head: bytes
    now: datetime


class FiredPrompt(NamedTuple):
    session: SessionId
    prompt: MessageId


def definition(values: Mapping[str, Any]) -> str:
    """What a person has made, from a row's values with its JSON as text."""
    return hash_chain.canonical_json({name: values[name] for name in _DEFINITION}).decode()


def record(
    batch: Statements,
    last: LastRecord,
    kind: RecordKind,
    author: str,
    *,
    nominal: datetime | None = None,
    fired: FiredPrompt | None = None,
    note: str | None = None,
    definition: str | None = None,
) -> LastRecord:
    """Returns the new end, which a second record of the transaction follows."""
    content = note if definition is None else definition
    salt = secrets.token_bytes(16) if content is not None else None
    added = ScheduleRecordRow(
        schedule=last.schedule,
        seq=last.seq + 1,
        kind=kind,
        author=author,
        nominal=nominal,
        session=fired.session if fired is not None else None,
        prompt=fired.prompt if fired is not None else None,
        note=note,
        seal=hash_chain.salted_hash(salt, content.encode()) if salt is not None and content is not None else None,
        at=last.now,
    )
    head = hash_chain.chain_hash(last.head, added.canonical)
    batch.write(_QUERIES.add, **dict(added), salt=salt, prev_hash=last.head, hash=head)
    return last._replace(seq=added.seq, head=head)


async def newest(reader: RowReader, schedule: ScheduleId) -> list[ScheduleRecordRow]:
    """A schedule's newest records, the newest first."""
    return [ScheduleRecordRow(**row) for row in await reader.rows(_QUERIES.newest, schedule=schedule, limit=_LISTED)]


async def verify(database: Database, schedule: ScheduleId) -> ScheduleVerification | None:
    """Recompute the hash chain and the seals; None without such a schedule."""
    async with database.statements() as batch:  # its lock: nothing is added meanwhile
        found = await batch.rows(_QUERIES.lock_chain, id=schedule)
        if not found:
            return None
        check = _RecordsCheck(schedule, found[0])
        while rows := await batch.rows(_QUERIES.chain, schedule=schedule, after=check.seq, limit=_VERIFY_BATCH):
            for row in rows:
                check.add(row)
            if check.problem is not None:
                break
    check.end()
    return ScheduleVerification(schedule=schedule, records=check.seq, head=check.head.hex(), problem=check.problem)


class _RecordsCheck:
    """Recomputes record by record, up to the first problem."""

    def __init__(self, schedule: ScheduleId, owner: dict[str, Any]) -> None:
        self.owner = owner
        self.schedule = schedule
        self.seq = 0
        self.head = hash_chain.GENESIS
        self.problem: str | None = None
        self._deleted = False

    def add(self, row: dict[str, Any]) -> None:
        if self.problem is not None:
            return
        found = ScheduleRecordRow(**{name: row[name] for name in ScheduleRecordRow.model_fields})
        link = hash_chain.Link(found.seq, found.canonical, bytes(row["prev_hash"]), bytes(row["hash"]))
        name = f"record {found.seq} ({found.kind})"
        self.problem = hash_chain.link_problem("record", name, self.seq, self.head, link)
        if self.problem is None and not self._is_sealed(found, row["salt"]):
            what = "schedule that it has made" if found.kind is RecordKind.CREATED else "note"
            self.problem = f"{name}: the {what} was changed afterwards"
        if self.problem is None:
            self.seq, self.head = found.seq, link.hash
            self._deleted = self._deleted or found.kind is RecordKind.DELETED

    def end(self) -> None:
        if self.problem is not None:
            return
        if self.owner["seq"] > self.seq:
            self.problem = f"records {self.seq + 1} to {self.owner['seq']} are missing at the end"
        elif (self.owner["seq"], bytes(self.owner["head"])) != (self.seq, self.head):
            self.problem = "the schedule's row names another last record"
        elif self._deleted is not (self.owner["state"] == "deleted"):
            self.problem = f"its row says that it is {self.owner['state']}, and its records do not"

    def _is_sealed(self, found: ScheduleRecordRow, salt: bytes | None) -> bool:
        """Whether the contents match the seal; nothing is left of a deleted schedule's contents."""
        if self.owner["state"] == "deleted":
            return salt is None and found.note is None
        content = definition(self.owner) if found.kind is RecordKind.CREATED else found.note
        if content is None or salt is None or found.seal is None:
            return all(each is None for each in (content, salt, found.seal))
        return hash_chain.salted_hash(bytes(salt), content.encode()) == found.seal


def _moment(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat(timespec="microseconds") if at is not None else None
