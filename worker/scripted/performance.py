"""One scripted answer on its way to one client, with the fault that befalls it."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from aiohttp import web

from worker.scripted.chunks import chunks, event
from worker.scripted.ledger import End, Visit
from worker.scripted.script import Drop, Fault, Garbage, Hold, Page, Refuse, ScriptedAnswer, Stall, StreamError

_LOOK_AGAIN: Final = 0.01  # seconds between two looks for the file that ends a hold


class _Broken(Exception):
    """The answer ends here, as the script says."""


class Performance:
    """Plays an answer; `stalled` is set when it has come to a stall."""

    def __init__(
        self,
        request: web.Request,
        body: Mapping[str, Any],
        visit: Visit,
        answer: ScriptedAnswer,
        fault: Fault | None,
        stalled: asyncio.Event,
    ) -> None:
        self.response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        self._request = request
        self._body = body
        self._visit = visit
        self._answer = answer
        self._fault = fault
        self._stalled = stalled

    async def play(self) -> End:
        """Send the answer, and say how that ended; a client that leaves cancels it."""
        try:
            await self._befall(None)
            await self.response.prepare(self._request)
            await self._send_chunks()
            await self.response.write(event("[DONE]"))
            await self.response.write_eof()
        except _Broken:
            return End.BROKEN
        except ConnectionError:
            return End.LEFT
        return End.COMPLETE

    async def _send_chunks(self) -> None:
        played = self._chunks()
        for position, chunk in enumerate(played):
            await self._befall(position, len(played) - 1)
            await self.response.write(event(chunk))
            self._visit.chunks += 1
            if self._answer.delay:
                await asyncio.sleep(self._answer.delay)

    def _chunks(self) -> list[dict[str, Any]]:
        prompt = len(json.dumps(self._body))
        played = list(chunks(self._answer, identity=f"{self._visit.n}", model=self._body["model"], prompt=prompt))
        wants_usage = (self._body.get("stream_options") or {}).get("include_usage")
        return played if wants_usage else played[:-1]

    async def _befall(self, position: int | None, last: int = 0) -> None:
        """Let the fault happen if its place has come; one beyond the end happens before the last chunk."""
        fault = self._fault
        if fault is None or isinstance(fault, Refuse | Page):
            return
        place = None if fault.after is None else min(fault.after, last)
        if place == position:
            await self._happen(fault)

    async def _happen(self, fault: Drop | Stall | Garbage | StreamError | Hold) -> None:
        match fault:
            case Drop():
                self._cut()
            case Stall():
                self._stalled.set()
                await asyncio.Event().wait()
            case Garbage():
                await self._end_with(fault.data)
            case StreamError():
                await self._end_with({"error": fault.error})
            case Hold():
                await _hold(Path(fault.path))

    def _cut(self) -> NoReturn:
        if self._request.transport is not None:
            self._request.transport.abort()
        raise _Broken

    async def _end_with(self, data: Any) -> NoReturn:
        await self.response.write(event(data))
        await self.response.write_eof()
        raise _Broken


async def appears(path: Path) -> None:
    """Return once the file exists: whoever makes it is another process, so there is no event to wait for."""
    exists = False
    while not exists:
        exists = await asyncio.to_thread(path.exists)
        await asyncio.sleep(0 if exists else _LOOK_AGAIN)


async def _hold(path: Path) -> None:
    path.with_name(f"{path.name}.reached").touch()
    await appears(path)
