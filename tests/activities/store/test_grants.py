"""Grants: where they hold, how long, and until when."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from activities.store import grants
from tests.activities.scene import PERSON, Scene, scene_in
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events import GrantRevoked
from workflows.domain.ids import AskId, GrantId
from workflows.domain.permissions.grants import Grant, Scope


async def keep(scene: Scene, name: str = "gra_1", scope: Scope = Scope.SESSION, days: int = 0) -> GrantId:
    """A grant that was given so many days ago, by the database's clock and by nobody else's."""
    grant = Grant(
        id=GrantId(name),
        permission="edit",
        patterns=("src/**",),
        scope=scope,
        author=PERSON.subject,
        time=datetime.now(UTC) + timedelta(days=400),
    )
    async with scene.journal() as opened:
        grants.keep(opened, grant, AskId("per_1"))
    aged = b"UPDATE grant_ SET expires_at = expires_at - make_interval(days => %(days)s) WHERE id = %(name)s"
    await scene.database.rows(aged, days=days, name=name)
    return grant.id


async def live(scene: Scene) -> list[str]:
    async with scene.journal() as opened:
        return [grant.id for grant in await grants.live(opened)]


async def test_a_sessions_grant_holds_there_only(scene: Scene) -> None:
    other = await scene_in(scene.database, scene.project.parent)
    await keep(scene)
    assert (await live(scene), await live(other)) == (["gra_1"], [])


async def test_a_projects_grant_holds_in_its_directory_only(scene: Scene, tmp_path: Path) -> None:
    same = await scene_in(scene.database, scene.project.parent)
    (tmp_path / "elsewhere").mkdir()
    elsewhere = await scene_in(scene.database, tmp_path / "elsewhere")
    await keep(scene, scope=Scope.PROJECT)
    assert (await live(same), await live(elsewhere)) == (["gra_1"], [])


async def test_a_projects_grant_ends_after_thirty_days_and_a_sessions_does_not(scene: Scene) -> None:
    await keep(scene, "gra_1", Scope.PROJECT, days=31)
    await keep(scene, "gra_2", Scope.SESSION, days=31)
    assert await live(scene) == ["gra_2"]
    assert [row.grant.id for row in await grants.listed(scene.database)] == ["gra_2"]
    assert [row.expired for row in await grants.listed(scene.database, revoked_too=True)] == [True, False]


async def test_a_revoked_grant_holds_no_more_and_says_who_revoked_it(scene: Scene) -> None:
    grant = await keep(scene)
    await grants.revoke(scene.database, grant, PERSON)
    (row,) = await grants.listed(scene.database, revoked_too=True)
    assert await live(scene) == [] and await grants.listed(scene.database) == []
    assert row.revoked_by == PERSON.subject and (await scene.events())[-1] == GrantRevoked(grant=grant)


async def test_a_grant_is_revoked_once(scene: Scene) -> None:
    grant = await keep(scene)
    await grants.revoke(scene.database, grant, PERSON)
    with pytest.raises(Conflict, match="'gra_1' was revoked before"):
        await grants.revoke(scene.database, grant, PERSON)
    assert (await scene.types()).count("grant.revoked") == 1


async def test_an_unknown_grant_is_named(scene: Scene) -> None:
    with pytest.raises(NotFound, match="no grant 'gra_x'"):
        await grants.revoke(scene.database, GrantId("gra_x"), PERSON)


async def test_uses_are_counted(scene: Scene) -> None:
    grant = await keep(scene)
    async with scene.journal() as opened:
        grants.used(opened, grant)
        grants.used(opened, grant)
    (row,) = await grants.listed(scene.database)
    assert (row.uses, row.session, row.project) == (2, scene.session, None)
