"""Turns as rows: one open at a time, numbered, under a frozen configuration."""

import psycopg
import pytest

from activities.store import turns
from tests.activities.rig import ActivityRig, open_rig
from workflows.domain.config.config import Config
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import StaleFence
from workflows.domain.ids import TurnConfigId, TurnId
from workflows.domain.permissions.rulesets import Rulesets

SNAPSHOT = TurnConfig(directory="/p", worktree=None, config=Config(), rules=Rulesets())


async def begin(rig: ActivityRig, name: str, error: str | None = None) -> turns.TurnRow:
    async with rig.journal() as journal:
        return await turns.open_new(journal, TurnId(name), SNAPSHOT, "build", "scripted/model", error=error)


async def end(rig: ActivityRig, name: str, reason: str = "done") -> None:
    async with rig.journal() as journal:
        await turns.close(journal, TurnId(name), reason, None)


async def test_a_session_has_one_open_turn_at_most(rig: ActivityRig) -> None:
    await begin(rig, "trn_1")
    with pytest.raises(psycopg.errors.UniqueViolation, match="turn_one_open"):
        await begin(rig, "trn_2")
    assert (await rig.types()).count("turn.opened") == 1


async def test_turns_are_numbered_in_their_session(rig: ActivityRig) -> None:
    other = await open_rig(rig.database, rig.project.parent)
    numbers = [(await begin(rig, "trn_1")).number]
    await end(rig, "trn_1")
    numbers.append((await begin(rig, "trn_2")).number)
    assert (numbers, (await begin(other, "trn_3")).number) == ([1, 2], 1)


async def test_the_open_turn_has_its_highest_step(rig: ActivityRig) -> None:
    row = await begin(rig, "trn_1", "No model is chosen.")
    async with rig.journal() as journal:
        assert await turns.open_turn(journal) == row
        for step in (2, 1):
            turns.record_step(journal, row.id, step)
        assert await turns.open_turn(journal) == row.model_copy(update={"step": 2})


async def test_a_turn_ends_once(rig: ActivityRig) -> None:
    await begin(rig, "trn_1")
    await end(rig, "trn_1", "stopped")
    await end(rig, "trn_1", "done")
    async with rig.journal() as journal:
        assert await turns.open_turn(journal) is None
        assert (await turns.turn_status(journal, TurnId("trn_1"))).over
    assert (await rig.types()).count("turn.ended") == 1


async def test_a_stopped_turn_is_over_before_it_has_ended(rig: ActivityRig) -> None:
    await begin(rig, "trn_1")
    await rig.stop()
    async with rig.journal() as journal:
        turn_status = await turns.turn_status(journal, TurnId("trn_1"))
    assert (turn_status.state, turn_status.stopped, turn_status.over) == ("open", True, True)


async def test_a_turn_of_another_session_is_refused(rig: ActivityRig) -> None:
    other = await open_rig(rig.database, rig.project.parent)
    await begin(other, "trn_1")
    async with rig.journal() as journal:
        with pytest.raises(StaleFence, match="has no turn 'trn_1'"):
            await turns.turn_status(journal, TurnId("trn_1"))


async def test_equal_configurations_are_stored_once(rig: ActivityRig) -> None:
    first = await begin(rig, "trn_1")
    await end(rig, "trn_1")
    second = await begin(rig, "trn_2")
    async with rig.journal() as journal:
        assert await turns.turn_config(journal, second.turn_config) == SNAPSHOT
        assert len(await journal.rows(b"SELECT id FROM turn_config")) == 1
    assert first.turn_config == second.turn_config


async def test_an_unknown_configuration_is_named(rig: ActivityRig) -> None:
    async with rig.journal() as journal:
        with pytest.raises(StaleFence, match="'cfg_x' is not in the database"):
            await turns.turn_config(journal, TurnConfigId("cfg_x"))
