"""Sessions: made, listed, ended."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated, Any, Final

from psycopg.types.json import Json
from pydantic import AfterValidator

from activities.store.database import Database, dumps
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import Reads
from workflows.domain import chain
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events import Actor, SessionConfigured, SessionCreated, SessionEnded
from workflows.domain.ids import ParkId, SessionId, TurnId
from workflows.domain.parking import ParkReason, Whereabouts
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.usage import Cost, Tokens
from workflows.domain.value import Value

_QUERIES: Final = Queries("sessions")


def printable(title: str) -> str:
    """A title whose other characters are blanks; there are some that no column takes."""
    return "".join(character if character.isprintable() else " " for character in title)


class NewSession(Value):
    """What a door knows of a session that it starts. `environment`: of the shell, names of the allow-list only.

    `sources` say where its configuration is looked for; None: wherever the worker's own is. `parent` and `rules` are
    those of a subagent's session, whose configuration is its parent's. `host` names where the directory is.
    """

    id: SessionId
    host: str | None = None
    directory: str
    title: Annotated[str, AfterValidator(printable)]
    agent: str = "build"
    model: str | None = None
    environment: dict[str, str] = {}
    sources: ConfigSources | None = None
    parent: SessionId | None = None
    rules: Ruleset = ()


class Location(Value):
    """A session, and where its files are."""

    id: SessionId
    host: str | None
    directory: str


class Origin(Value):
    """Where a session came from: its host, directory and title, the shell's recorded environment, agent and model; the
    rules that it has of its own, and how many sessions stand above it; the sources are those of the uppermost one."""

    host: str | None = None
    directory: str
    title: str = ""
    environment: dict[str, str]
    agent: str
    model: str | None
    rules: Ruleset = ()
    ancestors: int = 0
    sources: ConfigSources | None = None
    place: Whereabouts | None = None


class Pause(Value):
    """A provider has failed for the `attempt`th time, and is left alone `until` then."""

    attempt: int
    kind: str
    said: str | None
    until: datetime


class Park(Value):
    """Why a session is parked."""

    id: ParkId
    reason: ParkReason
    was: str | None
    now: str | None


class Archived(Value):
    """Where the rows of a session were moved to: a file, and the SHA-256 of it."""

    file: str
    sha256: str
    at: datetime

    def __str__(self) -> str:
        return f"lies in {self.file!r} since {self.at:%Y-%m-%d}: `holdfast restore {self.file}` brings it back"


class Overview(Value):
    """A session as listings show it, with its newest turn and what waits in it; `depth` is how far it stands below the
    session that it is listed under, `away` says that its host has no worker just now."""

    id: SessionId
    parent: SessionId | None
    depth: int
    host: str | None
    away: bool
    directory: str
    title: str
    agent: str
    model: str | None
    status: str
    seq: int
    stuck: str | None
    created_at: datetime
    updated_at: datetime
    turn: TurnId | None
    number: int | None
    step: int | None
    turn_state: str | None
    reason: str | None
    error: str | None
    asks: int
    waiting: int
    retried: bool
    pause: Pause | None
    parked: Park | None
    archive: Archived | None = None

    @property
    def working(self) -> bool:
        return self.turn_state == "open" or self.waiting > 0 or self.retried


class Totals(Value):
    """Sums over a session's answers: tokens as the provider counted them, and what they cost."""

    steps: int
    tokens: Tokens
    cost: Cost


async def create(database: Database, new: NewSession, actor: Actor) -> None:
    """Make the session and its first event; a session that is there already is left as it is."""
    async with database.statements() as said:
        if await said.rows(_QUERIES.create, **_row(new)):
            opened = Journal(said, database.snapshots, new.id, actor)
            await opened.locked()
            opened.record(_created(new))
            opened.append()


@asynccontextmanager
async def below(opened: Journal, new: NewSession) -> AsyncIterator[Journal]:
    """Make a session below this one, in the same transaction; its journal."""
    opened.write(_QUERIES.create, **_row(new))
    async with opened.beside(new.id) as child:
        child.record(_created(new))
        yield child


def _row(new: NewSession) -> dict[str, Any]:
    return new.model_dump() | {
        "environment": Json(new.environment),
        "sources": _sources(new.sources),
        "rules": _dumped(new.rules),
        "head": chain.GENESIS,
    }


def _dumped(rules: Ruleset) -> str:
    return dumps([rule.model_dump(mode="json") for rule in rules])


def _sources(sources: ConfigSources | None) -> Json | None:
    return Json(sources.model_dump()) if sources is not None else None


