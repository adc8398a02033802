"""Sessions: create, configure, end."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated, Any, Final

from psycopg.types.json import Json
from pydantic import AfterValidator

from activities.store import asides, projects
from activities.store.database import Database, dumps
from activities.store.journal import Journal, announce
from activities.store.queries import Queries
from activities.store.statements import RowReader, Statements
from activities.store.turn_configs import TurnConfigCache
from workflows.domain import hash_chain
from workflows.domain.actor import Actor
from workflows.domain.agents.built_in import BUILD
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events.sessions import SessionConfigured, SessionCreated, SessionEnded
from workflows.domain.ids import ScheduleId, SessionId
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.suspension import DirectoryIdentity
from workflows.domain.titles import replace_unprintable
from workflows.domain.usage import Cost, Tokens
from workflows.domain.value import Value
from workflows.domain.views.sessions import SessionOrigin, Totals
from workflows.domain.wake_signal import WakeKind

_QUERIES: Final = Queries("sessions")


class SessionTemplate(Value):
    """What a session is begun with, now or at a schedule's moments.

    `environment`: the shell's allowed variables. `worktree` and `vcs`: of its project. `sources`: None means the
    worker's own. `given_title`: a person's.
    """

    directory: str
    worktree: str | None = None
    vcs: str | None = None
    given_title: str | None = None
    agent: str = BUILD.name
    model: str | None = None
    variant: str | None = None
    environment: dict[str, str] = {}
    sources: ConfigSources | None = None


class NewSession(SessionTemplate):
    """`host` has the directory. `parent` and `rules`: of a subagent's session. `default_title`: OpenCode's, as long as
    `title` is only the first prompt's first line. `schedule`: that starts it."""

    id: SessionId
    host: str | None = None
    title: Annotated[str, AfterValidator(replace_unprintable)]
    default_title: str | None = None
    parent: SessionId | None = None
    rules: Ruleset = ()
    schedule: ScheduleId | None = None


class Location(Value):
    """Where a session's files are."""

    id: SessionId
    host: str | None
    directory: str


class Origin(SessionOrigin):
    """What a session's turns are opened with, and where."""

    host: str | None = None
    directory: str
    worktree: str | None = None
    title: str = ""
    environment: dict[str, str]
    directory_identity: DirectoryIdentity | None = None


async def create(database: Database, new: NewSession, actor: Actor) -> None:
    """Create a session; an existing one stays."""
    async with database.statements() as batch:
        if journal := await create_in(batch, database.turn_configs, new, actor):
            add_project(batch, new)
            journal.append()
    if journal is not None:
        announce(database, journal)


async def create_in(batch: Statements, turn_configs: TurnConfigCache, new: NewSession, actor: Actor) -> Journal | None:
    """Create a session in this transaction; returns its journal, which the caller appends. None if it exists."""
    if not await batch.rows(_QUERIES.create, **_row(new)):
        return None
    journal = Journal(batch, turn_configs, new.id, actor)
    await journal.locked()
    journal.record(_created_event(new))
    if new.given_title is not None:
        asides.give_title(journal, new.given_title)
    return journal


def add_project(batch: Statements, new: NewSession) -> None:
    """Record the project of a session that does not take it from another session."""
    if new.worktree is not None:
        projects.add(batch, new.host, new.worktree, new.vcs)


@asynccontextmanager
async def create_child(journal: Journal, new: NewSession) -> AsyncIterator[Journal]:
    """Create a subagent's session in the same transaction; yields its journal."""
    journal.write(_QUERIES.create, **_row(new))
    async with journal.child_journal(new.id) as child:
        child.record(_created_event(new))
        yield child


def _row(new: NewSession) -> dict[str, Any]:
    return new.model_dump(exclude={"vcs"}) | {
        "environment": Json(new.environment),
        "sources": _sources_json(new.sources),
        "rules": _rules_json(new.rules),
        "head": hash_chain.GENESIS,
    }


def _rules_json(rules: Ruleset) -> str:
    return dumps([rule.model_dump(mode="json") for rule in rules])


def _sources_json(sources: ConfigSources | None) -> Json | None:
    return Json(sources.model_dump()) if sources is not None else None


def _created_event(new: NewSession) -> SessionCreated:
    return SessionCreated(
        directory=new.directory,
        agent=new.agent,
        model=new.model,
        variant=new.variant,
        parent=new.parent,
        sources=new.sources.digest if new.sources is not None else None,
        schedule=new.schedule,
    )


