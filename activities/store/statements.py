"""Statements: one transaction, in as few round trips as its decisions allow."""

import asyncio
from dataclasses import dataclass
from typing import Any, Final, Protocol

from activities.failpoints import io_failpoint
from activities.store.cut import cut
from activities.store.wire import Connection, Rows, Statement
from workflows.domain.errors import Unavailable

_COMMIT: Final = b"COMMIT"
_OVER: Final = "The transaction is over."
_ROUNDS: Final = 2  # of the event loop: a task that is started in one says its part in the next


class Reads(Protocol):
    """Whatever can be asked for rows."""

    async def rows(self, query: bytes, **values: Any) -> Rows:
        """The rows that a query returns, keyed by column."""
        ...


@dataclass(frozen=True)
class _Said(Statement):
    """A statement with who waits for its rows."""

    answer: "asyncio.Future[Rows] | None" = None


class Statements:
    """What is said in a transaction, in this order; what can travel together does.

    A write is only noted, and goes with the next reading or with the commit: if it fails, that is where it shows.
    Readings that do not depend on each other are said under one `asyncio.gather`, and then share a round trip, too.
    """

    def __init__(self, connection: Connection, begin: bytes) -> None:
        self._connection = connection
        self._said = [_Said(begin, {})]
        self._sending = asyncio.Lock()
        self._over = False

    def note(self, query: bytes, **values: Any) -> None:
        """Say something whose answer nobody waits for. Raises Unavailable when the transaction is over."""
        self._say(_Said(query, values))

    def ask(self, query: bytes, **values: Any) -> "asyncio.Future[Rows]":
        """Say something whose rows are waited for later, by `answer`. Raises Unavailable, as `note` does."""
        answer: asyncio.Future[Rows] = asyncio.get_running_loop().create_future()
        self._say(_Said(query, values, answer))
        return answer

    async def answer(self, asked: "asyncio.Future[Rows]") -> Rows:
        """The rows of what was asked; everything that was said meanwhile is sent with it."""
        if not asked.done():
            await self._others_said_theirs()
            async with self._sending:
                if not asked.done():
                    await self._exchange()
        return asked.result()

    async def rows(self, query: bytes, **values: Any) -> Rows:
        """Say a query and wait for its rows."""
        return await self.answer(self.ask(query, **values))

    async def commit(self) -> None:
        """Say the last word, with what was noted before it, and wait until it is heard."""
        async with self._sending:
            self.note(_COMMIT)
            await self._exchange()
            self._over = True

    async def close(self) -> None:
        """Wait for what is on its way; whoever comes later is refused."""
        async with self._sending:
            self._over = True
            _fail(self._said, Unavailable(_OVER))

    def _say(self, statement: _Said) -> None:
        if self._over:
            raise Unavailable(_OVER)
        self._said.append(statement)

    async def _others_said_theirs(self) -> None:
        """Let the tasks beside us, and those that they start, come to what they have to say."""
        before = -1
        while before != len(self._said):
            before = len(self._said)
            for _ in range(_ROUNDS):
                await asyncio.sleep(0)

    async def _exchange(self) -> None:
        """Send what was said, and wait for all answers."""
        if self._over:
            raise Unavailable(_OVER)
        said, self._said = self._said, []
        try:
            rows = await self._answers(said)
        except BaseException as error:
            self._over = True
            _fail(said, error)
            raise
        for statement, answer in zip(said, rows, strict=True):
            if statement.answer is not None and not statement.answer.done():
                statement.answer.set_result(answer)

    async def _answers(self, said: list[_Said]) -> list[Rows]:
        """Send statements in one go; a failpoint cuts the connection before or behind the one that it is armed for."""
        passed = 0

        async def cut_here() -> None:
            await self._connection.exchange(said[:passed])
            await cut(self._connection)

        for _ in said:
            async with io_failpoint("external.sql", cut_here):
                passed += 1
        return await self._connection.exchange(said)


def _fail(said: list[_Said], error: BaseException) -> None:
    for statement in said:
        if statement.answer is not None and not statement.answer.done():
            if isinstance(error, Exception):
                statement.answer.set_exception(error)
                statement.answer.exception()  # whoever waits gets it; nobody may wait any more
            else:
                statement.answer.cancel()
