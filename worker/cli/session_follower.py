"""A session's events together with what a person types; keeps the stack running."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Final, Self, TypeVar

from activities.cancellation import cancel_and_wait
from worker.cli.command_support import print_note, start_stack
from worker.cli.render.escaping import escape_exact
from worker.cli.render.session_status import describe_absent_worker, waits_for_host
from worker.cli.render.terminal import Terminal
from worker.cli.terminal_input import TerminalInput, is_interactive
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.stack.status import status
from workflows.domain.errors import Unavailable
from workflows.domain.ids import SessionId

T = TypeVar("T")

_ABSENCE_INTERVAL: Final = 3.0  # seconds
_POLL_INTERVAL: Final = 1.0  # seconds: the end of another's process is not signalled


class SessionFollower(TerminalInput):
    """Yields what happens to a session after `seq`, in order, from `__aenter__` on.

    Its `ui_events` raise Unavailable when the stack is taken down or cannot be restarted.
    """

    def __init__(self, client: SessionClient, session: SessionId, seq: int, terminal: Terminal | None = None) -> None:
        super().__init__(terminal.writer if terminal is not None else None, client.settings)
        self.client = client
        self.session = session
        self.terminal = terminal
        self.print_note = terminal.print_note if terminal is not None else print_note
        self._seq = seq
        self._failed: Exception | None = None

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        kept_up = keep_stack_up(self.client.settings, self.print_note)
        absence_watch = report_absent_worker(self.client, self.session, self.print_note)
        for work in (self._watch(), kept_up, absence_watch):
            self._stack.push_async_callback(cancel_and_wait, asyncio.create_task(self._feed(work)))
        if self.terminal is not None and is_interactive():
            self.keyboard.listen()
        return self

    async def wait_until_reachable(self, reading: Callable[[], Awaitable[T]]) -> T:
        """Retry `reading` until the database answers. Raises Unavailable as `ui_events`."""
        while True:
            try:
                return await reading()
            except Unavailable:
                if self._failed is not None:
                    raise self._failed from None
                await asyncio.sleep(_POLL_INTERVAL)

    async def _watch(self) -> None:
        async with aclosing(self.client.records.watch(self.session, self._seq, with_subagents=True)) as watched:
            async for ui_event in watched:
                await self._queue.put(ui_event)

    async def _feed(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:  # raised again in ui_events
            self._failed = error
            await self._queue.put(error)


async def report_absent_worker(client: SessionClient, session: SessionId, print_note: Callable[[str], None]) -> None:
    """Notes that the worker is gone, and that it is back; returns if the session has no host."""
    waited = False
    while True:
        with suppress(Unavailable):  # the follower reports it
            overview = await client.sessions.get(session)
            if overview.host is None:
                return
            waits = waits_for_host(overview)
            if waits and not waited:
                print_note(describe_absent_worker(overview))
            if waited and not overview.host_offline:
                print_note(f"A worker is there on host {escape_exact(overview.host)}.")
                waits = False
            waited = waits or (waited and overview.host_offline)
        await asyncio.sleep(_ABSENCE_INTERVAL)


async def keep_stack_up(settings: Settings, print_note: Callable[[str], None]) -> None:
    """Restart the stack whenever it is gone. Raises Unavailable once it was taken down on purpose."""
    while True:
        seen = status(settings)
        if seen.stopped:
            raise Unavailable(
                "The stack was stopped with `holdfast down`. The task waits for its next start: `holdfast up`."
            )
        if seen.supervisor is None:  # a live one is serving, starting or stopping
            await start_stack(settings, print_note)
        await asyncio.sleep(_POLL_INTERVAL)
