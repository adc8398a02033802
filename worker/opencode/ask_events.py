"""What a session asks people, and their answers, as OpenCode's events (protocol.md 4 and 7)."""

from typing import TypeAlias

from pydantic import JsonValue

from worker.stored_contents import stored_call
from workflows.domain.events.asks import AskAnswered, AskClosed, AskRaised
from workflows.domain.permissions.replies import Reply
from workflows.domain.views.events import EventWithContents

_Properties: TypeAlias = dict[str, JsonValue]


def of_event(seen: EventWithContents, event: AskRaised | AskAnswered | AskClosed) -> tuple[str, _Properties]:
    """Type and properties. An ask that is closed without an answer counts as rejected: its card goes."""
    row = _fields(seen.contents.get(event.ask))
    body = _fields(row.get("request"))
    is_question = "questions" in body
    if isinstance(event, AskRaised):
        about: _Properties = {"questions": body.get("questions")} if is_question else _permission(body)
        asked: _Properties = {"id": event.ask, **about}
        call = stored_call(seen, event.call) if event.call is not None else None
        if call is not None:
            asked["tool"] = {"messageID": call.message, "callID": call.provider_id}
        return "question.asked" if is_question else "permission.asked", asked
    reply = event.reply if isinstance(event, AskAnswered) else Reply.REJECT
    if not is_question:
        return "permission.replied", {"requestID": event.ask, "reply": reply}
    if reply == Reply.REJECT:
        return "question.rejected", {"requestID": event.ask}
    return "question.replied", {"requestID": event.ask, "answers": row.get("answers")}


def _permission(body: _Properties) -> _Properties:
    """The first request, with the patterns of all; the others in its metadata. Empty if the contents are deleted."""
    requests = body.get("requests")
    first, *others = [_fields(each) for each in requests] if isinstance(requests, list) and requests else [{}]
    metadata = _fields(first.get("metadata"))
    return {
        "permission": first.get("permission"),
        "patterns": _joined(requests, "patterns"),
        "always": _joined(requests, "always"),
        "metadata": {**metadata, "requests": [*others]} if others else metadata,
    }


def _joined(requests: JsonValue, name: str) -> list[JsonValue]:
    """The lists of all requests as one, each entry once."""
    lists = (_fields(each).get(name) for each in requests) if isinstance(requests, list) else ()
    return [*dict.fromkeys(str(entry) for each in lists if isinstance(each, list) for entry in each)]


def _fields(value: JsonValue) -> _Properties:
    return value if isinstance(value, dict) else {}
