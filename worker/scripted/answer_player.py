"""Plays one scripted answer to one client, with its fault."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from aiohttp import web

from worker.scripted.chunks import answer_chunks, sse_event
from worker.scripted.request_ledger import OpenRequest, StreamEnd
from worker.scripted.script import (
    Drop,
    Garbage,
    Hold,
    Refuse,
    ScriptedAnswer,
    ScriptedFault,
    Stall,
    StreamError,
    WebPage,
)

_POLL_INTERVAL: Final = 0.01  # seconds between polls


class _StreamAborted(Exception):
    """The script ends the answer here."""


@dataclass
class AnswerPlayer:
    """Sets `stalled` on reaching a stall."""

    request: web.Request
    body: Mapping[str, Any]
    open_request: OpenRequest
    answer: ScriptedAnswer
    fault: ScriptedFault | None
    stalled: asyncio.Event

    def __post_init__(self) -> None:
        self.response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})

    async def play(self) -> StreamEnd:
        """A client that leaves cancels it."""
        try:
            await self._apply_fault_at(None)
            await self.response.prepare(self.request)
            await self._send_chunks()
            await self.response.write(sse_event("[DONE]"))
            await self.response.write_eof()
        except _StreamAborted:
            return StreamEnd.BROKEN
        except ConnectionError:
            return StreamEnd.CLIENT_LEFT
        return StreamEnd.COMPLETE

    async def _send_chunks(self) -> None:
        played = self._chunks()
        for position, chunk in enumerate(played):
            await self._apply_fault_at(position, len(played) - 1)
            await self.response.write(sse_event(chunk))
            self.open_request.chunks += 1
            if self.answer.delay:
                await asyncio.sleep(self.answer.delay)

    def _chunks(self) -> list[dict[str, Any]]:
        prompt = len(json.dumps(self.body))
        played = list(
            answer_chunks(self.answer, identity=f"{self.open_request.n}", model=self.body["model"], prompt=prompt)
        )
        wants_usage = (self.body.get("stream_options") or {}).get("include_usage")
        return played if wants_usage else played[:-1]

    async def _apply_fault_at(self, position: int | None, last: int = 0) -> None:
        """One beyond the end comes before the last chunk."""
        fault = self.fault
        if fault is None or isinstance(fault, Refuse | WebPage):
            return
        due_position = None if fault.after is None else min(fault.after, last)
        if due_position == position:
            await self._apply_fault(fault)

    async def _apply_fault(self, fault: Drop | Stall | Garbage | StreamError | Hold) -> None:
        match fault:
            case Drop():
                self._cut()
            case Stall():
                self.stalled.set()
                await asyncio.Event().wait()
            case Garbage():
                await self._end_with(fault.data)
            case StreamError():
                await self._end_with({"error": fault.error})
            case Hold():
                path = Path(fault.path)
                path.with_name(f"{path.name}.reached").touch()
                await wait_for_file(path)

    def _cut(self) -> NoReturn:
        if self.request.transport is not None:
            self.request.transport.abort()
        raise _StreamAborted

    async def _end_with(self, data: Any) -> NoReturn:
        await self.response.write(sse_event(data))
        await self.response.write_eof()
        raise _StreamAborted


async def wait_for_file(path: Path) -> None:
    """Polls: another process makes the file."""
    exists = False
    while not exists:
        exists = await asyncio.to_thread(path.exists)
        await asyncio.sleep(0 if exists else _POLL_INTERVAL)
