"""Hosts: known by their workers and sessions; away after a while without a worker."""

import asyncio
from functools import partial

import pytest

from activities.new_ids import new_id
from activities.store import grants, hosts, overviews, sessions
from activities.store.database import Database
from activities.store.hosts import Host
from activities.store.journal import session_journal
from activities.store.sessions import NewSession
from tests.activities.rig import PERSON, ActivityRig
from tests.activities.store.conftest import ACTOR
from tests.host_claims import LONG_AGO, claim_when_free
from workflows.domain.errors import HostTaken
from workflows.domain.ids import Prefix, SessionId
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import Reply
from workflows.domain.session_filter import SessionFilter


async def session_on(database: Database, host: str | None, directory: str = "/p") -> SessionId:
    new = NewSession(id=SessionId(new_id(Prefix.SESSION)), host=host, directory=directory, title="A session")
    await sessions.create(database, new, ACTOR)
    return new.id


async def test_a_host_is_online_while_its_worker_reports(database: Database) -> None:
    session = await session_on(database, "alpha")
    before = (await overviews.get(database, session)).host_offline
    await hosts.report_alive(database, "alpha", "one")
    there = (await overviews.get(database, session)).host_offline
    await database.rows(LONG_AGO)
    after = (await overviews.get(database, session)).host_offline
    assert (before, there, after) == (True, False, True)


async def test_a_session_without_a_host_is_never_offline(database: Database) -> None:
    assert not (await overviews.get(database, await session_on(database, None))).host_offline


async def test_a_host_belongs_to_one_machine_while_its_worker_is_alive(database: Database) -> None:
    for _ in range(2):
        await hosts.report_alive(database, "alpha", "one")
    for refuses in (hosts.report_alive, hosts.check_not_taken):
        with pytest.raises(
            HostTaken, match=r"The host name 'alpha' belongs to another machine: 0 s ago .* HOLDFAST_HOST"
        ):
            await refuses(database, "alpha", "other")
    await hosts.check_not_taken(database, "alpha", "one")


async def test_a_host_whose_worker_has_gone_can_be_taken(database: Database) -> None:
    await hosts.report_alive(database, "alpha", "one")
    await database.rows(LONG_AGO)
    await hosts.check_not_taken(database, "alpha", "other")
    await claim_when_free(partial(hosts.report_alive, database, "alpha", "other"))
    with pytest.raises(HostTaken):
        await hosts.report_alive(database, "alpha", "one")


async def test_of_many_machines_that_start_under_one_name_one_takes_it(database: Database) -> None:
    answers = await asyncio.gather(
        *(hosts.report_alive(database, "alpha", machine) for machine in "abcdefgh"), return_exceptions=True
    )
    assert answers.count(None) == 1 and sum(isinstance(answer, HostTaken) for answer in answers) == 7


async def test_a_host_without_a_machine_can_be_taken(database: Database) -> None:
    await database.rows(b"INSERT INTO host (name, seen_at) VALUES ('alpha', now())")
    await hosts.check_not_taken(database, "alpha", "one")
    await hosts.report_alive(database, "alpha", "one")


async def test_hosts_are_listed_with_the_sessions_that_have_work_there(rig: ActivityRig) -> None:
    await hosts.report_alive(rig.database, "beta", "one")
    await session_on(rig.database, "alpha")
    await rig.database.rows(b"UPDATE session SET host = 'gamma' WHERE id = %(id)s", id=rig.session)
    await rig.prompt()
    listed = [(each.name, each.working, each.sessions) for each in await hosts.list_all(rig.database)]
    assert listed == [("alpha", False, 0), ("beta", True, 0), ("gamma", False, 1)]


async def test_an_unprepared_database_has_no_hosts(database: Database) -> None:
    await database.rows(b"DROP TABLE host")
    await hosts.check_not_taken(database, "alpha", None)
    found: list[Host] = await hosts.list_all(database)
    assert found == []


async def test_the_same_path_on_another_host_is_another_directory(rig: ActivityRig) -> None:
    """Neither lists nor grants for a project mix them up."""
    directory = str(rig.project)
    there = await session_on(rig.database, "alpha", directory)
    await rig.open_turn(permission={"edit": "ask"})
    ask = await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
    await rig.answer(ask, Reply.ALWAYS, scope=GrantScope.PROJECT)
    wanted = SessionFilter(directory=directory)
    here, _ = await overviews.search(rig.database, wanted, None, None)
    elsewhere, _ = await overviews.search(rig.database, wanted, "alpha", None)
    async with session_journal(rig.database, there, PERSON) as journal:
        granted_there = await grants.list_live(journal)
    async with session_journal(rig.database, rig.session, PERSON) as journal:
        granted_here = await grants.list_live(journal)
    assert (here, elsewhere) == ([rig.session], [there])
    assert (len(granted_here), len(granted_there)) == (1, 0)
