"""A process that is frozen in the middle of a transaction, as by Ctrl-Z, holds up no session beside it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from temporalio.client import Client

from activities.cancellation import cancel_and_wait
from activities.model.wires.router import WireRouter
from activities.new_ids import new_id
from activities.project.project_loader import ProjectLoader
from activities.store import budgets, generations, reservations, sessions
from activities.store.database import Database
from activities.store.model_answers import NewAnswer
from activities.store.sessions import NewSession
from tests.acceptance.database_proxy import DatabaseProxy, database_proxy
from tests.activities.rig import BODY, PERSON, ActivityRig
from tests.harness import ACTOR, Harness
from tests.harness import harness as build
from worker.scripted.script import Script, ScriptedAnswer
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from workflows.domain.budgets import BudgetLimits, estimate
from workflows.domain.config.sources import ConfigSources
from workflows.domain.ids import Prefix, SessionId
from workflows.domain.prompt import Prompt
from workflows.domain.wire import CloseReason

pytestmark = pytest.mark.acceptance  # it mostly waits

LIMITS: Final = BudgetLimits(tokens=10_000_000)
BUDGET: Final = {"day": {"tokens": 10_000_000}, "project": {"day": {"steps": 1_000}}}
APPLICATION: Final = "frozen"
PROMPT: Final = Prompt.of_text("Hello.", model="scripted/model")

Door: TypeAlias = Callable[[SessionClient, Harness, SessionId], Coroutine[Any, Any, object]]
Activity: TypeAlias = Callable[[ActivityRig], Coroutine[Any, Any, object]]


@pytest.fixture
async def harness(
    settings: Settings, stack: Endpoints, postgres_url: str, temporal_client: Client, task_queue: str, tmp_path: Path
) -> AsyncIterator[Harness]:
    """One whose sessions all count for the budgets of one day."""
    endpoints = stack.model_copy(update={"postgres_url": postgres_url})
    own = settings.model_copy(update={"task_queue": task_queue})
    script = Script(answers=(ScriptedAnswer(text="All is well here."),))
    async with build(own, endpoints, temporal_client, WireRouter({}), script, tmp_path) as built:
        built.configure_person(model={}, holdfast={"budget": BUDGET})
        yield built


async def start(client: SessionClient, harness: Harness, _: SessionId) -> object:
    return await client.start(str(harness.project), PROMPT, limits=LIMITS)


async def send(client: SessionClient, _: Harness, session: SessionId) -> object:
    return await client.prompt(session, PROMPT, limits=LIMITS)


async def compact(client: SessionClient, _: Harness, session: SessionId) -> object:
    return await client.compact(session)


async def stop(client: SessionClient, _: Harness, session: SessionId) -> object:
    return await client.stop(session)


async def end(client: SessionClient, _: Harness, session: SessionId) -> object:
    return await client.end(session)


async def load(rig: ActivityRig) -> object:
    return await rig.load()


async def reserve(rig: ActivityRig) -> None:
    generation, fence = rig.generation(1), rig.fence()
    async with rig.journal() as journal:
        await generations.begin(journal, generation, fence)
        counting = [row.id for row in await budgets.lock(journal)]
        await reservations.of_others(journal, counting)
        reservations.reserve(journal, counting, generation, rig.turn, fence, estimate(1000, 100, None))


async def store(rig: ActivityRig) -> None:
    generation, fence = rig.generation(2), rig.fence()
    async with rig.journal() as journal:
        await generations.begin(journal, generation, fence)
        await generations.commit(journal, generation, fence, NewAnswer(body=BODY))


async def close(rig: ActivityRig) -> object:
    return await rig.close(CloseReason.STOPPED)


DOORS: Final = (start, send, compact, stop, end)
ACTIVITIES: Final = (load, store, close, reserve)  # only the last holds what others of them need


class Frozen:
    """Processes that are frozen at their n-th exchange, each with a session of its own."""

    def __init__(self, harness: Harness, open_all: AsyncExitStack, at: int) -> None:
        self.harness = harness
        self.at = at
        self.works: list[tuple[DatabaseProxy, asyncio.Task[object]]] = []
        self._open_all = open_all

    async def door(self, door: Door) -> None:
        session = (
            await bystander(self.harness) if door is compact else (await self._rig()).session
        )  # it wants an answer
        proxy, database = await self._proxied()
        client = SessionClient(self.harness.settings, database, ACTOR, self._no_delivery)
        self._begin(proxy, door(client, self.harness, session))

    async def activity(self, activity: Activity) -> None:
        rig = await self._rig()
        await rig.prompt(model="scripted/model")
        if activity is not load:
            rig.turn = (await rig.load()).turn.id  # type: ignore[union-attr]  # a prompt waits
        if activity is close:
            await reserve(rig)
        proxy, database = await self._proxied()
        self._begin(proxy, activity(replace(rig, database=database)))

    async def until_frozen(self) -> None:
        """Each is frozen, or was done before."""
        for proxy, work in self.works:
            frozen = asyncio.create_task(proxy.frozen.wait())
            await asyncio.wait((frozen, work), return_when=asyncio.FIRST_COMPLETED)
            await cancel_and_wait(frozen)

    async def broken_off(self) -> int:
        """How many of their connections the server has given up."""
        query = b"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = %(name)s"
        there = len(await self.harness.database.rows(query, name=APPLICATION))
        return len(self.works) - there

    async def end(self) -> None:
        for proxy, _ in self.works:
            proxy.part()
        for _, work in self.works:
            work.cancel()
        await asyncio.gather(*(work for _, work in self.works), return_exceptions=True)

    def _begin(self, proxy: DatabaseProxy, work: Coroutine[Any, Any, object]) -> None:
        proxy.freeze_at(self.at)
        self.works.append((proxy, asyncio.create_task(work)))

    async def _rig(self) -> ActivityRig:
        harness = self.harness
        home = harness.project.parent
        sources = ConfigSources(home=str(home), folder=str(harness.settings.config))
        loader = ProjectLoader(home / "data", home / "tmp", home / "managed", {}, sources)
        new = NewSession(id=SessionId(new_id(Prefix.SESSION)), directory=str(harness.project), title="")
        await sessions.create(harness.database, new, PERSON)
        return ActivityRig(harness.database, loader, harness.project, new.id)

    async def _proxied(self) -> tuple[DatabaseProxy, Database]:
        proxy = await self._open_all.enter_async_context(database_proxy(self.harness.endpoints.postgres_url))
        url = f"{proxy.url}&application_name={APPLICATION}"
        database = await self._open_all.enter_async_context(Database(url, size=1, connect_timeout=1))
        await database.now()  # connects
        return proxy, database

    async def _no_delivery(self, _: SessionId) -> bool:
        return False


async def bystander(harness: Harness) -> SessionId:
    """A session with limits of its own, in the same project and on the same day."""
    session = (await harness.client.start(str(harness.project), PROMPT, limits=LIMITS)).session
    ended = await harness.ended(session)
    assert getattr(ended, "reason", None) == "done"
    return session


async def rounds(
    harness: Harness, begin: Callable[[Frozen], Coroutine[Any, Any, None]]
) -> AsyncGenerator[Frozen, None]:
    """What `begin` begins, frozen at its first exchange, at its second, and so on until all of it ends before."""
    for at in range(1, 100):
        async with AsyncExitStack() as open_all:
            frozen = Frozen(harness, open_all, at)
            await begin(frozen)
            await frozen.until_frozen()
            if all(work.done() for _, work in frozen.works):
                for _, work in frozen.works:
                    await work
                return
            yield frozen
            await frozen.end()


async def test_a_session_ends_beside_doors_that_are_frozen_before_their_locks_are_given_up(harness: Harness) -> None:
    async def begin(frozen: Frozen) -> None:
        for door in DOORS:
            await frozen.door(door)

    async with harness.running_worker(), aclosing(rounds(harness, begin)) as frozen_doors:
        await bystander(harness)  # it begins the budgets of the day
        async for frozen in frozen_doors:
            await bystander(harness)
            assert await frozen.broken_off() == 0


async def test_a_session_ends_beside_activities_that_are_frozen(harness: Harness) -> None:
    async def begin(frozen: Frozen) -> None:
        for activity in ACTIVITIES:
            await frozen.activity(activity)

    async with harness.running_worker(), aclosing(rounds(harness, begin)) as frozen_activities:
        async for frozen in frozen_activities:
            await bystander(harness)
            assert any(not work.done() for _, work in frozen.works)
