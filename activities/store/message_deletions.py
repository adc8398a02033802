"""Deleted messages: their contents are erased. Rows stay, with words in their place, and events still verify."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from activities.new_ids import new_id
from activities.store.calls import todos
from activities.store.database import dumps
from activities.store.journal import Journal
from activities.store.queries import Queries
from prompts import render_prompt
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events.sessions import MessageDeleted
from workflows.domain.ids import MessageId, PartId, Prefix
from workflows.domain.messages import Outcome, TextPart
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.prompt import PromptContent
from workflows.domain.questions import AskKind, QuestionRequest

_QUERIES: Final = Queries("message_deletions")
_ANSWERS: Final = Queries("model_answers")


async def erase(journal: Journal, message: MessageId) -> tuple[PartId, ...]:
    """Erase a prompt, or an answer with the contents of its calls; returns these calls. Raises NotFound, and Conflict
    for a message that an open turn needs."""
    row = await journal.row(_QUERIES.find, session=journal.session, message=message)
    _check(journal, message, row)
    role = row["role"] if row else ""
    found = await journal.rows(_QUERIES.calls, message=message)
    calls = tuple(PartId(each["id"]) for each in found)
    journal.record(MessageDeleted(message=message, role=role, calls=calls))
    if role == "user":
        body = PromptContent(parts=(_words(),)).model_dump(mode="json", exclude_none=True)
        journal.write(_QUERIES.erase_prompt, message=message, body=dumps(body))
        journal.write(_QUERIES.erase_title, session=journal.session, message=message)
    if role == "assistant":
        await _erase_todos(journal, [each["outcome"] for each in found])
        await _erase_answer(journal, message, calls)
    journal.write(_QUERIES.delete_imported, message=message)
    journal.write(_QUERIES.delete_deltas, sources=[message, *calls])
    journal.write(_QUERIES.count, session=journal.session)
    return calls


def _check(journal: Journal, message: MessageId, row: dict[str, Any] | None) -> None:
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
        journal.write(_QUERIES.delete_todos, session=journal.session)


async def _erase_answer(journal: Journal, message: MessageId, calls: tuple[PartId, ...]) -> None:
    """Erase an answer. Providers need a result for each call, and a text where there is no call."""
    for row in await journal.rows(_QUERIES.answer, message=message):
        kept = {name: value for name, value in row["body"].items() if name != "explanation"}  # it may quote the answer
        journal.write(_QUERIES.erase_answer, message=message, body=dumps(kept))
    journal.write(_QUERIES.delete_parts, message=message)
    if not calls:
        part = {"id": new_id(Prefix.PART), "message": message, "position": 0, "kind": "text"}
        body = dumps(_words().model_dump(mode="json"))
        journal.write(_ANSWERS.insert_part, **part, body=body, salt=b"")
        return
    for ask in await journal.rows(_QUERIES.asks, calls=list(calls)):
        journal.write(_QUERIES.erase_ask, ask=ask["id"], body=dumps(_asked(ask)))
    outcome = Outcome(output=render_prompt("deleted/result"))
    journal.write(_QUERIES.erase_calls, calls=list(calls), outcome=dumps(outcome.model_dump(mode="json")))
    journal.write(_QUERIES.delete_file_changes, calls=list(calls))
    journal.write(_QUERIES.delete_attached, calls=list(calls))
    journal.write(_QUERIES.delete_seen, calls=list(calls))
    journal.write(_QUERIES.delete_waits, calls=list(calls))
    journal.write(_QUERIES.remove_files, calls=list(calls))


def _words() -> TextPart:
    return TextPart(text=render_prompt("deleted/message"))


def _asked(row: dict[str, Any]) -> dict[str, Any]:
    if row["kind"] == AskKind.QUESTION:
        return QuestionRequest(questions=()).model_dump(mode="json")
    return PermissionRequest(permission=row["body"]["permission"], patterns=("(deleted)",)).model_dump(mode="json")
