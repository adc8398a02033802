"""Where a session and its first messages come from, as a person reads it."""

from collections.abc import Iterator

from worker.api.events import EventWithContents
from worker.cli.render.collapse import OUTPUT_LIMIT, collapse
from worker.cli.render.escaping import escape_exact, escape_prose, one_line
from worker.cli.render.event_contents import actor_of, prompt_of
from worker.stored_contents import part_of, stored_call
from workflows.domain.events.copies import MessageCopied, SessionForked, SessionImported
from workflows.domain.messages import TextPart


def origin_rows(event: SessionForked | SessionImported | MessageCopied, seen: EventWithContents) -> Iterator[str]:
    """Where the session came from; for a copied message, its texts in short and the names of its calls."""
    if isinstance(event, SessionForked):
        yield f"Begun by {actor_of(seen)} with messages of {event.origin}:"
        return
    if isinstance(event, SessionImported):
        yield f"Imported by {actor_of(seen)}: the session {one_line(event.origin)} of a file ({event.digest[:16]})."
        return
    if event.turn is None:
        yield "(a message that no model sees)"
    elif event.role == "user":
        yield from (f"> {row}" for row in _short(prompt_of(seen, event.message)))
    if event.role == "summary":
        yield "(a summary of what is before it)"
    for copied in event.contents:
        if copied.kind == "text" and isinstance(part := part_of(seen, copied.part), TextPart):
            yield from _short(part.text)
        if copied.kind == "call" and (call := stored_call(seen, copied.part)):
            yield f"· {escape_exact(call.tool)}"


def _short(text: str) -> list[str]:
    return collapse(escape_prose(text.strip()), OUTPUT_LIMIT).text.split("\n")
