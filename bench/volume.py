"""Large amounts: a session of 20,000 messages, 1,000 and 10,000 open asks, 1,000 listed sessions.

The store's functions write the rows into databases without a worker; the commands are real processes.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Final

import psycopg

from activities.store.database import Database
from activities.store.migrate import migrate
from bench.command_start import Rounds, alternate
from bench.figure_table import Budget, Figure
from bench.filler import Filler
from bench.testbed import Testbed
from worker.stack.cluster import ROLE, SUPERUSER

SAME_MEMORY: Final = Budget(must=1.5, aim=1.1, ratio=True)
_SHORT, _LONG = 200, 20_000  # answers, each with a call
_OUTPUT: Final = 1000  # characters of a call's output
_HUGE: Final = 5_000_000
_FEW, _MANY, _MOST = 10, 1_000, 10_000  # asks, each in its own session
_ROUNDS: Final = 3  # the first one does not count


async def long_session(testbed: Testbed) -> list[Figure]:
    """Seconds and memory of commands that read a whole session, beside those for a short one."""
    async with _filled(testbed, "long") as (filler, elsewhere):
        short, long = await filler.long(_SHORT, _OUTPUT), await filler.long(_LONG, _OUTPUT)
        huge = await filler.long(3, _HUGE)
        figures = []
        for words in (["export"], ["log"], ["log", "--verify"], ["sessions", "show"], ["watch", "--until-idle"]):
            of = {"short": short, "long": long, "huge": huge}
            commands = {which: [_holdfast(), *words, session] for which, session in of.items()}
            rounds = await alternate(testbed, [commands] * _ROUNDS, elsewhere)
            figures += _compared(" ".join(words), rounds)
    return figures


def _compared(name: str, rounds: Rounds) -> list[Figure]:
    seconds, memory = ({which: median(each[which][of] for each in rounds) for which in rounds[0]} for of in (0, 1))
    return [
        Figure(f"{name} of {_LONG:,} answers, of {_SHORT} (s)", seconds["long"], seconds["short"], digits=2),
        Figure("  its memory (MB)", memory["long"], memory["short"], SAME_MEMORY, digits=0),
        Figure("  its memory for outputs of 5 MB (MB)", memory["huge"], memory["short"], digits=0),
    ]


async def crowds(testbed: Testbed) -> list[Figure]:
    """The inbox and the list, long beside short."""
    lists = {"asks": ["asks"], "asks --json": ["asks", "--json"], "sessions": ["sessions"]}
    commands = {name: [_holdfast(), *words] for name, words in lists.items()}
    figures = []
    async with _filled(testbed, "few") as (few, here), _filled(testbed, "many") as (filler, there):
        await few.waiting(_FEW)
        for many, more in ((_MANY, _MANY), (_MOST, _MOST - _MANY)):
            await filler.waiting(more)
            slow = await alternate(testbed, [commands] * _ROUNDS, there)
            quick = await alternate(testbed, [commands] * _ROUNDS, here)
            for name in commands:
                mine, theirs = (median(each[name][0] for each in rounds) for rounds in (slow, quick))
                figures.append(Figure(f"{name}, of {many:,} that wait, of {_FEW} (s)", mine, theirs, digits=2))
    return figures


@asynccontextmanager
async def _filled(testbed: Testbed, name: str) -> AsyncIterator[tuple[Filler, dict[str, str]]]:
    """A database, filled without waiting for the disk, and the variables that lead a command to it."""
    url, admin = testbed.cluster.url(ROLE, name), testbed.cluster.url(SUPERUSER, "postgres")
    project = testbed.folder / name
    project.mkdir()
    async with await psycopg.AsyncConnection.connect(admin, autocommit=True) as connection:
        await connection.execute(f"CREATE DATABASE {name} OWNER {ROLE}".encode())
        await connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off".encode())
        await migrate(url)
        elsewhere = {"HOLDFAST_POSTGRES_URL": url, "TEMPORAL_ADDRESS": testbed.endpoints.temporal_address}
        async with Database(url) as database:
            yield Filler(database, project), elsewhere
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _holdfast() -> str:
    return str(Path(sys.executable).with_name("holdfast"))
