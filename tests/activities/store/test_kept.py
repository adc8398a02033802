"""Kept transcripts: always what reading all would give, with little read."""

from typing import Any

from activities.store import generations, transcript
from activities.store.generations import NewAnswer
from activities.store.kept import Transcripts
from activities.store.statements import Reads
from activities.store.wire import Rows
from tests.activities.scene import BODY, Scene
from tests.activities.store.test_generations import FIRST
from workflows.domain.ids import MessageId, PartId


class Counting:
    """Counts the rows that are read."""

    def __init__(self, reads: Reads) -> None:
        self.reads = reads
        self.count = 0

    async def rows(self, query: bytes, **values: Any) -> Rows:
        found = await self.reads.rows(query, **values)
        self.count += len(found)
        return found


async def check(scene: Scene, kept: Transcripts) -> int:
    """Compare with all that is there; how many rows were read for it."""
    async with scene.journal() as opened:
        counting = Counting(opened)
        assert await kept.read(counting, scene.session) == await transcript.read(opened, scene.session)
        return counting.count


async def played(scene: Scene, steps: int) -> list[PartId]:
    """Steps with a call each, which has run."""
    return [await settled(scene, await scene.called("glob", pattern="*")) for _ in range(steps)]


async def settled(scene: Scene, call: PartId) -> PartId:
    await scene.run(call)
    return call


async def test_a_step_reads_as_little_of_a_long_session_as_of_a_short_one(scene: Scene) -> None:
    kept = Transcripts()
    await scene.open_turn()
    read = []
    for _ in range(4):
        await played(scene, 1)
        read.append(await check(scene, kept))
    assert read[0] < read[1] == read[2] == read[3]


async def test_a_call_that_is_settled_later_is_seen_then(scene: Scene) -> None:
    kept = Transcripts()
    await scene.open_turn()
    await played(scene, 2)
    waiting = await scene.called("glob", pattern="x")
    await check(scene, kept)
    await played(scene, 1)
    await check(scene, kept)
    await scene.run(waiting)
    await check(scene, kept)
    await check(scene, kept)


async def test_prompts_and_turns_that_came_since_are_in_it(scene: Scene) -> None:
    kept = Transcripts()
    for _ in range(2):
        await scene.open_turn()
        await check(scene, kept)
        await played(scene, 1)
        await scene.prompt("Also this.")
        await played(scene, 1)
        await check(scene, kept)
        await scene.close()


async def test_a_session_that_was_set_back_is_read_anew(scene: Scene) -> None:
    kept = Transcripts()
    await scene.open_turn()
    for name in ("msg_before", "msg_after"):
        async with scene.database.transaction() as connection:
            await connection.execute("DELETE FROM message")
        async with scene.journal() as opened:
            new = NewAnswer(id=MessageId(name), body=BODY)
            await generations.commit(opened, scene.turn, 1, FIRST, new)
        await check(scene, kept)
    async with scene.database.transaction() as connection:
        await connection.execute("DELETE FROM message")
    await check(scene, kept)


async def test_what_is_kept_stays_within_its_bounds(scene: Scene) -> None:
    none, some = Transcripts(most=1000), Transcripts(most=30_000)
    await scene.open_turn()
    whole = [await read_after(scene, none) for _ in range(4)]
    assert whole == sorted(set(whole))
    scene.file("long.txt", "x" * 30_000)
    assert await check(scene, some) == await check(scene, none) > await check(scene, some)
    await settled(scene, await scene.called("read", filePath="long.txt"))
    await check(scene, some)
    assert await check(scene, some) == await check(scene, none)


async def read_after(scene: Scene, kept: Transcripts) -> int:
    await played(scene, 1)
    return await check(scene, kept)
