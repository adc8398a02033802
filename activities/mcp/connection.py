"""Connection: one server, in a task of its own, which starts it again when it ends.

The SDK raises CancelledError in whoever holds a client of an HTTP server that refuses a connection, and in all else
that runs in that block: so the client is this task's alone, and a request runs in a task that it does not know.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from mcp.client.client import Client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    InputResponses,
    PaginatedResult,
    Tool,
)
from pydantic import TypeAdapter, ValidationError

from activities.cancellation import cancel_and_wait
from workflows.domain.errors import CallNotSent, CallUnanswered, LoginNeeded, ServerFailed
from workflows.domain.mcp import Catalogue, McpStatus, ServerPrompt, ServerTool

E = TypeVar("E", bound=BaseException)
CallAnswer: TypeAlias = CallToolResult | InputRequiredResult
Progress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]

CALL: Final = "holdfast/call"  # in a request's `_meta`: the call's id
MAX_ITEMS: Final = 1000  # tools or prompts of a server
_MAX_PAGES: Final = 100  # of a list: a hostile one has no end
_PAUSES: Final = (0.0, 2.0, 5.0, 15.0, 60.0)  # seconds before it is started again, by the tries that have failed
_LAST: Final = len(_PAUSES) - 1
_UNUSED: Final = 1800.0  # seconds after which a server that nothing has asked for is ended, until something does
_CLOSE: Final = 5.0  # seconds for its end, which takes a program four at most
_STEADY: Final = 60.0  # seconds after which an end does not count as a failed try
_LEAST_PAUSE: Final = 0.5  # seconds for each such try, also for who waits
_CONNECTION_CLOSED: Final = -32000  # the SDK's own code
_ANSWER: Final[TypeAdapter[CallAnswer]] = TypeAdapter(CallToolResult | InputRequiredResult)


@dataclass
class ServerEnd:
    """How the transport tells of its end, of changed lists, and of calls that it could not send. `last_error`: what the
    server has written beside the protocol."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    unsent: set[str] = field(default_factory=set)
    last_error: Callable[[], str] = lambda: ""

    def last_words(self) -> str:
        written = self.last_error()
        return f" (its last words: {written})" if written else ""


OpenClient: TypeAlias = Callable[[ServerEnd], AbstractAsyncContextManager[Client]]


@dataclass(frozen=True)
class _Live:
    client: Client
    end: ServerEnd
    catalogue: Catalogue


