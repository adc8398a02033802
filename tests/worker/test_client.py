"""The client: what it accepts is a row first, with or without the engine."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from activities.store import outbox, prompts, suspensions
from activities.store.journal import session_journal
from tests.acceptance.temporal_proxy import proxy
from tests.activities.rig import open_rig
from tests.harness import ACTOR, Harness
from tests.polling import WAIT_TIMEOUT
from tests.worker.conftest import client_without_engine
from worker.client import Holdfast
from worker.length_check import MAX_PROMPT_CHARS
from worker.project_config import load_project_config, sources_of
from worker.prompt_check import validate_prompt
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from workflows.domain.errors import NotFound, UsageError
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.ids import AskId, GrantId, MessageId, SessionId, StopId
from workflows.domain.messages import FilePart, PromptPart, TextPart
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.prompt import Prompt, PromptMode
from workflows.domain.session_filter import SessionFilter
from workflows.domain.suspension import SuspendCause, SuspendReason
from workflows.domain.usage import Cost
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents
from workflows.domain.wire import CloseReason

UNKNOWN = SessionId("ses_x")
EVENTS = 1000
RECONNECTIONS = 100
Ask = Callable[[SessionClient, SessionId], Awaitable[object]]


@pytest.fixture
async def alone(harness: Harness) -> AsyncIterator[SessionClient]:
    """A client that cannot reach Temporal."""
    async with client_without_engine(harness) as client:
        yield client


async def started(client: SessionClient, text: str = "Hello.") -> SessionId:
    return (await client.start("/p", text)).session


async def types(client: SessionClient, session: SessionId, after: int = 0) -> list[str]:
    return [seen.record.event.type async for seen in client.records.log(session, after)]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_prompt_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="The prompt is empty"):
        validate_prompt(text)


def test_a_prompt_that_is_too_long_says_how_long_it_may_be() -> None:
    assert validate_prompt("x" * MAX_PROMPT_CHARS)
    with pytest.raises(UsageError, match="1,000,001 characters; at most 1,000,000 are allowed"):
        validate_prompt("x" * (MAX_PROMPT_CHARS + 1))


@pytest.mark.parametrize("name", ["", "\ud800", "a\0", "x" * 201])
def test_a_tool_that_a_prompt_takes_away_has_a_name(name: str) -> None:
    with pytest.raises(UsageError, match="1 to 200 printable characters"):
        validate_prompt(Prompt.of_text("Go.", tools={name: False}))


async def test_a_prompt_is_accepted_while_temporal_is_away(alone: SessionClient) -> None:
    accepted = await alone.start("/p", "Hello.")
    assert not accepted.delivered
    assert await types(alone, accepted.session) == ["session.created", "prompt.accepted"]
    assert (await alone.sessions.get(accepted.session)).waiting == 1


async def test_a_prompt_is_delivered_when_the_engine_is_there(harness: Harness) -> None:
    assert (await harness.client.start("/p", "Hello.")).delivered


class Witness(Holdfast):
    """At each signal, reads from another connection what is committed."""

    def __init__(self, settings: Settings, endpoints: Endpoints) -> None:
        super().__init__(settings, endpoints)
        self.sent: list[str] = []

    async def deliver(self, session: SessionId) -> bool:
        self.sent += [signal.kind for signal in await outbox.pending(self.database, session)]
        return await super().deliver(session)


async def test_each_row_is_committed_with_its_signal_before_that_is_sent(harness: Harness, tmp_path: Path) -> None:
    rig = await open_rig(harness.database, tmp_path)
    async with Witness(harness.settings, harness.endpoints) as holdfast:
        door = holdfast.as_(ACTOR)
        await door.start("/p", "Hello.")
        await rig.open_turn(permission={"edit": "ask"})
        ask = await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
        await door.answer(ask, AskDecision(reply=Reply.ONCE))
        await door.stop(rig.session)
        await rig.close(CloseReason.FAILED, error="broken")
        await door.retry(rig.session)
        async with rig.journal() as journal:
            await suspensions.suspend(journal, SuspendCause(reason=SuspendReason.RESTART))
        await door.resume(rig.session)
        await rig.load()
        await door.end(rig.session)
    assert holdfast.sent == ["work", "answer", "stop", "work", "resume", "stop", "resume"]
    assert await harness.database.rows(b"SELECT FROM outbox") == []


@pytest.mark.parametrize("known", [False, True], ids=["never reached", "reached before"])
async def test_doors_do_not_wait_for_a_temporal_that_does_not_answer(harness: Harness, known: bool) -> None:
    async with proxy(harness.endpoints.temporal_address) as between:
        silent = harness.endpoints.model_copy(update={"temporal_address": between.address})
        async with Holdfast(harness.settings, silent) as holdfast:
            door = holdfast.as_(ACTOR)
            started = await door.start("/p", "Hello.") if known else None
            between.part()
            async with asyncio.timeout(20):  # Temporal's client gives up after half a minute
                accepted = [await door.start("/p", "Hello.") for _ in range(10)]
    assert started is None or started.delivered
    assert not any(each.delivered for each in accepted)
    left = await harness.database.rows(b"SELECT session FROM outbox ORDER BY id")
    assert [row["session"] for row in left] == [each.session for each in accepted]


async def test_starting_again_with_the_same_ids_is_the_same_start(alone: SessionClient) -> None:
    session, prompt = SessionId("ses_1"), MessageId("msg_1")
    results = [await alone.start("/p", "Hello.", session=session, prompt=prompt) for _ in range(2)]
    assert results[0] == results[1]
    assert await types(alone, session) == ["session.created", "prompt.accepted"]


async def test_an_empty_prompt_leaves_no_session_behind(alone: SessionClient) -> None:
    with pytest.raises(UsageError):
        await alone.start("/p", " ")
    assert await alone.sessions.list_recent() == []


async def test_sessions_are_listed_by_directory(alone: SessionClient) -> None:
    await started(alone)
    other = (await alone.start("/q", "Hello.")).session
    assert [found.id for found in await alone.sessions.list_recent(SessionFilter(directory="/q"))] == [other]
    assert len(await alone.sessions.list_recent()) == 2


async def test_a_stop_withdraws_what_nobody_has_taken(alone: SessionClient) -> None:
    session = await started(alone)
    queued = (await alone.prompt(session, Prompt.of_text("Later.", mode=PromptMode.QUEUE))).prompt
    stopped = await alone.stop(session, stop=StopId("stp_1"))
    assert stopped.turn is None and stopped.withdrawn[-1] == queued and len(stopped.withdrawn) == 2
    assert (await alone.stop(session, stop=StopId("stp_1"))).withdrawn == ()


async def test_the_end_of_a_session_withdraws_its_prompts(alone: SessionClient) -> None:
    session = await started(alone)
    await alone.end(session)
    assert (await types(alone, session))[-3:] == ["stop.accepted", "prompt.withdrawn", "session.ended"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda client, session: client.sessions.get(session),
        lambda client, session: client.records.verify(session),
        lambda client, session: client.records.transcript(session),
        *(SessionClient.stop, SessionClient.end, types),
        lambda client, session: client.prompt(session, "More."),
    ],
)
async def test_a_session_that_does_not_exist_is_named(alone: SessionClient, ask: Ask) -> None:
    with pytest.raises(NotFound, match="There is no session 'ses_x'"):
        await ask(alone, UNKNOWN)


async def test_asks_and_grants_that_do_not_exist_are_named(alone: SessionClient) -> None:
    assert await alone.inbox.asks() == [] and await alone.grants.list_all() == []
    with pytest.raises(NotFound, match="per_x"):
        await alone.answer(AskId("per_x"), AskDecision.model_validate({"reply": "once"}))
    with pytest.raises(NotFound, match="gra_x"):
        await alone.grants.revoke(GrantId("gra_x"))


async def test_a_log_longer_than_a_page_is_read_whole_and_from_anywhere(alone: SessionClient) -> None:
    session = await started(alone)
    for number in range(220):
        await alone.prompt(session, f"Prompt {number}")
    seen = [each async for each in alone.records.log(session)]
    assert [each.record.seq for each in seen] == list(range(1, 223))
    assert len(await types(alone, session, after=200)) == 22
    assert {"parts": [{"type": "text", "text": "Prompt 219"}]} in seen[-1].contents.values()


async def test_a_watcher_sees_each_event_once_over_reconnections(harness: Harness, alone: SessionClient) -> None:
    session = await started(alone)
    seen: list[int] = []
    cut = 0
    async with asyncio.timeout(WAIT_TIMEOUT):
        async with aclosing(alone.records.watch(session)) as watched:
            async for each in watched:
                assert not isinstance(each, PublishedDelta)
                seen.append(each.record.seq)
                if len(seen) == 6:
                    break
                cut += await cut_listeners(harness)
                await alone.prompt(session, "More.")
    assert seen == list(range(1, 7)) and cut > 1


async def test_a_watcher_begins_although_its_connection_is_broken_by_then(
    harness: Harness, alone: SessionClient
) -> None:
    session = await started(alone)
    async with harness.database.transaction() as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    async with asyncio.timeout(WAIT_TIMEOUT), aclosing(alone.records.watch(session)) as watched:
        each = await anext(watched)
    assert isinstance(each, EventWithContents) and each.record.seq == 1


async def test_a_watcher_goes_on_where_it_was(alone: SessionClient) -> None:
    session = await started(alone)
    await alone.prompt(session, "More.")
    async with aclosing(alone.records.watch(session, after=2)) as watched:
        each = await anext(watched)
    assert isinstance(each, EventWithContents) and each.record.seq == 3


async def test_what_was_used_is_told(alone: SessionClient) -> None:
    totals = await alone.sessions.totals(await started(alone))
    assert totals.steps == 0 and totals.cost == Cost()


async def cut_listeners(harness: Harness) -> int:
    """Cut the connections that wait for notifications; their number."""
    query = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND (query LIKE 'LISTEN%' OR query LIKE '%lock_shared%')"
        "AND pid <> pg_backend_pid()"
    )
    async with harness.database.transaction() as connection:
        return (await connection.execute(query)).rowcount


async def test_b20_a_watcher_that_reconnects_a_hundred_times_in_a_thousand_events_misses_none(
    harness: Harness, alone: SessionClient
) -> None:
    session = await started(alone)
    writing = asyncio.create_task(write(harness, session, EVENTS - 2))
    numbers: list[int] = []
    while len(numbers) < EVENTS:
        numbers += await some(alone, session, after=len(numbers), count=EVENTS // RECONNECTIONS)
    await writing
    assert numbers == list(range(1, EVENTS + 1))


async def write(harness: Harness, session: SessionId, count: int) -> None:
    """Accept `count` prompts, without signals: each is an event."""
    for number in range(count):
        async with session_journal(harness.database, session, ACTOR) as journal:
            await prompts.accept(journal, MessageId(f"msg_{number}"), Prompt.of_text("And?"))


async def accepted(client: SessionClient, session: SessionId) -> AsyncIterator[PromptAccepted]:
    """The prompts in a session's log."""
    async for seen in client.records.log(session):
        if isinstance(seen.record.event, PromptAccepted):
            yield seen.record.event


