"""Find the id that a person means."""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from worker.cli.command_support import current_directory, require_text
from worker.cli.render.escaping import one_line
from worker.inbox_reader import InboxReader
from workflows.domain.errors import NotFound, UsageError
from workflows.domain.ids import AskId, GrantId, Prefix, ScheduleId, SessionId, is_id
from workflows.domain.views.inbox import InboxEntry

if TYPE_CHECKING:
    from worker.session_client import SessionClient

LAST: Final = "last"
NAME: Final = re.compile(r"[aA]\d+")  # the short one of an ask
_NAMED: Final = 5  # candidates in a message
_NOUNS: Final = {
    Prefix.SESSION: "session",
    Prefix.ASK: "ask",
    Prefix.GRANT: "grant",
    Prefix.SCHEDULE: "schedule",
    Prefix.TURN: "turn",
    Prefix.MESSAGE: "message",
    Prefix.PART: "call",
}
_WAYS: Final = {
    Prefix.SESSION: "`holdfast sessions` lists the sessions there are.",
    Prefix.ASK: "`holdfast asks` lists what waits for an answer.",
    Prefix.GRANT: "`holdfast grants` lists the standing grants.",
    Prefix.SCHEDULE: "`holdfast schedules` lists the schedules.",
}


async def find_session(client: "SessionClient", typed: str) -> SessionId:
    """A session by its id, a prefix of it, or `last`: the last prompted one of this directory.

    Raises NotFound; UsageError if the prefix is ambiguous.
    """
    if typed != LAST:
        return SessionId(await _find(Prefix.SESSION, typed, client.sessions.ids))
    last = await client.sessions.last(require_text(str(current_directory())))
    if last is None:
        raise NotFound("This directory has no session yet. `holdfast sessions` lists those of all directories.")
    return last


async def find_ask(inbox: InboxReader, typed: str) -> InboxEntry:
    """Any ask by its id or short name (the newest: archives of other databases bring theirs), or an open one by a
    prefix. Raises as `find_session`."""
    name = typed.lower() if NAME.fullmatch(typed) else await _find(Prefix.ASK, typed, inbox.ask_ids)
    entries = await inbox.asks(ask=AskId(name))
    if not entries:
        raise not_found_error(Prefix.ASK, typed, [])
    return entries[-1]


async def find_only_ask(inbox: InboxReader) -> InboxEntry:
    """Raises NotFound, UsageError."""
    entries = await inbox.asks(limit=_NAMED + 1)
    if not entries:
        raise NotFound("Nothing waits for an answer.")
    if len(entries) > 1:
        subjects = [str(each.arguments.get(each.display.subject or "") or each.title) for each in entries[:_NAMED]]
        pairs = zip(entries, subjects, strict=False)
        named = "\n".join(f"  {each.name}  {each.tool}  {one_line(subject, 60)}" for each, subject in pairs)
        more = "\n  …" if len(entries) > _NAMED else ""
        raise UsageError(f"Several asks are open. Name the one that you answer, as in `answer a1 …`:\n{named}{more}")
    return entries[0]


async def find_grant(client: "SessionClient", typed: str) -> GrantId:
    """Any grant by its id, or a valid one by a prefix. Raises as `find_session`."""

    async def known() -> list[GrantId]:
        return [row.grant.id for row in await client.grants.list_all()]

    return GrantId(await _find(Prefix.GRANT, typed, known))


async def find_schedule(client: "SessionClient", typed: str) -> ScheduleId:
    """A schedule by its id, or a prefix of it. Raises as `find_session`."""

    async def known() -> list[ScheduleId]:
        return [each.id for each in await client.schedules.list_all(include_over=True)]

    return ScheduleId(await _find(Prefix.SCHEDULE, typed, known))


def not_found_error(wanted: Prefix, typed: str, known: Iterable[str]) -> NotFound:
    """Says if the id is of another kind, or in the wrong case."""
    text = f"There is no {_NOUNS[wanted]} {typed!r}."
    other = next((noun for prefix, noun in _NOUNS.items() if typed.startswith(f"{prefix}_")), None)
    small = typed.lower()
    similar = [each for each in known if small and each.lower().startswith((small, f"{wanted}_{small}"))]
    if other not in (None, _NOUNS[wanted]):
        text = f"{typed!r} is the id of {_article(other)}, but {_article(_NOUNS[wanted])} is meant here."
    elif similar:
        text += f" Upper and lower case count: is {similar[0]} meant?"
    return NotFound(f"{text} {_WAYS[wanted]}")


def _article(noun: str | None) -> str:
    return f"an {noun}" if noun == "ask" else f"a {noun}"


async def _find(prefix: Prefix, typed: str, load_known: Callable[[], Awaitable[Sequence[str]]]) -> str:
    """The kind ("ses_") may be left out."""
    if is_id(prefix, typed):
        return typed
    known = await load_known()
    found = [each for each in known if typed and each.startswith((typed, f"{prefix}_{typed}"))]
    if len(found) > 1:
        named = ", ".join(found[:_NAMED]) + (" …" if len(found) > _NAMED else "")
        raise UsageError(f"{typed!r} could be any of {named}: type more of it.")
    if not found:
        raise not_found_error(prefix, typed, known)
    return found[0]