class Connection:
    """`ways`: to start or reach the server, the first of which that works is kept. `limit`: seconds for that, and for
    each list. `redact`: what a server writes may hold what it was given."""

    def __init__(
        self, name: str, ways: Sequence[OpenClient], *, limit: float, redact: Callable[[str], str] = lambda text: text
    ) -> None:
        self.name = name
        self.status = McpStatus.CONNECTING
        self.reason = ""
        self.used_at = time.monotonic()
        self._first_reason = ""  # of the ways that have failed in this start
        self._redact = redact
        self._ways = ways
        self._way = 0
        self.limit = limit
        self._live: _Live | None = None
        self._since = math.inf  # when this start has begun to serve
        self._settled = asyncio.Event()  # the first try has succeeded or failed
        self._wanted = asyncio.Event()  # somebody waits: try again now
        self._closing = asyncio.Event()
        self.busy = 0  # requests that are under way
        self._task = asyncio.create_task(self._run())

    async def catalogue(self) -> Catalogue:
        """What it offers now; waits for a start that is under way. Raises ServerFailed."""
        return (await self._connected()).catalogue

    async def peek(self) -> Catalogue:
        """As `catalogue`, but a server that has failed is not waited for, unless a person may have logged in meanwhile:
        its next start is under way. Raises ServerFailed."""
        if self._live is None and self._settled.is_set() and self.status is not McpStatus.NEEDS_AUTH:
            self.used_at = time.monotonic()
            self._wanted.set()
            raise ServerFailed(self.reason)
        return await self.catalogue()

    async def call(
        self,
        call: str,
        tool: str,
        arguments: dict[str, Any],
        *,
        limit: float,
        show: Progress,
        responses: InputResponses | None = None,
        state: str | None = None,
    ) -> CallAnswer:
        """`call`: its id, which the server is told. `limit`: seconds without an answer or progress. Raises CallNotSent,
        CallUnanswered, MCPError."""
        try:
            live = await self._connected()
        except ServerFailed as error:
            raise CallNotSent(str(error)) from error
        request = CallToolRequest(
            params=CallToolRequestParams(
                name=tool, arguments=arguments, input_responses=responses, request_state=state, _meta={CALL: call}
            )
        )
        alive = asyncio.Event()

        async def note(progress: float, total: float | None, message: str | None) -> None:
            alive.set()
            await show(progress, total, message)

        sending = live.client.session.send_request(request, _ANSWER, progress_callback=note)
        try:
            answer: CallAnswer = await self._await_answer(live, asyncio.create_task(sending), alive, limit)
        except CallUnanswered as error:
            if call in live.end.unsent:
                raise CallNotSent(f"The server {self.name!r} cannot be reached.") from error
            raise
        return answer

    async def request(self, ask: Callable[[Client], Awaitable[Any]]) -> Any:
        """Something that changes nothing: a prompt, a resource. Raises ServerFailed, MCPError."""
        live = await self._connected()

        async def asked() -> Any:
            return await ask(live.client)

        try:
            return await self._await_answer(live, asyncio.create_task(asked()), asyncio.Event(), self.limit)
        except CallUnanswered as error:
            raise ServerFailed(str(error)) from error

    async def close(self) -> None:
        """End the server. Its calls are unanswered."""
        self._closing.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE):
                await asyncio.wait([self._task])
        await cancel_and_wait(self._task)

    async def _connected(self) -> _Live:
        self.used_at = time.monotonic()
        if self._live is None or self._live.end.reached.is_set():
            self._live = None
            self._settled.clear()
            self._wanted.set()
            await self._settled.wait()
        if self._live is None:
            raise ServerFailed(self.reason)
        return self._live

    async def _await_answer(self, live: _Live, sending: asyncio.Task[Any], alive: asyncio.Event, limit: float) -> Any:
        ending = asyncio.create_task(live.end.reached.wait())
        self.busy += 1
        try:
            while not sending.done():
                alive.clear()
                await asyncio.wait({sending, ending}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
                if ending.done() or (not sending.done() and not alive.is_set()):
                    break
            if sending.done() and not sending.cancelled():
                return sending.result()
            if ending.done():
                raise CallUnanswered(f"The server {self.name!r} has ended while this call ran.")
            raise CallUnanswered(f"The server {self.name!r} has neither answered nor shown progress for {limit:g} s.")
        except MCPError as error:
            if error.code != _CONNECTION_CLOSED:
                raise
            live.end.reached.set()
            raise CallUnanswered(f"The connection to {self.name!r} was lost while this call ran.") from error
        except ValidationError as error:
            raise CallUnanswered(f"The server {self.name!r} has answered what the protocol does not know.") from error
        except (OSError, RuntimeError) as error:
            live.end.reached.set()
            raise CallUnanswered(f"The connection to {self.name!r} was lost while this call ran: {error}") from error
        finally:
            self.busy -= 1
            self.used_at = time.monotonic()
            await cancel_and_wait(*(each for each in (sending, ending) if not each.done()))

    async def _run(self) -> None:
        tries = 0
        while not self._closing.is_set():
            end = ServerEnd()
            status, reason, self._since = McpStatus.FAILED, "The connection was refused.", math.inf
            try:
                async with asyncio.timeout(self.limit) as clock, self._ways[self._way](end) as client:
                    clock.reschedule(None)
                    await self._serve(client, end)
                reason = f"The server has ended{end.last_words()}."
            except asyncio.CancelledError:
                if self._closing.is_set() or _asked_to_end():
                    raise
            except Exception as error:
                status, reason = _status_of(error), _describe(error, end)
            self._live = None
            served, lived = math.isfinite(self._since), time.monotonic() - self._since
            if not served and status is McpStatus.FAILED and self._way + 1 < len(self._ways):
                self._first_reason = self._first_reason or reason
                self._way += 1
                continue
            self.status, self.reason = status, self._redact(self._first_reason or reason)
            tries = 0 if lived > _STEADY else tries + 1
            if served:
                self._settled.clear()  # who asks waits for the next start
            else:
                self._way, self._first_reason = 0, ""
                self._settled.set()
            await self._pause(tries)

    async def _serve(self, client: Client, end: ServerEnd) -> None:
        """Until it ends, or is to end; its lists are read again when it says that they have changed."""
        listening = asyncio.create_task(_listen(client, end))
        closing = asyncio.create_task(self._closing.wait())
        ended = asyncio.create_task(end.reached.wait())
        try:
            while not (closing.done() or ended.done()):
                end.changed.clear()
                async with asyncio.timeout(self.limit):
                    catalogue = await _read_catalogue(client)
                self._live, self._since = _Live(client, end, catalogue), min(self._since, time.monotonic())
                self.status, self.reason = McpStatus.CONNECTED, ""
                self._settled.set()
                changed = asyncio.create_task(end.changed.wait())
                while not self.unused:
                    waits, left = {closing, ended, changed}, _UNUSED - (time.monotonic() - self.used_at)
                    if (await asyncio.wait(waits, timeout=max(left, 1), return_when=asyncio.FIRST_COMPLETED))[0]:
                        break
                await cancel_and_wait(changed)
                if self.unused:
                    return
        finally:
            await cancel_and_wait(*(each for each in (listening, closing, ended) if not each.done()))

    async def _pause(self, tries: int) -> None:
        """Before the next start: the first at once, later ones after growing pauses, or sooner for who waits; of one
        that nothing asks for, until something does."""
        failed = min(max(0, tries - 1), _LAST)
        await self._wait_for(self._closing, _LEAST_PAUSE * failed)
        await self._wait_for(self._wanted, None if self.unused else _PAUSES[failed])
        self._wanted.clear()

    async def _wait_for(self, event: asyncio.Event, seconds: float | None) -> None:
        """Or for the end of the connection."""
        waits = [asyncio.create_task(each.wait()) for each in {event, self._closing}]
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        await cancel_and_wait(*(each for each in waits if not each.done()))

    @property
    def unused(self) -> bool:
        return not self.busy and time.monotonic() - self.used_at > _UNUSED


def _asked_to_end() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _status_of(error: Exception) -> McpStatus:
    return McpStatus.NEEDS_AUTH if next(_causes(error, LoginNeeded), None) else McpStatus.FAILED


def _describe(error: Exception, end: ServerEnd) -> str:
    """What a person can act upon: the innermost error, with what the server has written."""
    *_, cause = _causes(error, Exception)
    text = str(cause) or type(cause).__name__
    if isinstance(cause, TimeoutError):
        text = "It did not answer in time"
    elif isinstance(cause, OSError) and cause.strerror and cause.filename:
        text = f"{cause.strerror}: {cause.filename}"
    return f"{text}{end.last_words()}"


def _causes(error: BaseException, kind: type[E]) -> Iterator[E]:
    """The errors of this kind in a group, and what has led to each."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _causes(each, kind)
    else:
        if isinstance(error, kind):
            yield error
        if error.__cause__ is not None:
            yield from _causes(error.__cause__, kind)


async def _listen(client: Client, end: ServerEnd) -> None:
    """Servers of today say what has changed only to who listens; older ones tell the client's handler."""
    with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError, OSError):
        async with client.listen(tools_list_changed=True, prompts_list_changed=True) as events:
            async for _ in events:
                end.changed.set()


