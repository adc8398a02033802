"""Hosts: known by their workers and by their sessions; away when no worker has been there for a while."""

import asyncio
from functools import partial

import pytest

from activities.mint import Mint
from activities.store import grants, hosts, sessions
from activities.store.database import Database
from activities.store.hosts import Host, HostTaken
from activities.store.journal import journal
from activities.store.sessions import NewSession
from tests.activities.scene import PERSON, Scene
from tests.activities.store.conftest import ACTOR
from tests.hosts import LONG_AGO, taken
from workflows.domain.ids import Prefix, SessionId
from workflows.domain.permissions.grants import Scope
from workflows.domain.permissions.replies import Reply


async def session_on(database: Database, host: str | None, directory: str = "/p") -> SessionId:
    new = NewSession(id=SessionId(Mint().new(Prefix.SESSION)), host=host, directory=directory, title="A session")
    await sessions.create(database, new, ACTOR)
    return new.id


async def test_a_host_is_there_as_long_as_its_worker_says_so(database: Database) -> None:
    session = await session_on(database, "alpha")
    before = (await sessions.get(database, session)).away
    await hosts.seen(database, "alpha", "one")
    there = (await sessions.get(database, session)).away
    await database.rows(LONG_AGO)
    after = (await sessions.get(database, session)).away
    assert (before, there, after) == (True, False, True)


async def test_a_session_without_a_host_waits_for_none(database: Database) -> None:
    assert not (await sessions.get(database, await session_on(database, None))).away


async def test_a_host_is_one_machines_as_long_as_its_worker_is_there(database: Database) -> None:
    for _ in range(2):
        await hosts.seen(database, "alpha", "one")
    for refuses in (hosts.seen, hosts.must_not_be_taken):
        with pytest.raises(HostTaken, match=r"Host 'alpha' is another machine's: 0 s ago .* HOLDFAST_HOST"):
            await refuses(database, "alpha", "other")
    await hosts.must_not_be_taken(database, "alpha", "one")


async def test_a_host_whose_worker_has_gone_is_anybodys(database: Database) -> None:
    await hosts.seen(database, "alpha", "one")
    await database.rows(LONG_AGO)
    await hosts.must_not_be_taken(database, "alpha", "other")
    await taken(partial(hosts.seen, database, "alpha", "other"))
    with pytest.raises(HostTaken):
        await hosts.seen(database, "alpha", "one")


async def test_of_many_machines_that_start_under_one_name_one_has_it(database: Database) -> None:
    answers = await asyncio.gather(
        *(hosts.seen(database, "alpha", machine) for machine in "abcdefgh"), return_exceptions=True
    )
    assert answers.count(None) == 1 and sum(isinstance(answer, HostTaken) for answer in answers) == 7


async def test_a_worker_of_an_earlier_release_does_not_say_whose_its_host_is(database: Database) -> None:
    await database.rows(b"INSERT INTO host (name, seen_at) VALUES ('alpha', now())")
    await hosts.must_not_be_taken(database, "alpha", "one")
    await hosts.seen(database, "alpha", "one")


async def test_hosts_are_listed_with_the_sessions_that_have_work_there(scene: Scene) -> None:
    await hosts.seen(scene.database, "beta", "one")
    await session_on(scene.database, "alpha")
    await scene.database.rows(b"UPDATE session SET host = 'gamma' WHERE id = %(id)s", id=scene.session)
    await scene.prompt()
    listed = [(each.name, each.working, each.sessions) for each in await hosts.listed(scene.database)]
    assert listed == [("alpha", False, 0), ("beta", True, 0), ("gamma", False, 1)]


async def test_a_database_that_nobody_has_prepared_knows_no_hosts(database: Database) -> None:
    await database.rows(b"DROP TABLE host")
    await hosts.must_not_be_taken(database, "alpha", None)
    found: list[Host] = await hosts.listed(database)
    assert found == []


async def test_a_directory_of_one_host_is_another_one_than_that_of_another_host(scene: Scene) -> None:
    """Neither lists nor grants for a project mix them up."""
    directory = str(scene.project)
    there = await session_on(scene.database, "alpha", directory)
    await scene.open_turn(permission={"edit": "ask"})
    ask = await scene.asked(await scene.called("write", filePath="a.txt", content="x"))
    await scene.answer(ask, Reply.ALWAYS, scope=Scope.PROJECT)
    here = [found.id for found in await sessions.overview(scene.database, directory=directory)]
    elsewhere = [found.id for found in await sessions.overview(scene.database, directory=directory, host="alpha")]
    async with journal(scene.database, there, PERSON) as opened:
        granted_there = await grants.live(opened)
    async with journal(scene.database, scene.session, PERSON) as opened:
        granted_here = await grants.live(opened)
    assert (here, elsewhere) == ([scene.session], [there])
    assert (len(granted_here), len(granted_there)) == (1, 0)
