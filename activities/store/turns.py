"""Turns: at most one of a session is open."""

from datetime import UTC
from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Json

from activities.store import tasks
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.errors import StaleFence
from workflows.domain.events.turns import ConfigurationChanged, TurnEnded, TurnModelChanged, TurnOpened
from workflows.domain.ids import MessageId, NoteId, RetryId, SessionId, TurnConfigId, TurnId
from workflows.domain.value import Value
from workflows.domain.views.sessions import UnfinishedTurn

if TYPE_CHECKING:
    from workflows.domain.config.turn_config import TurnConfig

_QUERIES: Final = Queries("turns")
_TURN_CONFIGS: Final = Queries("turn_configs")


class TurnRow(Value):
    """An open turn; `error`: why it can only be ended. `before`: the configuration of the turn before, where it has
    just been opened."""

    id: TurnId
    number: int
    turn_config: TurnConfigId
    agent: str
    model: str
    variant: str | None = None
    step: int
    error: str | None = None
    before: TurnConfigId | None = None


class TurnStatus(Value):
    """Whether a turn may go on, and what it was opened with."""

    state: str
    turn_config: TurnConfigId
    agent: str
    model: str
    variant: str | None
    number: int
    stopped: bool
    last_step: int | None = None

    @property
    def over(self) -> bool:
        return self.state != "open" or self.stopped


async def unfinished(reader: RowReader, session: SessionId) -> list[UnfinishedTurn]:
    return [UnfinishedTurn(**row) for row in await reader.rows(_QUERIES.unfinished, session=session)]


async def opening(journal: Journal, turn: TurnId, step: int) -> tuple[bool, dict[str, str] | None]:
    """At a model's first step: whether a person stopped the turn before, and a run's words in `reminders/scheduled`."""
    row = await journal.row(_QUERIES.opening, turn=turn, step=step)
    return (row.pop("follows_stop"), row if row["number"] else None) if row else (False, None)


async def open_turn(journal: Journal) -> TurnRow | None:
    row = await journal.row(_QUERIES.open_turn, session=journal.session)
    return TurnRow(**row) if row else None


async def last_model(reader: RowReader, session: SessionId) -> str | None:
    """The model of the newest turn that could ask one."""
    rows = await reader.rows(_QUERIES.last_model, session=session)
    return str(rows[0]["model"]) if rows else None


async def turn_status(journal: Journal, turn: TurnId) -> TurnStatus:
    """Raises StaleFence for another session's turn."""
    return await read_status(journal, journal.session, turn)


async def read_status(reader: RowReader, session: SessionId, turn: TurnId) -> TurnStatus:
    """The same, without a lock."""
    found = await reader.rows(_QUERIES.status, turn=turn, session=session)
    if not found:
        raise StaleFence(f"Session {session!r} has no turn {turn!r}.")
    return status_of_row(found[0])


async def why_over(journal: Journal, turn: TurnId) -> str | None:
    """Why an open turn must not go on: it, or a turn above it, was stopped or has an ended session."""
    row = await journal.row(_QUERIES.why_over, turn=turn)
    if row is None:
        return None
    if row["session_ended"]:
        return f"session {row['session']!r} has ended"
    stopped = f"the turn of {row['session']!r} that it works for" if row["above"] else "its turn"
    return f"{stopped} was stopped by {row['author']} ({row['accepted_at']:%Y-%m-%d %H:%M:%S %Z})"


def status_of_row(row: dict[str, Any]) -> TurnStatus:
    return TurnStatus.model_validate({name: row[name] for name in TurnStatus.model_fields})


async def open_new(
    journal: Journal,
    turn: TurnId,
    turn_config: "TurnConfig",
    agent: str,
    model: str,
    *,
    variant: str | None = None,
    error: str | None = None,
    instructed_by: MessageId | None = None,
    retry: RetryId | None = None,
) -> TurnRow:
    """Open a turn. With `error`, it can only be ended. `instructed_by`: the prompt whose `system` is for it."""
    frozen = turn_config.id
    journal.write(_TURN_CONFIGS.insert, id=frozen, body=Json(turn_config.model_dump(mode="json")))
    named = {"turn_config": frozen, "agent": agent, "model": model, "variant": variant}
    own = {"error": error, "instructed_by": instructed_by}
    (row,) = await journal.rows(_QUERIES.open, id=turn, session=journal.session, **own, **named)
    journal.record(TurnOpened(turn=turn, number=row["number"], retry=retry, **named, **_trust(turn_config)))
    return TurnRow(**row)


def record_change(journal: Journal, turn: TurnRow, before: TurnConfigId, changes: str) -> None:
    """Record that the turn's configuration differs from the one `before`."""
    note = NoteId(f"{turn.id}/configuration")
    seal = journal.store_note(note, changes)
    journal.record(ConfigurationChanged(turn=turn.id, before=before, after=turn.turn_config, note=note, seal=seal))


def _trust(turn_config: "TurnConfig") -> dict[str, Any]:
    if (accepted := turn_config.accepted) is None or not (accepted.starts or accepted.rules):
        return {}
    at = accepted.at.astimezone(UTC).isoformat(timespec="seconds")
    return {"trust_record": accepted.record, "accepted_by": accepted.author, "accepted_at": at}


async def turn_config(journal: Journal, identity: TurnConfigId) -> "TurnConfig":
    """Raises StaleFence for an unknown one."""
    return await journal.turn_configs.get(journal, identity)


def record_step(journal: Journal, turn: TurnId, step: int) -> None:
    journal.write(_QUERIES.record_step, turn=turn, step=step)


def change_model(journal: Journal, turn: TurnId, model: str, change: str, *, reason: str | None = None) -> None:
    """Have another model take over from the next request on, without a variant. `change` names it in the turn."""
    journal.write(_QUERIES.change_model, turn=turn, model=model)
    note = _change_note(turn, change) if reason else None
    words = journal.store_note(note, reason) if note and reason else None
    journal.record(TurnModelChanged(turn=turn, model=model, note=note, seal=words))


async def was_changed(reader: RowReader, turn: TurnId, change: str) -> bool:
    """Whether a change with a reason was made."""
    return bool(await reader.rows(_QUERIES.find_change, note=_change_note(turn, change)))


def _change_note(turn: TurnId, change: str) -> NoteId:
    return NoteId(f"{turn}/model/{change}")


async def close(journal: Journal, turn: TurnId, reason: str, error: str | None) -> None:
    """Close a turn; one that has ended stays as it is."""
    if await journal.row(_QUERIES.close, turn=turn, reason=reason, error=error):
        note = NoteId(f"{turn}/error") if error else None
        words = journal.store_note(note, error) if note and error else None
        journal.record(TurnEnded(turn=turn, reason=reason, note=note, seal=words))
        tasks.settle_of_turn(journal, turn)
