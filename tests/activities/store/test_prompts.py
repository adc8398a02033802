"""Prompts: accepted once, taken once, or withdrawn."""

import pytest

from activities.new_ids import new_id
from activities.store import events, prompts, sessions, work, work_kinds
from activities.store.database import Database
from activities.store.journal import session_journal
from activities.store.sessions import NewSession
from tests.activities.store.conftest import ACTOR
from workflows.domain.errors import Conflict
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.ids import MessageId, Prefix, SessionId
from workflows.domain.messages import AgentPart, TextPart
from workflows.domain.prompt import Prompt, PromptContent, PromptMode

PROMPT = MessageId("msg_1"), Prompt.of_text("Hello")


async def test_the_same_prompt_again_is_accepted_once(database: Database, session: SessionId) -> None:
    async with session_journal(database, session, ACTOR) as journal:
        first = await prompts.accept(journal, *PROMPT)
    async with session_journal(database, session, ACTOR) as journal:
        second = await prompts.accept(journal, *PROMPT)
        assert [item.id for item in await work.untaken(journal)] == ["msg_1"]
    assert (first, second) == (True, False)


async def test_an_id_of_another_session_is_refused(database: Database, session: SessionId) -> None:
    other = NewSession(id=SessionId(new_id(Prefix.SESSION)), directory="/q", title="Another")
    await sessions.create(database, other, ACTOR)
    async with session_journal(database, session, ACTOR) as journal:
        await prompts.accept(journal, *PROMPT)
    with pytest.raises(Conflict, match="belongs to a prompt of session"):
        async with session_journal(database, other.id, ACTOR) as journal:
            await prompts.accept(journal, *PROMPT)


async def test_an_ended_session_takes_no_prompt(database: Database, session: SessionId) -> None:
    async with session_journal(database, session, ACTOR) as journal:
        await sessions.end(journal, "test")
    with pytest.raises(Conflict, match="has ended"):
        async with session_journal(database, session, ACTOR) as journal:
            await prompts.accept(journal, *PROMPT)


@pytest.mark.parametrize("text", ["a\x00b", "lone \ud800 surrogate", "\x1b[2K\r", "emoji 🙂", "x" * 1_000_000])
async def test_any_text_is_kept_as_it_is(database: Database, session: SessionId, text: str) -> None:
    async with session_journal(database, session, ACTOR) as journal:
        await prompts.accept(journal, MessageId("msg_1"), Prompt.of_text(text))
    async with database.transaction() as connection:
        row = await (await connection.execute("SELECT body FROM prompt")).fetchone()
    assert row is not None and row[0] == {"parts": [{"type": "text", "text": text}]}


async def test_what_a_prompt_names_is_in_its_event_and_row_and_what_it_says_only_sealed(
    database: Database, session: SessionId
) -> None:
    parts = (TextPart(text="Hello"), AgentPart(name="explore"))
    names = {"agent": "tester", "model": "a/b", "variant": "high"}
    prompt = Prompt(parts=parts, system="Be brief.", mode=PromptMode.QUEUE, **names)
    async with session_journal(database, session, ACTOR) as journal:
        await prompts.accept(journal, MessageId("msg_1"), prompt)

    *_, record = [each async for each in events.after(database, session)]
    (row,) = await database.rows(b"SELECT mode, agent, model, variant, body FROM prompt")
    assert isinstance(record.event, PromptAccepted)
    assert names | {"mode": "queue"} == record.event.model_dump(include={"mode", *names})
    assert {name: row[name] for name in names} == names and PromptContent.model_validate(row["body"]) == prompt.content
    assert "Hello" not in record.model_dump_json() and "brief" not in record.model_dump_json()
    assert (await events.verify(database, session)).problem is None


async def test_prompts_are_withdrawn_in_the_order_of_acceptance(database: Database, session: SessionId) -> None:
    async with session_journal(database, session, ACTOR) as journal:
        for name in ("msg_2", "msg_1"):
            await prompts.accept(journal, MessageId(name), Prompt.of_text("Hello"))
        withdrawn = await work_kinds.withdraw_untaken(journal, "stopped")
        assert [item.id for item in withdrawn] == ["msg_2", "msg_1"] and await work.untaken(journal) == []
