"""From what a person types to the id that it means."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from worker.cli.current import current_directory
from worker.cli.look.text import line
from worker.inbox import Inbox, InboxEntry
from workflows.domain.errors import NotFound, UsageError
from workflows.domain.ids import AskId, GrantId, Prefix, SessionId, is_id

if TYPE_CHECKING:
    from worker.client import SessionClient

LAST: Final = "last"
_NAMED: Final = 5  # candidates in a message
_NOUNS: Final = {
    Prefix.SESSION: "session",
    Prefix.ASK: "ask",
    Prefix.GRANT: "grant",
    Prefix.TURN: "turn",
    Prefix.MESSAGE: "message",
    Prefix.PART: "call",
}
_WAYS: Final = {
    Prefix.SESSION: "`holdfast sessions` lists the sessions there are.",
    Prefix.ASK: "`holdfast asks` lists what waits for an answer.",
    Prefix.GRANT: "`holdfast grants` lists the standing grants.",
}


async def session(client: "SessionClient", typed: str) -> SessionId:
    """A session by its id, by the beginning of it, or `last`: the one of this directory that a person has started
    or sent a prompt to last.

    Raises NotFound, and UsageError where several begin so.
    """
    if is_id(Prefix.SESSION, typed):
        return SessionId(typed)
    if typed == LAST:
        last = await client.last(str(current_directory()))
        if last is None:
            raise NotFound("This directory has no session yet. `holdfast sessions` lists those of all directories.")
        return last
    known = await client.session_ids()
    found = _only(typed, Prefix.SESSION, known)
    if found is None:
        raise missing(Prefix.SESSION, typed, known)
    return SessionId(found)


async def ask(client: Inbox, typed: str) -> InboxEntry:
    """An ask by its id, whatever its state, or an open one by the beginning of its id. Raises as `session` does."""
    known = [] if is_id(Prefix.ASK, typed) else await client.ask_ids()
    found = _only(typed, Prefix.ASK, known) if known else typed
    entry = next(iter(await client.asks(ask=AskId(found))), None) if found else None
    if entry is None:
        raise missing(Prefix.ASK, typed, known)
    return entry


async def only_ask(client: Inbox) -> InboxEntry:
    """The ask that waits, where one alone does. Raises NotFound, UsageError."""
    entries = await client.asks(limit=_NAMED + 1)
    if not entries:
        raise NotFound("Nothing waits for an answer.")
    if len(entries) > 1:
        named = "\n".join(f"  {each.id}  {each.tool}  {line(each.title, 60)}" for each in entries[:_NAMED])
        more = "\n  …" if len(entries) > _NAMED else ""
        raise UsageError(f"Several asks are open. Name the one that you answer:\n{named}{more}")
    return entries[0]


async def grant(client: "SessionClient", typed: str) -> GrantId:
    """A grant by its id, or one that holds by the beginning of its id. Raises as `session` does."""
    if is_id(Prefix.GRANT, typed):
        return GrantId(typed)
    known = [row.grant.id for row in await client.grants()]
    found = _only(typed, Prefix.GRANT, known)
    if found is None:
        raise missing(Prefix.GRANT, typed, known)
    return GrantId(found)


def missing(wanted: Prefix, typed: str, known: Iterable[str]) -> NotFound:
    """What is said of an id that leads nowhere: whether it is another thing's, or only its letters are too large."""
    said = f"There is no {_NOUNS[wanted]} {typed!r}."
    other = next((noun for prefix, noun in _NOUNS.items() if typed.startswith(f"{prefix}_")), None)
    small = typed.lower()
    similar = [each for each in known if small and each.lower().startswith((small, f"{wanted}_{small}"))]
    if other not in (None, _NOUNS[wanted]):
        said = f"{typed!r} is the id of {_article(other)}, but {_article(_NOUNS[wanted])} is meant here."
    elif similar:
        said += f" Upper and lower case count: is {similar[0]} meant?"
    return NotFound(f"{said} {_WAYS[wanted]}")


def _article(noun: str | None) -> str:
    return f"an {noun}" if noun == "ask" else f"a {noun}"


def _only(typed: str, prefix: Prefix, known: Iterable[str]) -> str | None:
    """The one id that begins so, with or without its first letters."""
    found = [each for each in known if typed and each.startswith((typed, f"{prefix}_{typed}"))]
    if len(found) > 1:
        named = ", ".join(found[:_NAMED]) + (" …" if len(found) > _NAMED else "")
        raise UsageError(f"{typed!r} could be any of {named}: type more of it.")
    return found[0] if found else None