async def ids(database: Database) -> list[SessionId]:
    """The sessions' ids, the last changed first."""
    return [row["id"] for row in await database.rows(_QUERIES.ids)]


async def awake(database: Database, idle: float) -> list[SessionId]:
    """Sessions whose runs may be open: of `idle` seconds, or with an open turn."""
    return [row["id"] for row in await database.rows(_QUERIES.awake, idle=idle)]


async def unarchived(database: Database) -> list[Location]:
    return [Location(**row) for row in await database.rows(_QUERIES.unarchived)]


async def last_used(database: Database, directory: str, host: str | None) -> SessionId | None:
    """The directory's session that a person started or gave work last."""
    rows = await database.rows(_QUERIES.last_used, directory=directory, host=host)
    return rows[0]["id"] if rows else None


async def origin(reader: RowReader, session: SessionId) -> Origin:
    """Raises NotFound."""
    found = await reader.rows(_QUERIES.origin, session=session)
    if not found:
        raise NotFound(f"There is no session {session!r}.")
    return Origin(**found[0])


async def configure(journal: Journal, sources: ConfigSources) -> tuple[str, ...]:
    """Set the sources from the next turn on; returns the changed variables. Raises Conflict for a subagent's
    session."""
    known = await origin(journal, journal.session)
    if known.ancestors:
        raise Conflict(f"Session {journal.session!r} is a subagent's: its configuration is that of the one above it.")
    changed = sources.changed_from(known.sources)
    if changed:
        journal.write(_QUERIES.configure, session=journal.session, sources=_sources_json(sources))
        journal.record(SessionConfigured(variables=changed, sources=sources.digest))
    return changed


def switch_agent(journal: Journal, agent: str) -> None:
    """From now on, prompts that name no agent are for this one."""
    journal.write(_QUERIES.switch_agent, session=journal.session, agent=agent)


def save_directory_identity(journal: Journal, directory_identity: DirectoryIdentity | None) -> None:
    """Save the directory's identity for the next turn's check; None (it was not found) keeps the last one."""
    if directory_identity is not None:
        found = Json(directory_identity.model_dump())
        journal.write(_QUERIES.save_directory_identity, session=journal.session, directory_identity=found)


async def tree(reader: RowReader, session: SessionId) -> list[SessionId]:
    """The session and all below it, parents first."""
    return [row["id"] for row in await reader.rows(_QUERIES.tree, session=session)]


async def over(reader: RowReader, candidates: Iterable[SessionId]) -> set[SessionId]:
    """Those that do no more, or whose parents do not: ended, archived or deleted."""
    return {row["session"] for row in await reader.rows(_QUERIES.over, sessions=list(candidates))}


async def compacting_since(reader: RowReader, session: SessionId) -> datetime | None:
    """Since when its context is being summarised; None if it is not."""
    rows = await reader.rows(_QUERIES.compacting, session=session)
    return rows[0]["begun_at"] if rows else None


async def totals(reader: RowReader, session: SessionId) -> Totals:
    """Totals over the session and those below it."""
    from activities.store import calls  # start-up time of commands

    sessions = await tree(reader, session)
    (row,) = await reader.rows(_QUERIES.totals, sessions=sessions)
    tokens = Tokens(**{name: row[name] for name in Tokens.model_fields})
    cost, changes = Cost(dollars=row["dollars"], unpriced=row["unpriced"]), await calls.changed_files(reader, sessions)
    return Totals(steps=row["steps"], tokens=tokens, cost=cost, changes=changes)


def add_rules(journal: Journal, known: Ruleset, more: Ruleset) -> None:
    """Append to the session's `known` rules."""
    new = tuple(rule for rule in more if rule not in known)
    if new:
        journal.write(_QUERIES.set_rules, session=journal.session, rules=_rules_json((*known, *new)))


async def end(journal: Journal, reason: str) -> None:
    """End a session: doors then refuse prompts, and a waiting run closes its turn."""
    ended = await journal.row(_QUERIES.end, session=journal.session)
    if ended is not None:
        journal.record(SessionEnded(reason=reason))
        if ended["turn_open"]:
            journal.notify(WakeKind.RESUME, journal.session)


async def mark_stuck(database: Database, session: SessionId, why: str | None) -> None:
    """Record why the session's workflow task keeps failing; None clears it."""
    await database.rows(_QUERIES.mark_stuck, session=session, stuck=why)
