"""Waits on purpose: a call's row, which ends once. A poke, a person, a file or the moment may be first."""

from datetime import datetime, timedelta
from typing import Any, Final

from activities.store.database import Database, dumps
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.events.waits import WaitBegun, WaitEnded
from workflows.domain.ids import NoteId, PartId, SessionId
from workflows.domain.value import Value
from workflows.domain.waits import WaitEnd, WaitStatus, WaitSubject
from workflows.domain.wake_signal import WakeKind

_QUERIES: Final = Queries("waits")


class OpenPokeWait(Value):
    """A wait that a poke may end."""

    call: PartId
    session: SessionId
    subject: WaitSubject


class OpenFileWait(Value):
    """A wait that a change of a file may end; `directory`: of its session."""

    call: PartId
    session: SessionId
    directory: str
    subject: WaitSubject


async def begin(journal: Journal, call: PartId, subject: WaitSubject, until: timedelta | datetime | None) -> None:
    """Begin a wait; a duration counts from now, by the database's clock."""
    after = until.total_seconds() if isinstance(until, timedelta) else None
    moment = until if isinstance(until, datetime) else None
    (row,) = await journal.rows(
        _QUERIES.begin,
        call=call,
        session=journal.session,
        kind=subject.kind,
        body=dumps(subject.model_dump(mode="json")),
        moment=moment,
        seconds=after,
    )
    begun = row["until"].isoformat() if row["until"] else None
    journal.record(WaitBegun(call=call, kind=subject.kind, until=begun))


async def of_call(reader: RowReader, call: PartId) -> WaitStatus | None:
    found = await reader.rows(_QUERIES.of_call, call=call)
    return WaitStatus(**_with_subject(found[0])) if found else None


async def end_if_due(journal: Journal, call: PartId) -> None:
    """End the wait whose moment has come, by the database's clock."""
    for row in await journal.rows(_QUERIES.end_if_due, call=call):
        journal.record(WaitEnded(call=call, end=WaitEnd(row["ending"])))


async def end(journal: Journal, call: PartId, ending: WaitEnd, text: str | None = None) -> bool:
    """End an open wait by this journal's actor; False if it has ended."""
    author = journal.actor.subject
    if not await journal.rows(_QUERIES.end, call=call, ending=ending, author=author):
        return False
    note = NoteId(f"{call}/poke") if text else None
    sealed = journal.store_note(note, text) if note and text else None
    journal.record(WaitEnded(call=call, end=ending, note=note, seal=sealed))
    return True


async def end_and_notify(journal: Journal, call: PartId, ending: WaitEnd, text: str | None = None) -> bool:
    """End a wait, and have the session's run go on."""
    if not await end(journal, call, ending, text):
        return False
    journal.notify(WakeKind.SETTLED, call)
    return True


async def end_all(journal: Journal) -> bool:
    """End all open waits of the session, as a person wants; False if there are none."""
    rows = await journal.rows(_QUERIES.open_of_session, session=journal.session)
    return any([await end_and_notify(journal, row["call"], WaitEnd.WOKEN) for row in rows])


async def open_pokes(reader: RowReader, session: SessionId | None = None) -> list[OpenPokeWait]:
    """The waits for pokes, of all sessions or one; without those of stopped turns."""
    rows = await reader.rows(_QUERIES.open_pokes, session=session)
    return [OpenPokeWait(**_with_subject(row)) for row in rows]


async def last_ended(reader: RowReader, token: str, session: SessionId | None = None) -> WaitStatus | None:
    """The wait for this token that ended last."""
    rows = [_with_subject(row) for row in await reader.rows(_QUERIES.ended_pokes, session=session)]
    return next((WaitStatus(**row) for row in rows if row["subject"].name == token), None)


async def open_files(database: Database, host: str | None) -> list[OpenFileWait]:
    """The waits for files of a host's sessions."""
    rows = await database.rows(_QUERIES.open_files, host=host)
    return [OpenFileWait(**_with_subject(row)) for row in rows]


def _with_subject(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "body"} | {
        "subject": WaitSubject.model_validate(row["body"])
    }
