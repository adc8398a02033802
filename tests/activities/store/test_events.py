"""The log: watched without gaps, and verified against every kind of tampering."""

import asyncio
import re
from contextlib import aclosing
from typing import Any

import psycopg
import pytest

from activities.store import events, prompts
from activities.store.database import Database
from activities.store.journal import session_journal
from tests.acceptance.database_proxy import database_proxy
from tests.activities.store.conftest import ACTOR
from tests.polling import WAIT_TIMEOUT
from tests.watch_progress import read_all
from worker.stack.cluster import SUPERUSER, Cluster
from workflows.domain.actor import Actor
from workflows.domain.events.asks import AskAnswered
from workflows.domain.events.calls import CallClaimed, RecordedDecision
from workflows.domain.events.event import Event
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.events.sessions import SessionEnded
from workflows.domain.ids import AskId, MessageId, SessionId
from workflows.domain.prompt import Prompt

TAMPERED = {
    "another event": ("UPDATE event SET canonical = 'x' WHERE seq = 2", "event 2 .* is not what was hashed"),
    "another event, of brackets": (
        "UPDATE event SET canonical = repeat('[', 200000)::bytea WHERE seq = 2",
        "event 2 .* is not what was hashed",
    ),
    "a missing event": ("DELETE FROM event WHERE seq = 2", "event 2 is missing"),
    "a missing tail": ("DELETE FROM event WHERE seq = 3", "events 3 to 3 are missing at the end"),
    "another type": ("UPDATE event SET type = 'turn.ended' WHERE seq = 2", "event 2 .* another event's bytes"),
    "another link": ("UPDATE event SET prev_hash = hash WHERE seq = 2", "event 2 .* does not follow"),
    "another content": ("UPDATE prompt SET body = '{}'", "event 2 .* content of msg_1 was changed"),
    "another head": ("UPDATE session_head SET head = '\\x00'", "names another last event"),
}


@pytest.fixture
async def told(database: Database, session: SessionId) -> SessionId:
    """A session with three events: created, a prompt, ended."""
    async with session_journal(database, session, ACTOR) as journal:
        await journal.locked()
        await prompts.accept(journal, MessageId("msg_1"), Prompt.of_text("Hello"))
        journal.record(SessionEnded(reason="done"))
    return session


async def test_an_untouched_log_verifies(database: Database, told: SessionId) -> None:
    verified = await events.verify(database, told)
    assert (verified.events, verified.problem) == (3, None)


@pytest.mark.parametrize("kind", TAMPERED)
async def test_tampering_is_found_and_named(
    database: Database, told: SessionId, template: Cluster, postgres_url: str, kind: str
) -> None:
    statement, problem = TAMPERED[kind]
    name = psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"]
    async with await psycopg.AsyncConnection.connect(template.url(SUPERUSER, str(name))) as owner:
        await owner.execute("SET search_path = holdfast")
        await owner.execute("ALTER TABLE event DISABLE TRIGGER ALL")
        await owner.execute(statement.encode())
    found = (await events.verify(database, told)).problem
    assert found is not None
    assert re.search(problem, found)


@pytest.mark.parametrize("statement", ["UPDATE event SET type = 'x'", "DELETE FROM event", "TRUNCATE event CASCADE"])
async def test_the_log_is_append_only(database: Database, told: SessionId, statement: str) -> None:
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        async with database.transaction() as connection:
            await connection.execute(statement.encode())


async def test_an_erased_content_still_verifies(database: Database, told: SessionId) -> None:
    async with database.transaction() as connection:
        await connection.execute("DELETE FROM prompt")
    assert (await events.verify(database, told)).problem is None


async def test_a_watcher_is_woken_by_what_others_write(database: Database, session: SessionId) -> None:
    async def wait() -> None:
        ticks = 0
        async with aclosing(events.ticks(database, session, read_all(session))) as woken:
            async for _ in woken:
                ticks += 1
                listening.set()
                if ticks == 2:
                    return

    listening = asyncio.Event()
    waiting = asyncio.create_task(wait())
    await listening.wait()
    async with session_journal(database, session, ACTOR) as journal:
        await journal.locked()
        journal.record(SessionEnded(reason="done"))
    await asyncio.wait_for(waiting, WAIT_TIMEOUT)


def claim(ask: str = "per_1", **more: Any) -> CallClaimed:
    decision = RecordedDecision(permission="edit", by="answer", ask=AskId(ask), author=ACTOR.subject)
    given = {"call": "prt_1", "fence": (1, 1, 1, 1), "digest": "d", "turn_config": "cfg_1", "decisions": (decision,)}
    return CallClaimed.model_validate(given | more)


def answered(ask: str, **more: Any) -> AskAnswered:
    return AskAnswered.model_validate({"ask": ask, "call": "prt_1", "reply": "once", "digest": "d"} | more)


def ordered(prompt: str = "msg_1", author: str = ACTOR.subject) -> RecordedDecision:
    return RecordedDecision(permission="task", by="prompt", prompt=MessageId(prompt), author=author)


ORDER = PromptAccepted(prompt=MessageId("msg_1"), seal="s", mode="queue")
GUARDED = RecordedDecision(permission="doom_loop", by="answer", ask=AskId("per_1"), author=ACTOR.subject)


@pytest.mark.parametrize(
    ("log", "explained"),
    [
        ((answered("per_1"), claim("per_1")), True),
        ((answered("per_1", digest="before"), claim("per_1", decisions=(GUARDED,))), True),
        ((claim("per_1"),), False),
        ((claim("per_1"), answered("per_1")), False),
        ((answered("per_2"), claim("per_1")), False),
        ((answered("per_1", call="prt_2"), claim("per_1")), False),
        ((answered("per_1", digest="other"), claim("per_1")), False),
        ((answered("per_1", reply="reject"), claim("per_1")), False),
        ((ORDER, claim(decisions=(ordered(),))), True),
        ((ORDER, claim(decisions=(ordered(prompt="msg_2"),))), False),
        ((ORDER, claim(decisions=(ordered(author="somebody@else"),))), False),
    ],
)
async def test_a_claim_that_no_answer_explains_is_named(
    database: Database, session: SessionId, log: tuple[Event, ...], explained: bool
) -> None:
    async with session_journal(database, session, ACTOR) as journal:
        await journal.locked()
        for event in log:
            journal.record(event)
    problem = (await events.verify(database, session)).problem
    if explained:
        assert problem is None
    else:
        seq = 2 + next(at for at, event in enumerate(log) if isinstance(event, CallClaimed))
        assert problem is not None and problem.startswith(f"event {seq} (call.claimed): nothing in the log explains")


async def test_an_answer_by_another_person_explains_no_claim(database: Database, session: SessionId) -> None:
    async with session_journal(database, session, ACTOR) as journal:
        await journal.locked()
        journal.record(answered("per_1"), Actor(subject="somebody@else", method="test"))
        journal.record(claim("per_1"))
    assert "nothing in the log explains" in str((await events.verify(database, session)).problem)


async def test_a_session_that_goes_on_while_it_is_verified_lacks_nothing(
    database: Database, told: SessionId, postgres_url: str
) -> None:
    async with database_proxy(postgres_url) as between, Database(between.url) as reading:
        last = between.hold_request("session_head")
        verifying = asyncio.create_task(events.verify(reading, told))
        await last.wait_until_caught()
        async with session_journal(database, told, ACTOR) as journal:
            await journal.locked()
            journal.record(SessionEnded(reason="again"))
        last.release()
        verified = await verifying
    assert (verified.events, verified.problem) == (3, None)
