"""Turns as rows: one open at a time, numbered, under a frozen configuration."""

import psycopg
import pytest

from activities.store import turns
from tests.activities.scene import Scene, scene_in
from workflows.domain.config.config import Config
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.errors import StaleFence
from workflows.domain.ids import SnapshotId, TurnId

SNAPSHOT = ProjectSnapshot(directory="/p", worktree=None, config=Config(), rules=())


async def begin(scene: Scene, name: str, error: str | None = None) -> turns.TurnRow:
    async with scene.journal() as opened:
        return await turns.open_new(opened, TurnId(name), SNAPSHOT, "build", "scripted/model", error=error)


async def end(scene: Scene, name: str, reason: str = "done") -> None:
    async with scene.journal() as opened:
        await turns.close(opened, TurnId(name), reason, None)


async def test_a_session_has_one_open_turn_at_most(scene: Scene) -> None:
    await begin(scene, "trn_1")
    with pytest.raises(psycopg.errors.UniqueViolation, match="turn_one_open"):
        await begin(scene, "trn_2")
    assert (await scene.types()).count("turn.opened") == 1


async def test_turns_are_numbered_in_their_session(scene: Scene) -> None:
    other = await scene_in(scene.database, scene.project.parent)
    numbers = [(await begin(scene, "trn_1")).number]
    await end(scene, "trn_1")
    numbers.append((await begin(scene, "trn_2")).number)
    assert (numbers, (await begin(other, "trn_3")).number) == ([1, 2], 1)


async def test_the_open_turn_is_found_as_it_was_opened_with_its_highest_step(scene: Scene) -> None:
    row = await begin(scene, "trn_1", "No model is chosen.")
    async with scene.journal() as opened:
        assert await turns.open_turn(opened) == row
        for step in (2, 1):
            turns.registered(opened, row.id, step)
        assert await turns.open_turn(opened) == row.model_copy(update={"step": 2})


async def test_a_turn_ends_once(scene: Scene) -> None:
    await begin(scene, "trn_1")
    await end(scene, "trn_1", "stopped")
    await end(scene, "trn_1", "done")
    async with scene.journal() as opened:
        assert await turns.open_turn(opened) is None
        assert (await turns.standing(opened, TurnId("trn_1"))).over
    assert (await scene.types()).count("turn.ended") == 1


async def test_a_stopped_turn_is_over_before_it_has_ended(scene: Scene) -> None:
    await begin(scene, "trn_1")
    await scene.stop()
    async with scene.journal() as opened:
        standing = await turns.standing(opened, TurnId("trn_1"))
    assert (standing.state, standing.stopped, standing.over) == ("open", True, True)


async def test_a_turn_of_another_session_is_none_of_this_ones(scene: Scene) -> None:
    other = await scene_in(scene.database, scene.project.parent)
    await begin(other, "trn_1")
    async with scene.journal() as opened:
        with pytest.raises(StaleFence, match="has no turn 'trn_1'"):
            await turns.standing(opened, TurnId("trn_1"))


async def test_equal_configurations_are_kept_once(scene: Scene) -> None:
    first = await begin(scene, "trn_1")
    await end(scene, "trn_1")
    second = await begin(scene, "trn_2")
    async with scene.journal() as opened:
        assert await turns.snapshot(opened, second.snapshot) == SNAPSHOT
        assert len(await opened.rows(b"SELECT id FROM snapshot")) == 1
    assert first.snapshot == second.snapshot


async def test_a_snapshot_that_is_not_there_is_named(scene: Scene) -> None:
    async with scene.journal() as opened:
        with pytest.raises(StaleFence, match="'cfg_x' is not in the database"):
            await turns.snapshot(opened, SnapshotId("cfg_x"))