async def some(client: SessionClient, session: SessionId, after: int, count: int) -> list[int]:
    """The numbers of the next events on a new connection, which is then closed."""
    numbers: list[int] = []
    async with asyncio.timeout(WAIT_TIMEOUT), aclosing(client.records.watch(session, after)) as watched:
        async for each in watched:
            numbers += [each.record.seq] if isinstance(each, EventWithContents) else []
            if len(numbers) == count:
                break
    return numbers


@pytest.mark.parametrize("name", ["explore", "title", "nope"])
async def test_no_session_begins_for_an_agent_that_people_may_not_choose(harness: Harness, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name!r}.*Available agents: build"):
        await harness.client.start(str(harness.project), Prompt.of_text("Hello.", agent=name))

    assert await harness.client.sessions.list_recent() == []


WIDE = "data:image/gif;base64," + b64encode(b"GIF89a" + (9000).to_bytes(2, "little") + b"\1\0").decode()
FILE = FilePart(mime="text/plain", url="file:///p/a")
LONG = FilePart(mime="text/plain", url=f"data:text/plain,{'x' * 1_000_000}", filename="a.txt")
REFUSED: dict[str, tuple[tuple[PromptPart, ...], str]] = {
    "an address": ((FilePart(mime="text/plain", url="https://example.com/a.txt"),), "names no file of this machine"),
    "a relative path": ((FilePart(mime="text/plain", url="file:a.txt"),), "names no file of this machine"),
    "another host": ((FilePart(mime="text/plain", url="file://other/a.txt"),), "names no file of this machine"),
    "no base64": ((FilePart(mime="image/png", url="data:image/png;base64,?"),), "holds no contents"),
    "another type": ((FilePart(mime="application/zip", url="data:application/zip;base64,UEsD"),), "neither a text nor"),
    "no whole picture": ((FilePart(mime="image/gif", url=WIDE, filename="a.gif"),), "'a.gif' cannot be shown.*large"),
    "much together": ((LONG,) * 21, "21,000,000 bytes together; at most 20,971,520 are.*'a.txt' 1,000,000, 'a"),
    "too many": ((FILE,) * 51, "has 51 files; at most 50 are allowed"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_a_prompt_may_not_hold_is_refused_in_words(alone: SessionClient, case: str) -> None:
    parts, said = REFUSED[case]
    prompt, session = Prompt(parts=(*parts, TextPart(text="Go."))), await started(alone)
    before = await types(alone, session)
    with pytest.raises(UsageError, match=said):
        await alone.start("/p", prompt)
    with pytest.raises(UsageError, match=said):
        await alone.prompt(session, prompt)

    assert await types(alone, session) == before and len(await alone.sessions.list_recent()) == 1


@pytest.mark.parametrize(
    ("system", "said"), [(" \n", "own instructions are empty"), ("x" * 1_000_001, "1,000,000 are")]
)
async def test_instructions_that_a_prompt_cannot_have_are_refused(alone: SessionClient, system: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        await alone.start("/p", Prompt.of_text("Go.", system=system))

    assert await alone.sessions.list_recent() == []


@pytest.mark.parametrize("name", ["explore", "title", "coder", "nope"])
async def test_a_prompt_for_an_agent_that_cannot_work_here_is_refused(harness: Harness, name: str) -> None:
    harness.configure(agent={"coder": {"disable": True}, "tester": {}})
    session = (await harness.client.start(str(harness.project), "Hello.")).session
    with pytest.raises(UsageError, match=f"{name!r}.*Available agents: build, plan, tester."):
        await harness.client.prompt(session, Prompt.of_text("Go on.", agent=name))

    assert await types(harness.client, session) == ["session.created", "prompt.accepted"]


async def test_a_prompt_for_another_agent_is_read_from_the_sources_that_come_with_it(harness: Harness) -> None:
    session = (await harness.client.start(str(harness.project), "Hello.")).session
    own = sources_of(harness.settings).model_copy(update={"content": {"agent": {"tester": {}}}})
    prompt = Prompt.of_text("Go on.", agent="tester")
    with pytest.raises(UsageError, match="Agent not found: 'tester'"):
        await harness.client.prompt(session, prompt)
    await harness.client.prompt(session, prompt, sources=own)

    assert (await types(harness.client, session))[-2:] == ["session.configured", "prompt.accepted"]


async def test_a_subagents_session_takes_prompts_for_its_own_agent_only(harness: Harness, tmp_path: Path) -> None:
    rig = await open_rig(harness.database, tmp_path)
    await rig.open_turn()
    call = await rig.called("task", description="look", prompt="Where?", subagent_type="explore")
    child = (await rig.run(call)).child
    assert child is not None
    with pytest.raises(UsageError, match="is a subagent's: it works as 'explore' only"):
        await harness.client.prompt(child, Prompt.of_text("Write it.", agent="build"))
    await harness.client.prompt(child, Prompt.of_text("And there?", agent="explore"))


async def test_the_log_names_agent_and_model_of_a_prompt_and_seals_its_text(harness: Harness) -> None:
    harness.configure(agent={"tester": {}})
    prompt = Prompt.of_text("my secret", agent="tester", model="scripted/model", mode=PromptMode.QUEUE)
    session = (await harness.client.start(str(harness.project), prompt)).session
    (event,) = [each async for each in accepted(harness.client, session)]

    assert (event.agent, event.model, event.variant, event.mode) == ("tester", "scripted/model", None, "queue")
    assert "secret" not in event.model_dump_json()
    assert (await harness.client.sessions.get(session)).agent == "tester"


async def test_what_a_caller_has_read_of_a_directory_is_what_is_started(harness: Harness) -> None:
    harness.configure(agent={"coder": {"description": "Writes code."}}, default_agent="coder")
    turn_config = await load_project_config(harness.settings, harness.project)
    harness.file("opencode.json", "{")
    session = (await harness.client.start(str(harness.project), "Hello.", turn_config=turn_config)).session

    assert (await harness.client.sessions.get(session)).agent == "coder"


async def test_people_act_in_their_own_names_through_the_same_connections(harness: Harness) -> None:
    async with Holdfast(harness.settings, harness.endpoints) as holdfast:
        one, other = (holdfast.as_(ACTOR.model_copy(update={"subject": name})) for name in ("one", "other"))
        session = await started(one)
        await other.prompt(session, "And then?")
        actors = {seen.record.event.type: seen.record.actor.subject async for seen in one.records.log(session)}
    assert actors == {"session.created": "one", "prompt.accepted": "other"}
    assert one.database is other.database