async def _read_catalogue(client: Client) -> Catalogue:
    able = client.server_capabilities
    tools = [each async for each in _pages(client.list_tools, "tools")] if able.tools else []
    prompts = [each async for each in _pages(client.list_prompts, "prompts")] if able.prompts else []
    info = client.server_info
    return Catalogue(
        tools=tuple(_tool(each) for each in tools),
        prompts=tuple(
            ServerPrompt(
                name=each.name,
                description=each.description or "",
                arguments=tuple(argument.name for argument in each.arguments or ()),
            )
            for each in prompts
        ),
        has_resources=able.resources is not None,
        instructions=client.instructions or "",
        version=f"{info.name} {info.version}" if info is not None else "",
        protocol=client.protocol_version,
    )


async def _pages(ask: Callable[..., Awaitable[PaginatedResult]], field: str) -> AsyncIterator[Any]:
    cursor, count = None, 0
    for _ in range(_MAX_PAGES):
        page = await ask(cursor=cursor, cache_mode="bypass")
        for item in getattr(page, field):
            count += 1
            if count > MAX_ITEMS:
                raise ServerFailed(f"It lists more than {MAX_ITEMS:,} {field}.")
            yield item
        if (cursor := page.next_cursor) is None:
            return
    raise ServerFailed(f"Its list of {field} has no end.")


def _tool(tool: Tool) -> ServerTool:
    hints = tool.annotations
    return ServerTool(
        name=tool.name,
        description=tool.description or tool.title or "",
        parameters=tool.input_schema,
        output_schema=tool.output_schema,
        read_only=bool(hints and hints.read_only_hint),
        idempotent=bool(hints and hints.idempotent_hint),
    )
