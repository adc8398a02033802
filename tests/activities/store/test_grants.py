"""Grants: their scope and duration."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from activities.store import grants
from tests.activities.rig import PERSON, ActivityRig, open_rig, wait_for_lock_waiter
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events.grants import GrantRevoked
from workflows.domain.ids import AskId, GrantId
from workflows.domain.permissions.grants import Grant, GrantScope


async def keep(rig: ActivityRig, name: str = "gra_1", scope: GrantScope = GrantScope.SESSION, days: int = 0) -> GrantId:
    """A grant from `days` days ago, by the database's clock only."""
    grant = Grant(
        id=GrantId(name),
        permission="edit",
        patterns=("src/**",),
        scope=scope,
        author=PERSON.subject,
        time=datetime.now(UTC) + timedelta(days=400),
    )
    async with rig.journal() as journal:
        grants.store(journal, grant, AskId("per_1"))
    aged = b"UPDATE grant_ SET expires_at = expires_at - make_interval(days => %(days)s) WHERE id = %(name)s"
    await rig.database.rows(aged, days=days, name=name)
    return grant.id


async def live(rig: ActivityRig) -> list[str]:
    async with rig.journal() as journal:
        return [grant.id for grant in await grants.list_live(journal)]


async def test_a_sessions_grant_holds_there_only(rig: ActivityRig) -> None:
    other = await open_rig(rig.database, rig.project.parent)
    await keep(rig)
    assert (await live(rig), await live(other)) == (["gra_1"], [])


async def test_a_projects_grant_holds_in_its_directory_only(rig: ActivityRig, tmp_path: Path) -> None:
    same = await open_rig(rig.database, rig.project.parent)
    (tmp_path / "elsewhere").mkdir()
    elsewhere = await open_rig(rig.database, tmp_path / "elsewhere")
    await keep(rig, scope=GrantScope.PROJECT)
    assert (await live(same), await live(elsewhere)) == (["gra_1"], [])


async def test_a_projects_grant_ends_after_thirty_days_and_a_sessions_does_not(rig: ActivityRig) -> None:
    await keep(rig, "gra_1", GrantScope.PROJECT, days=31)
    await keep(rig, "gra_2", GrantScope.SESSION, days=31)
    assert await live(rig) == ["gra_2"]
    assert [row.grant.id for row in await grants.list_all(rig.database)] == ["gra_2"]
    assert [row.expired for row in await grants.list_all(rig.database, include_revoked=True)] == [True, False]


async def test_a_revoked_grant_holds_no_more_and_says_who_revoked_it(rig: ActivityRig) -> None:
    grant = await keep(rig)
    await grants.revoke(rig.database, grant, PERSON)
    (row,) = await grants.list_all(rig.database, include_revoked=True)
    assert await live(rig) == [] and await grants.list_all(rig.database) == []
    assert row.revoked_by == PERSON.subject and (await rig.events())[-1] == GrantRevoked(grant=grant)


async def test_a_grant_is_revoked_once(rig: ActivityRig) -> None:
    grant = await keep(rig)
    await grants.revoke(rig.database, grant, PERSON)
    with pytest.raises(Conflict, match="'gra_1' was revoked before"):
        await grants.revoke(rig.database, grant, PERSON)
    assert (await rig.types()).count("grant.revoked") == 1


async def test_an_unknown_grant_is_named(rig: ActivityRig) -> None:
    with pytest.raises(NotFound, match="no grant 'gra_x'"):
        await grants.revoke(rig.database, GrantId("gra_x"), PERSON)


async def test_uses_are_counted(rig: ActivityRig) -> None:
    grant = await keep(rig)
    async with rig.journal() as journal:
        grants.count_uses(journal, [grant, grant])
    (row,) = await grants.list_all(rig.database)
    assert (row.uses, row.session, row.project) == (2, rig.session, None)


async def test_sessions_that_use_the_same_grants_at_once_lock_them_in_one_order(rig: ActivityRig) -> None:
    other = await open_rig(rig.database, rig.project.parent)
    used = [await keep(rig, name, GrantScope.PROJECT) for name in ("gra_1", "gra_2")]

    async def use_too() -> None:
        async with other.journal() as journal:
            grants.count_uses(journal, reversed(used))

    async with rig.journal() as journal:
        grants.count_uses(journal, used[:1])
        await journal.row(b"SELECT 1")  # sends it
        using = asyncio.create_task(use_too())
        await wait_for_lock_waiter(rig.database)
        grants.count_uses(journal, used[1:])
    await using
    assert [row.uses for row in await grants.list_all(rig.database)] == [2, 2]
