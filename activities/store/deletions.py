"""Deleted sessions and messages: their contents are erased; events stay, and still verify. Rows of a message stay, too,
with words in their place."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from activities.new_ids import new_id
from activities.store.archives import CONTENT_ROWS
from activities.store.calls import todos
from activities.store.database import dumps
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from prompts import render_prompt
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events.sessions import MessageDeleted, SessionDeleted
from workflows.domain.ids import MessageId, PartId, Prefix, SessionId
from workflows.domain.messages import Outcome, TextPart
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.prompt import PromptContent
from workflows.domain.questions import AskKind, QuestionRequest

_QUERIES: Final = Queries("deletions")
_ERASED: Final = {table: rows for table, rows in CONTENT_ROWS.items() if table != "event"}
_OF_MESSAGES: Final = Queries("message_deletions")
_ANSWERS: Final = Queries("model_answers")


async def is_left(reader: RowReader, session: SessionId) -> bool:
    """Whether the session is not deleted yet. Raises Conflict for a session at work."""
    (row,) = await reader.rows(_QUERIES.obstacle, session=session)
    if row["obstacle"] is not None:
        raise Conflict(
            f"Session {session!r} {row['obstacle']}: `holdfast stop {session}` stops it, and then it can be deleted."
        )
    return not row["gone"]


async def erase(journal: Journal, top: SessionId | None) -> None:
    """Grants for a whole project stay, and what other sessions share. Raises Conflict for a session at work."""
    await is_left(journal, journal.session)
    # locked before the statements that look whether others use them: those see what came meanwhile
    shared, configs = await asyncio.gather(
        journal.rows(_QUERIES.lock_project, session=journal.session),
        journal.rows(_QUERIES.lock_configs, session=journal.session),
    )
    journal.record(SessionDeleted(top=top))
    journal.write(_QUERIES.remove_files, session=journal.session)
    journal.write(_QUERIES.delete_tasks, session=journal.session)
    for table, rows in reversed(_ERASED.items()):
        journal.write(b"DELETE FROM " + table.encode() + b" WHERE " + rows, sessions=[journal.session])
    journal.write(_QUERIES.delete_deltas, session=journal.session)
    journal.write(_QUERIES.erase, session=journal.session)
    journal.write(_QUERIES.delete_configs, ids=[row["id"] for row in configs])
    for project in shared:
        journal.write(_QUERIES.delete_project, **project)


async def deleted(reader: RowReader, sessions: Sequence[SessionId]) -> list[SessionId]:
    return [SessionId(row["id"]) for row in await reader.rows(_QUERIES.deleted, sessions=list(sessions))]


async def removals(reader: RowReader, host: str | None, last: str, limit: int) -> list[PartId]:
    """A page, after `last`, of deleted calls whose files this host is to remove."""
    rows = await reader.rows(_QUERIES.removals, host=host, last=last, limit=limit)
    return [PartId(row["call"]) for row in rows]


async def removed(reader: RowReader, calls: Sequence[PartId]) -> None:
    """Note that the files of these calls are removed."""
    await reader.rows(_QUERIES.removed, calls=list(calls))


async def erase_message(journal: Journal, message: MessageId) -> tuple[PartId, ...]:
    """Erase a prompt, or an answer with the contents of its calls; returns these calls. Raises NotFound, and Conflict
    for a message that an open turn needs."""
    row = await journal.row(_OF_MESSAGES.find, session=journal.session, message=message)
    _check_message(journal, message, row)
    role = row["role"] if row else ""
    found = await journal.rows(_OF_MESSAGES.calls, message=message)
    calls = tuple(PartId(each["id"]) for each in found)
    journal.record(MessageDeleted(message=message, role=role, calls=calls))
    if role == "user":
        body = PromptContent(parts=(_words(),)).model_dump(mode="json", exclude_none=True)
        journal.write(_OF_MESSAGES.erase_prompt, message=message, body=dumps(body))
        journal.write(_OF_MESSAGES.erase_title, session=journal.session, message=message)
    if role == "assistant":
        await _erase_todos(journal, [each["outcome"] for each in found])
        await _erase_answer(journal, message, calls)
    journal.write(_OF_MESSAGES.delete_imported, message=message)
    journal.write(_OF_MESSAGES.delete_deltas, sources=[message, *calls])
    journal.write(_OF_MESSAGES.count, session=journal.session)
    return calls


def _check_message(journal: Journal, message: MessageId, row: dict[str, Any] | None) -> None:
    if row is None:
        raise NotFound(
            f"Session {journal.session!r} has no message {message!r}: `holdfast export {journal.session}` lists its "
            "messages with their ids."
        )
    if row["deleted"]:
        raise Conflict(f"Message {message!r} was deleted already.")
    if row["needed"]:
        raise Conflict(
            f"Message {message!r} is needed by a turn that is open or about to begin: "
            f"`holdfast stop {journal.session}` stops it, and then it can be deleted."
        )


async def _erase_todos(journal: Journal, outcomes: Sequence[Mapping[str, Any] | None]) -> None:
    """Erase the to-do list if one of these calls has made it as it is."""
    listed, _ = await todos(journal, journal.session)
    if listed and any(outcome is not None and outcome["metadata"].get("todos") == listed for outcome in outcomes):
        journal.write(_OF_MESSAGES.delete_todos, session=journal.session)


async def _erase_answer(journal: Journal, message: MessageId, calls: tuple[PartId, ...]) -> None:
    """Erase an answer. Providers need a result for each call, and a text where there is no call."""
    for row in await journal.rows(_OF_MESSAGES.answer, message=message):
        kept = {name: value for name, value in row["body"].items() if name != "explanation"}  # it may quote the answer
        journal.write(_OF_MESSAGES.erase_answer, message=message, body=dumps(kept))
    journal.write(_OF_MESSAGES.delete_parts, message=message)
    if not calls:
        part = {"id": new_id(Prefix.PART), "message": message, "position": 0, "kind": "text"}
        body = dumps(_words().model_dump(mode="json"))
        journal.write(_ANSWERS.insert_part, **part, body=body, salt=b"")
        return
    for ask in await journal.rows(_OF_MESSAGES.asks, calls=list(calls)):
        journal.write(_OF_MESSAGES.erase_ask, ask=ask["id"], body=dumps(_asked(ask)))
    outcome = Outcome(output=render_prompt("deleted/result"))
    journal.write(_OF_MESSAGES.erase_calls, calls=list(calls), outcome=dumps(outcome.model_dump(mode="json")))
    journal.write(_OF_MESSAGES.delete_file_changes, calls=list(calls))
    journal.write(_OF_MESSAGES.delete_attached, calls=list(calls))
    journal.write(_OF_MESSAGES.delete_seen, calls=list(calls))
    journal.write(_OF_MESSAGES.delete_waits, calls=list(calls))
    journal.write(_OF_MESSAGES.remove_files, calls=list(calls))


def _words() -> TextPart:
    return TextPart(text=render_prompt("deleted/message"))


def _asked(row: dict[str, Any]) -> dict[str, Any]:
    if row["kind"] == AskKind.QUESTION:
        return QuestionRequest(questions=()).model_dump(mode="json")
    permissions = (each["permission"] for each in row["body"]["requests"])
    erased = tuple(PermissionRequest(permission=each, patterns=("(deleted)",)) for each in permissions)
    return PermissionAsk(requests=erased).model_dump(mode="json")
