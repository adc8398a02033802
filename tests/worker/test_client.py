"""The client: what is accepted is a row first, whether or not the engine is there."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.session.answers import Decided
from activities.store import bells, parks, prompts
from activities.store.bells import Bell
from activities.store.journal import journal
from activities.store.prompts import Mode, NewPrompt
from tests.activities.scene import scene_in
from tests.house import ACTOR, House
from tests.worker.conftest import cut_off
from worker.client import LONGEST_PROMPT, Delta, Seen, SessionClient, checked, title
from worker.settings import Settings
from worker.stack.state import Endpoints
from worker.survey import survey
from workflows.domain.errors import NotFound, UsageError
from workflows.domain.ids import AskId, GrantId, MessageId, ParkId, SessionId, StopId
from workflows.domain.parking import Doubt, ParkReason
from workflows.domain.permissions.replies import Reply
from workflows.domain.usage import Cost
from workflows.domain.wire import CloseReason

UNKNOWN = SessionId("ses_x")
EVENTS = 1000
RECONNECTIONS = 100
Ask = Callable[[SessionClient, SessionId], Awaitable[object]]


@pytest.fixture
async def alone(house: House) -> AsyncIterator[SessionClient]:
    """A client that cannot reach Temporal."""
    async with cut_off(house) as client:
        yield client


async def started(client: SessionClient, text: str = "Hello.") -> SessionId:
    return (await client.start("/p", text)).session


async def types(client: SessionClient, session: SessionId, after: int = 0) -> list[str]:
    return [seen.record.event.type async for seen in client.log(session, after)]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_prompt_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="The prompt is empty"):
        checked(text)


def test_a_prompt_that_is_too_long_says_how_long_it_may_be() -> None:
    assert checked("x" * LONGEST_PROMPT)
    with pytest.raises(UsageError, match="1,000,001 characters, 1,000,000 are the most"):
        checked("x" * (LONGEST_PROMPT + 1))


def test_a_title_is_one_printable_line() -> None:
    assert title("\n\n  Fix\x1b[2K it  \nand more") == "Fix [2K it  "
    assert len(title("x " * 1000)) == 100 and title("x " * 1000).endswith("...")


@given(before=st.integers(0, 120))
def test_a_title_holds_a_long_word_whole_or_not_at_all(before: int) -> None:
    short = title(f"{'x ' * (before // 2)}{' ' * (before % 2)}my-secret-key-4711 and more" + " and more" * 20)

    assert "my-secret-key-4711" in short or "my-secre" not in short


async def test_a_prompt_is_accepted_while_temporal_is_away(alone: SessionClient) -> None:
    accepted = await alone.start("/p", "Hello.")
    assert not accepted.rung
    assert await types(alone, accepted.session) == ["session.created", "prompt.accepted"]
    assert (await alone.session(accepted.session)).waiting == 1


async def test_a_prompt_is_rung_when_the_engine_is_there(house: House) -> None:
    assert (await house.client.start("/p", "Hello.")).rung


class Witness(SessionClient):
    """A client that looks from another connection, when it rings, at what has been committed."""

    def __init__(self, settings: Settings, endpoints: Endpoints) -> None:
        super().__init__(settings, endpoints, ACTOR)
        self.rung: list[str] = []

    async def ring(self, bell: Bell) -> bool:
        later = await self.database.now() + timedelta(seconds=1)
        assert bell in await bells.undelivered(self.database, later), f"{bell} is rung before its row is there"
        self.rung.append(bell.kind)
        return await super().ring(bell)


async def test_each_row_is_committed_before_it_is_rung_for(house: House, tmp_path: Path) -> None:
    scene = await scene_in(house.database, tmp_path)
    async with Witness(house.settings, house.endpoints) as door:
        await door.start("/p", "Hello.")
        await scene.open_turn(permission={"edit": "ask"})
        ask = await scene.asked(await scene.called("write", filePath="a.txt", content="x"))
        await door.answer(ask, Decided(reply=Reply.ONCE))
        await door.stop(scene.session)
        await scene.close(CloseReason.FAILED, error="broken")
        await door.retry(scene.session)
        async with scene.journal() as opened:
            parks.park(opened, ParkId("prk_1"), Doubt(reason=ParkReason.RESTART))
        await door.resume(scene.session)
    assert door.rung == ["prompt", "answer", "stop", "retry", "resume"]


async def test_starting_again_with_the_same_ids_is_the_same_start(alone: SessionClient) -> None:
    session, prompt = SessionId("ses_1"), MessageId("msg_1")
    results = [await alone.start("/p", "Hello.", session=session, prompt=prompt) for _ in range(2)]
    assert results[0] == results[1]
    assert await types(alone, session) == ["session.created", "prompt.accepted"]


async def test_an_empty_prompt_leaves_no_session_behind(alone: SessionClient) -> None:
    with pytest.raises(UsageError):
        await alone.start("/p", " ")
    assert await alone.sessions() == []


async def test_sessions_are_listed_by_directory(alone: SessionClient) -> None:
    await started(alone)
    other = (await alone.start("/q", "Hello.")).session
    assert [found.id for found in await alone.sessions("/q")] == [other]
    assert len(await alone.sessions()) == 2


async def test_a_stop_withdraws_what_nobody_has_taken(alone: SessionClient) -> None:
    session = await started(alone)
    queued = (await alone.prompt(session, "Later.", mode=Mode.QUEUE)).prompt
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
        *(SessionClient.session, SessionClient.verify, SessionClient.transcript, SessionClient.stop, SessionClient.end),
        *(types, lambda client, session: client.prompt(session, "More.")),
    ],
)
async def test_a_session_that_does_not_exist_is_named(alone: SessionClient, ask: Ask) -> None:
    with pytest.raises(NotFound, match="There is no session 'ses_x'"):
        await ask(alone, UNKNOWN)


async def test_asks_and_grants_that_do_not_exist_are_named(alone: SessionClient) -> None:
    assert await alone.asks() == [] and await alone.grants() == []
    with pytest.raises(NotFound, match="per_x"):
        await alone.answer(AskId("per_x"), Decided.model_validate({"reply": "once"}))
    with pytest.raises(NotFound, match="gra_x"):
        await alone.revoke(GrantId("gra_x"))


async def test_a_log_longer_than_a_page_is_read_whole_and_from_anywhere(alone: SessionClient) -> None:
    session = await started(alone)
    for number in range(220):
        await alone.prompt(session, f"Prompt {number}")
    seen = [each async for each in alone.log(session)]
    assert [each.record.seq for each in seen] == list(range(1, 223))
    assert len(await types(alone, session, after=200)) == 22
    assert list(seen[-1].contents.values()) == [{"text": "Prompt 219"}]


async def test_a_watcher_sees_each_event_once_over_reconnections(house: House, alone: SessionClient) -> None:
    session = await started(alone)
    seen: list[int] = []
    cut = 0
    async with asyncio.timeout(60):
        async with aclosing(alone.watch(session)) as watched:
            async for each in watched:
                assert not isinstance(each, Delta)
                seen.append(each.record.seq)
                if len(seen) == 6:
                    break
                cut += await cut_listeners(house)
                await alone.prompt(session, "More.")
    assert seen == list(range(1, 7)) and cut > 1


async def test_a_watcher_begins_although_its_connection_is_broken_by_then(house: House, alone: SessionClient) -> None:
    session = await started(alone)
    async with house.database.transaction() as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    async with asyncio.timeout(60), aclosing(alone.watch(session)) as watched:
        each = await anext(watched)
    assert isinstance(each, Seen) and each.record.seq == 1


async def test_a_watcher_goes_on_where_it_was(alone: SessionClient) -> None:
    session = await started(alone)
    await alone.prompt(session, "More.")
    async with aclosing(alone.watch(session, after=2)) as watched:
        each = await anext(watched)
    assert isinstance(each, Seen) and each.record.seq == 3


async def test_what_was_used_is_told(alone: SessionClient) -> None:
    totals = await alone.totals(await started(alone))
    assert totals.steps == 0 and totals.cost == Cost()


async def cut_listeners(house: House) -> int:
    """Cut the connections that wait for notifications; how many there were."""
    query = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND (query LIKE 'LISTEN%' OR query LIKE '%lock_shared%')"
        "AND pid <> pg_backend_pid()"
    )
    async with house.database.transaction() as connection:
        return (await connection.execute(query)).rowcount


async def test_b20_a_watcher_that_reconnects_a_hundred_times_in_a_thousand_events_misses_none(
    house: House, alone: SessionClient
) -> None:
    session = await started(alone)
    writing = asyncio.create_task(write(house, session, EVENTS - 2))
    numbers: list[int] = []
    while len(numbers) < EVENTS:
        numbers += await some(alone, session, after=len(numbers), count=EVENTS // RECONNECTIONS)
    await writing
    assert numbers == list(range(1, EVENTS + 1))


async def write(house: House, session: SessionId, count: int) -> None:
    """Accept so many prompts, without bells: each is an event."""
    for number in range(count):
        async with journal(house.database, session, ACTOR) as opened:
            await prompts.accept(opened, NewPrompt(id=MessageId(f"msg_{number}"), text="And?"))


async def some(client: SessionClient, session: SessionId, after: int, count: int) -> list[int]:
    """The numbers of the next events that a new connection gets, which is closed then."""
    numbers: list[int] = []
    async with asyncio.timeout(60), aclosing(client.watch(session, after)) as watched:
        async for each in watched:
            numbers += [each.record.seq] if isinstance(each, Seen) else []
            if len(numbers) == count:
                break
    return numbers


@pytest.mark.parametrize("name", ["explore", "plan", "nope"])
async def test_no_session_begins_for_an_agent_that_people_may_not_choose(house: House, name: str) -> None:
    with pytest.raises(UsageError, match=f"{name!r}.*Available agents: build"):
        await house.client.start(str(house.project), "Hello.", agent=name)

    assert await house.client.sessions() == []


async def test_what_a_caller_has_read_of_a_directory_is_what_is_started(house: House) -> None:
    house.configure(agent={"coder": {"description": "Writes code."}}, default_agent="coder")
    snapshot = await survey(house.settings, house.project)
    house.file("opencode.json", "{")
    session = (await house.client.start(str(house.project), "Hello.", snapshot=snapshot)).session

    assert (await house.client.session(session)).agent == "coder"
