"""Cached transcripts: equal to a full read, with few rows read."""

from typing import Any

from activities.new_ids import new_id
from activities.store import generations, transcript
from activities.store.compactions import CompactionTry, NewCompaction
from activities.store.model_answers import NewAnswer
from activities.store.pg_protocol import Rows
from activities.store.statements import RowReader
from activities.store.transcript_cache import TranscriptCache
from tests.activities.rig import BODY, ActivityRig
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, PartId, Prefix
from workflows.domain.messages import AssistantMessage, ContextSummary, FilePart


class Counting:
    """Counts the rows that are read."""

    def __init__(self, reads: RowReader) -> None:
        self.reads = reads
        self.count = 0

    async def rows(self, query: bytes, **values: Any) -> Rows:
        found = await self.reads.rows(query, **values)
        self.count += len(found)
        return found


async def check(rig: ActivityRig, kept: TranscriptCache[object]) -> int:
    """Compare with a full read; how many rows the cache read."""
    async with rig.journal() as journal:
        counting = Counting(journal)
        assert await kept.read(counting, rig.session) == await transcript.read(journal, rig.session)
        return counting.count


async def played(rig: ActivityRig, steps: int) -> list[PartId]:
    """Steps with a finished call each."""
    return [await settled(rig, await rig.called("glob", pattern="*")) for _ in range(steps)]


async def settled(rig: ActivityRig, call: PartId) -> PartId:
    await rig.run(call)
    return call


async def test_a_step_reads_no_more_of_a_long_session_than_of_a_short_one(rig: ActivityRig) -> None:
    kept = TranscriptCache(object)
    await rig.open_turn()
    read, companions = [], set()
    for _ in range(4):
        await played(rig, 1)
        read.append(await check(rig, kept))
        companions.add(kept.companion(rig.session))
    assert read[0] < read[1] == read[2] == read[3]
    assert len(companions) == 1


async def test_a_call_that_is_settled_later_is_read_again(rig: ActivityRig) -> None:
    kept = TranscriptCache(object)
    await rig.open_turn()
    await played(rig, 2)
    waiting = await rig.called("glob", pattern="x")
    await check(rig, kept)
    await played(rig, 1)
    await check(rig, kept)
    await rig.run(waiting)
    await check(rig, kept)
    await check(rig, kept)


async def test_later_prompts_and_turns_are_read(rig: ActivityRig) -> None:
    kept = TranscriptCache(object)
    for _ in range(2):
        await rig.open_turn()
        await check(rig, kept)
        await played(rig, 1)
        await rig.prompt("Also this.")
        await played(rig, 1)
        await check(rig, kept)
        await rig.close()


async def test_a_session_that_was_reset_is_read_again(rig: ActivityRig) -> None:
    kept = TranscriptCache(object)
    await rig.open_turn()
    for name in ("gen_before", "gen_after"):
        async with rig.database.transaction() as connection:
            await connection.execute("DELETE FROM message")
            await connection.execute("DELETE FROM generation")
        await rig.store_answer(rig.generation(1, name), NewAnswer(body=BODY))
        before = kept.companion(rig.session)
        await check(rig, kept)
        assert kept.companion(rig.session) is not before
    async with rig.database.transaction() as connection:
        await connection.execute("DELETE FROM message")
    await check(rig, kept)


async def test_a_transcript_from_before_a_summary_is_read_again(rig: ActivityRig) -> None:
    kept = TranscriptCache(object)
    await rig.open_turn()
    await played(rig, 2)
    await check(rig, kept)
    await summarise(rig)

    async with rig.journal() as journal:
        found = await kept.read(journal, rig.session)
        assert found == await TranscriptCache(object).read(journal, rig.session)
    assert isinstance(found[0], ContextSummary)


async def test_the_cache_stays_within_its_size(rig: ActivityRig) -> None:
    none, some = TranscriptCache(object, max_bytes=1000), TranscriptCache(object, max_bytes=30_000)
    await rig.open_turn()
    whole = [await read_after(rig, none) for _ in range(4)]
    assert whole == sorted(set(whole))
    rig.file("long.txt", "x" * 30_000)
    assert await check(rig, some) == await check(rig, none) > await check(rig, some)
    await settled(rig, await rig.called("read", filePath="long.txt"))
    await check(rig, some)
    assert await check(rig, some) == await check(rig, none)


async def test_files_that_a_prompt_holds_count(rig: ActivityRig) -> None:
    some = TranscriptCache(object, max_bytes=30_000)
    await rig.open_turn()
    await rig.prompt(files=(FilePart(mime="text/plain", url=f"data:text/plain,{'x' * 30_000}"),))
    await played(rig, 2)
    assert await check(rig, some) == await check(rig, some)


async def summarise(rig: ActivityRig) -> None:
    """Have a summary stand for the first step."""
    async with rig.journal() as journal:
        newest = (await transcript.read(journal, rig.session))[-1]
        assert isinstance(newest, AssistantMessage)
        tried = CompactionTry(turn=rig.turn, step=3, model="scripted/model", tokens=800)
        summary = NewCompaction(tried=tried, turn=rig.turn, step=1, newest=newest.id, after=10)
        generation = Generation(id=GenerationId(new_id(Prefix.GENERATION)), purpose=Purpose.COMPACTION)
        fence = rig.fence()
        await generations.begin(journal, generation, fence)
        await generations.commit(journal, generation, fence, NewAnswer(body=BODY, compaction=summary))


async def read_after(rig: ActivityRig, kept: TranscriptCache[object]) -> int:
    await played(rig, 1)
    return await check(rig, kept)