def _created(new: NewSession) -> SessionCreated:
    return SessionCreated(
        directory=new.directory,
        agent=new.agent,
        model=new.model,
        parent=new.parent,
        sources=new.sources.digest if new.sources is not None else None,
    )


async def overview(
    database: Database,
    *,
    session: SessionId | None = None,
    directory: str | None = None,
    host: str | None = None,
    limit: int | None = 1000,
) -> list[Overview]:
    """So many sessions that people have started, or all, the last changed first, each followed by those of its
    subagents.

    With `directory`, those of that directory of that host.
    """
    rows = await database.rows(_QUERIES.overview, id=session, directory=directory, host=host, limit=limit)
    return [Overview(**row) for row in rows]


async def count(database: Database, *, directory: str | None = None, host: str | None = None) -> int:
    """How many sessions people have started; with `directory`, in that directory of that host."""
    (row,) = await database.rows(_QUERIES.count, directory=directory, host=host)
    return int(row["count"])


async def ids(database: Database) -> list[SessionId]:
    """All sessions and those of subagents, the last changed first."""
    return [row["id"] for row in await database.rows(_QUERIES.ids)]


async def unarchived(database: Database) -> list[Location]:
    """Where every session is whose rows are in the database, those of subagents included."""
    return [Location(**row) for row in await database.rows(_QUERIES.unarchived)]


async def last(database: Database, directory: str, host: str | None) -> SessionId | None:
    """The session of a directory that a person has started or sent a prompt to last: what happens to sessions by
    themselves changes nothing about it."""
    rows = await database.rows(_QUERIES.last, directory=directory, host=host)
    return rows[0]["id"] if rows else None


async def get(database: Database, session: SessionId) -> Overview:
    """One session. Raises NotFound."""
    found = await overview(database, session=session)
    if not found:
        raise NotFound(f"There is no session {session!r}. `holdfast sessions` lists the sessions there are.")
    return found[0]


async def origin(reads: Reads, session: SessionId) -> Origin:
    """Where the session came from. Raises NotFound."""
    found = await reads.rows(_QUERIES.environment, session=session)
    if not found:
        raise NotFound(f"There is no session {session!r}.")
    return Origin(**found[0])


async def configure(opened: Journal, sources: ConfigSources) -> tuple[str, ...]:
    """Have the session look for its configuration there, from its next turn on; the variables that say so anew.

    Raises Conflict for a subagent's session, whose configuration is its parent's.
    """
    known = await origin(opened, opened.session)
    if known.ancestors:
        raise Conflict(f"Session {opened.session!r} is a subagent's: its configuration is that of the one above it.")
    changed = sources.changed_from(known.sources)
    if changed:
        opened.write(_QUERIES.configure, session=opened.session, sources=_sources(sources))
        opened.record(SessionConfigured(variables=changed, sources=sources.digest))
    return changed


def left(opened: Journal, place: Whereabouts | None) -> None:
    """Note how a turn has left the session's directory."""
    opened.write(_QUERIES.left, session=opened.session, place=Json(place.model_dump()) if place else None)


async def tree(reads: Reads, session: SessionId) -> list[SessionId]:
    """The session and all below it, each behind the one that started it."""
    return [row["id"] for row in await reads.rows(_QUERIES.tree, session=session)]


async def totals(reads: Reads, session: SessionId) -> Totals:
    """What the session has used so far, with its subagents."""
    sessions = await tree(reads, session)
    (row,) = await reads.rows(_QUERIES.totals, sessions=sessions)
    tokens = Tokens(**{name: row[name] for name in Tokens.model_fields})
    return Totals(steps=row["steps"], tokens=tokens, cost=Cost(dollars=row["dollars"], unpriced=row["unpriced"]))


def bind(opened: Journal, known: Ruleset, more: Ruleset) -> None:
    """Put more rules behind the ones that the session is known to have of its own."""
    new = tuple(rule for rule in more if rule not in known)
    if new:
        opened.write(_QUERIES.bind, session=opened.session, rules=_dumped((*known, *new)))


async def end(opened: Journal, reason: str) -> None:
    """End the session for good: doors refuse more prompts, nothing revives it."""
    if await opened.row(_QUERIES.end, session=opened.session):
        opened.record(SessionEnded(reason=reason))


async def mark_stuck(database: Database, session: SessionId, why: str | None) -> None:
    """Note why a session's workflow task keeps failing; None clears the note."""
    await database.rows(_QUERIES.mark_stuck, session=session, stuck=why)
