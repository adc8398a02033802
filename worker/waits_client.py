"""Waits on purpose, as a person ends them."""

from typing import Final

from activities.store import waits
from activities.store.journal import session_journal
from worker.client_part import ClientPart
from worker.length_check import check_length
from workflows.domain.errors import Conflict
from workflows.domain.ids import PartId, SessionId
from workflows.domain.views.accepted import AcceptedPoke
from workflows.domain.waits import WaitEnd

_OTHER_ENDS: Final[dict[WaitEnd | None, str]] = {
    WaitEnd.GAVE_UP: "given up",
    WaitEnd.WOKEN: "ended by a person",
    WaitEnd.STOPPED: "stopped with its turn",
}


class WaitsClient(ClientPart):
    """A person's part of a client."""

    async def poke(self, token: str, text: str | None = None, *, session: SessionId | None = None) -> AcceptedPoke:
        """End the calls of one session that wait for the token. Raises UsageError, Conflict."""
        check_length("The message", text or "")
        found = [each for each in await waits.open_pokes(self.database, session) if each.subject.name == token]
        sessions = sorted({each.session for each in found})
        if len(sessions) > 1:
            raise Conflict(
                f"{len(sessions)} sessions wait for {token!r}: name one with --session ({', '.join(sessions)})."
            )
        ended = await self._end(sessions[0], [each.call for each in found], text) if found else ()
        if not ended:
            raise Conflict(await self._why_not(token, session))
        delivered = await self.deliver(sessions[0])
        return AcceptedPoke(session=sessions[0], token=token, calls=ended, delivered=delivered)

    async def _end(self, session: SessionId, calls: list[PartId], text: str | None) -> tuple[PartId, ...]:
        """End those that have not ended meanwhile."""
        async with session_journal(self.database, session, self.actor) as journal:
            await journal.locked()
            return tuple([each for each in calls if await waits.end_and_notify(journal, each, WaitEnd.POKED, text)])

    async def _why_not(self, token: str, session: SessionId | None) -> str:
        """It may have been waited for, or not yet."""
        last = await waits.last_ended(self.database, token, session)
        before = ""
        if last is not None and last.ended_at is not None:
            how = f"poked by {last.author}" if last.ending is WaitEnd.POKED else _OTHER_ENDS.get(last.ending, "over")
            before = f" The wait for it was {how} at {last.ended_at.astimezone():%Y-%m-%d %H:%M:%S}."
        names = sorted({f"{each.subject.name} ({each.session})" for each in await waits.open_pokes(self.database)})
        known = f" Waited for: {', '.join(names)}." if names else " Nothing waits for a poke now."
        where = f"Session {session!r} does not wait" if session else "No session waits"
        return f"{where} for {token!r}.{before}{known}"
