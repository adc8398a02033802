"""Commits of many sessions at once, on a disk that takes 2 ms to flush: the cost of finding whom to notify.

The floor is the same transaction without that. A notification in each transaction locks the whole database.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Final

from psycopg.conninfo import conninfo_to_dict

from activities.new_ids import new_id
from activities.store import sessions
from activities.store.database import Database
from activities.store.journal import WORKER
from activities.store.pg_connect import connection_options
from activities.store.pg_notify import CHANNEL, FOLLOWER_LOCK_CLASS
from activities.store.pg_protocol import PipelinedConnection, Statement
from activities.store.queries import Queries
from activities.store.sessions import NewSession
from bench.figure_table import Budget, Figure
from bench.testbed import Testbed
from worker.stack.cluster import SUPERUSER
from workflows.domain.ids import Prefix, SessionId

CONNECTIONS: Final = 16
FLUSH: Final = 2000  # microseconds of commit_delay: a commit's wait before it flushes, with those that join it
UNHURT: Final = Budget(must=0.9, aim=1.0, ratio=True, at_least=True)
_ROUNDS: Final = 30
_SECONDS: Final = 0.5  # of one measurement: short, so that one round sees the same machine
_HOLD: Final = Queries("journal").hold
APPEND: Final = Queries("journal").append
_QUESTION: Final = APPEND[APPEND.rindex(b"SELECT NOT pg_try") :]
BARE: Final = APPEND.replace(_QUESTION, b"SELECT")
NOTIFIES: Final = APPEND.replace(_QUESTION, b"SELECT pg_notify(%(channel)s, %(session)s)")


class Writer:
    """One session, and the connection that writes its events."""

    def __init__(self, connection: PipelinedConnection, session: SessionId, seq: int, head: bytes) -> None:
        self.connection = connection
        self.session = session
        self.seq = seq
        self.head = head

    async def commit(self, append: bytes) -> None:
        """Write an event as the journal does with a locked session."""
        before, canonical = self.head, b"%d" % self.seq
        held = {"session": self.session, "seq": self.seq, "epoch": 0}
        self.seq, self.head = self.seq + 1, sha256(before + canonical).digest()
        event = {
            "session": self.session,
            "seqs": [self.seq],
            "types": ["bench"],
            "canonicals": [canonical],
            "before": [before],
            "hashes": [self.head],
            "seq": self.seq,
            "head": self.head,
            "moved": True,
            "followers": FOLLOWER_LOCK_CLASS,
            "channel": CHANNEL,
        }
        statements = (
            Statement(b"BEGIN", {}),
            Statement(_HOLD, held),
            Statement(append, event),
            Statement(b"COMMIT", {}),
        )
        await self.connection.exchange(statements)


async def measure_commits(testbed: Testbed) -> list[Figure]:
    rates: dict[bytes, list[float]] = {APPEND: [], BARE: [], NOTIFIES: []}
    async with _writers(testbed) as writers:
        for append in rates:
            await _rate(writers, append)  # prepares
        for number in range(_ROUNDS):
            order = list(rates) if number % 2 else list(reversed(rates))
            for append in order:
                rates[append].append(await _rate(writers, append))
    ours, bare, notifies = (median(found) for found in rates.values())
    ratio = median(mine / floor for mine, floor in zip(rates[APPEND], rates[BARE], strict=True))
    name = f"commits/s of {CONNECTIONS} sessions, a flush of {FLUSH / 1000:g} ms"
    return [
        Figure(name, ours, bare, UNHURT, ratio, digits=0),
        Figure("  with a notification in each", notifies, bare, digits=0),
    ]


async def _rate(writers: list[Writer], append: bytes) -> float:
    clock = asyncio.get_running_loop().time
    began = clock()

    async def write(writer: Writer) -> int:
        written = 0
        while clock() - began < _SECONDS:
            await writer.commit(append)
            written += 1
        return written

    written = await asyncio.gather(*map(write, writers))
    return sum(written) / (clock() - began)


@asynccontextmanager
async def _writers(testbed: Testbed) -> AsyncIterator[list[Writer]]:
    """Sixteen sessions with a connection each, whose commits are slow."""
    url = testbed.endpoints.postgres_url
    admin = testbed.cluster.url(SUPERUSER, str(conninfo_to_dict(url)["dbname"]))  # only a superuser may slow commits
    slow = f"-c commit_delay={FLUSH} -c commit_siblings=0"
    async with Database(url) as database, AsyncExitStack() as opened:
        writers = []
        for _ in range(CONNECTIONS):
            new = NewSession(
                id=SessionId(new_id(Prefix.SESSION)),
                directory=str(Path.cwd()),
                title="commits",
                agent="build",
                model=None,
            )
            await sessions.create(database, new, WORKER)
            (row,) = await database.rows(b"SELECT seq, head FROM session_head WHERE session = %(id)s", id=new.id)
            connection = await PipelinedConnection.connect(admin, **connection_options(admin, settings=slow))
            writers.append(Writer(await opened.enter_async_context(connection), new.id, row["seq"], bytes(row["head"])))
        yield writers
