"""A session that begins without a prompt: what it is until its first one, and how that starts it."""

import asyncio

import pytest
from temporalio.service import RPCError

from activities.new_ids import new_id
from activities.store import outbox, prompts, reconcile
from activities.store.journal import session_journal
from tests.harness import ACTOR, Harness
from tests.histories.history_scenarios import DONE
from tests.workflows.conftest import Open
from workflows.domain.errors import Conflict, UsageError
from workflows.domain.generation import Purpose
from workflows.domain.ids import MessageId, Prefix, SessionId
from workflows.domain.prompt import Prompt
from workflows.domain.titles import is_default_title

PROMPT = Prompt.of_text("Go on.\nNow.", model="scripted/model")


async def created(
    harness: Harness, *, session: SessionId | None = None, title: str | None = None, agent: str | None = None
) -> SessionId:
    named = Prompt(parts=(), agent=agent, model="scripted/model")
    return await harness.client.create(str(harness.project), named, session=session, title=title)


async def test_it_is_idle_and_has_no_run_until_its_first_prompt(open_harness: Open) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        session = await created(harness)
        before = await harness.client.sessions.get(session)
        with pytest.raises(RPCError, match="not found"):
            await harness.workflow(session).describe()
        assert await outbox.pending(harness.database, session) == []
        assert session not in [each.session for each in await reconcile.due(harness.database, 0.0)]
        await harness.client.prompt(session, "Go on.\nNow.")
        await harness.ended(session)
        after = await harness.client.sessions.get(session)
        events = [event.type for event in await harness.events(session)]
    assert (before.working, before.number, before.waiting, before.seq) == (False, None, 0, 1)
    assert is_default_title(before.title) and before.model == "scripted/model"
    assert (after.title, after.reason, after.number) == ("Go on.", "done", 1)
    assert events[:2] == ["session.created", "prompt.accepted"]


async def test_the_same_creation_again_is_the_same_session(open_harness: Open) -> None:
    named = SessionId(new_id(Prefix.SESSION))
    async with open_harness(DONE) as harness, harness.running_worker():
        both = await asyncio.gather(*(created(harness, session=named) for _ in range(2)))
        own = MessageId(new_id(Prefix.MESSAGE))
        for _ in range(2):  # a start that has found the session there, and its repetition
            await harness.client.start(str(harness.project), PROMPT, session=named, prompt=own)
        await harness.ended(named)
        events = [event.type for event in await harness.events(named)]
        found = await harness.client.sessions.get(named)
    assert both == [named, named] and found.title == "Go on."
    assert [events.count(each) for each in ("session.created", "prompt.accepted", "turn.opened")] == [1, 1, 1]


async def test_a_first_prompt_whose_sender_died_behind_its_row_starts_the_session(open_harness: Open) -> None:
    async with open_harness(DONE) as harness, harness.running_worker(with_sweeper=True):
        session = await created(harness)
        async with session_journal(harness.database, session, ACTOR) as journal:
            await prompts.accept(journal, MessageId(new_id(Prefix.MESSAGE)), PROMPT)
        await harness.ended(session)
        assert (await harness.client.sessions.get(session)).reason == "done"


async def test_a_title_that_it_was_given_stays_and_that_of_a_deleted_first_prompt_does_not(open_harness: Open) -> None:
    async with open_harness(DONE, DONE) as harness, harness.running_worker():
        given, other = await created(harness, title="Mine"), await created(harness)
        for session in (given, other):
            await harness.client.prompt(session, PROMPT)
            await harness.ended(session)
        (first, _) = await harness.client.records.transcript(other)
        await harness.workflow(other).result()
        await harness.client.deletions.delete_message(other, first.id)
        await harness.client.prompt(other, "A secret?")
        await harness.ended(other, 2)
        titles = [(await harness.client.sessions.get(each)).title for each in (given, other)]
    assert titles[0] == "Mine" and is_default_title(titles[1])


async def test_it_can_be_titled_forked_and_archived_and_refuses_what_needs_a_turn(open_harness: Open) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        client, session = harness.client, await created(harness)
        fork = await client.copies.fork_session(session)
        for refused in (client.retry(session), client.compact(session), client.asides.ask(session, Purpose.TITLE)):
            with pytest.raises(Conflict):
                await refused
        assert await client.asides.give_title(session, "Named") == "Named"
        stopped = await client.stop(session)
        archive = await client.archives.archive(session)
        await client.archives.restore(archive)
        for each in (session, fork.session):
            await client.prompt(each, PROMPT)
            await harness.ended(each)
        overview = await client.sessions.get(session)
    assert (fork.messages, stopped.turn, overview.title, overview.reason) == (0, None, "Named", "done")


async def test_it_can_be_ended_and_deleted(open_harness: Open) -> None:
    async with open_harness(DONE) as harness, harness.running_worker():
        client, session = harness.client, await created(harness)
        for end in (client.end, client.deletions.delete):
            await end(session)
            with pytest.raises(Conflict):
                await client.prompt(session, PROMPT)


async def test_an_agent_that_cannot_work_there_is_refused_before_there_is_a_row(open_harness: Open) -> None:
    async with open_harness(DONE) as harness:
        with pytest.raises(UsageError, match="nobody"):
            await created(harness, agent="nobody")
        assert await harness.client.sessions.list_recent() == []
