"""A deleted message holds nothing any more: words stand in its place, and the log names who deleted it."""

import pytest

from activities.archive.archiver import Archiver
from activities.session.deletion import Deletion
from activities.session.forks import fork_session
from activities.store import events, overviews, retries, transcript
from activities.store.compactions import CompactionTry, NewCompaction
from activities.store.model_answers import NewAnswer
from activities.store.transcript_cache import TranscriptCache
from tests.activities.rig import BODY, PERSON, ActivityRig
from tests.activities.session.test_deletion import data_of, filled, worked
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events.sessions import MessageDeleted
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, MessageId, PartId, RetryId, SessionId
from workflows.domain.messages import (
    AssistantMessage,
    ContextSummary,
    Message,
    NewPart,
    TextPart,
    ToolPart,
    UserMessage,
)
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.views.accepted import DeletedSessions
from workflows.domain.wire import CloseReason

FORK = SessionId("ses_fork")


async def delete(rig: ActivityRig, message: MessageId) -> DeletedSessions:
    return await Deletion(rig.database, data_of(rig), None, PERSON).run_message(rig.session, message)


async def messages(rig: ActivityRig, session: SessionId) -> list[Message]:
    return [row.message async for row in transcript.iter_messages(rig.database, session)]


async def test_an_answer_is_erased_with_what_its_calls_hold(rig: ActivityRig) -> None:
    call = await worked(rig, GrantScope.SESSION)
    file = data_of(rig) / "tool-output" / f"tool_{call}"
    file.parent.mkdir(parents=True)
    file.write_text("all of it")
    _, message, other = await messages(rig, rig.session)
    report = await delete(rig, message.id)
    left, records = await filled(rig, [rig.session]), [each async for each in events.after(rig.database, rig.session)]

    assert report.failures == () and not file.exists() and "secret words" not in "".join(left.values())
    assert records[-1].event == MessageDeleted(message=message.id, role="assistant", calls=(call,))
    assert records[-1].actor == PERSON and (await events.verify(rig.database, rig.session)).problem is None
    assert call not in await events.contents(rig.database, records)
    await fork_session(rig.database, rig.session, FORK, None, PERSON)
    for session in (rig.session, FORK):
        _, found, kept = await messages(rig, session)
        assert isinstance(found, AssistantMessage) and isinstance(kept, AssistantMessage)
        (part,) = found.parts
        assert isinstance(part, ToolPart) and part.arguments == {} and part.outcome is not None
        assert "were deleted" in part.outcome.output and len(kept.parts) == len(other.parts)
    with pytest.raises(Conflict, match="was deleted already"):
        await delete(rig, message.id)
    archiver = Archiver(rig.database, data_of(rig))
    await archiver.restore(await archiver.archive_one(rig.session))
    assert (await overviews.get(rig.database, rig.session)).deleted_messages == 1


async def test_a_summary_is_erased_but_not_while_a_turn_may_send_it(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.store_answer(rig.generation(1, "gen_1"), NewAnswer(body=BODY))
    mark = {"turn": rig.turn, "step": 1, "newest": MessageId("msg_1")}
    tried = CompactionTry(turn=rig.turn, step=2, model="scripted/model", tokens=9)
    part = NewPart(id=PartId("prt_s"), position=0, body=TextPart(text="secret words"))
    await rig.store_answer(
        Generation(id=GenerationId("gen_s"), purpose=Purpose.COMPACTION),
        NewAnswer(
            body=BODY.model_copy(update={"explanation": "secret words"}),
            parts=(part,),
            compaction=NewCompaction(tried=tried, after=1, **mark),
        ),
    )
    cache: TranscriptCache[object] = TranscriptCache(object)
    await cache.read(rig.database, rig.session)
    with pytest.raises(Conflict, match="needed by a turn"):
        await delete(rig, MessageId("msg_s"))
    await rig.close()
    await delete(rig, MessageId("msg_s"))

    (summary, *_) = await cache.read(rig.database, rig.session)
    assert isinstance(summary, ContextSummary) and "was deleted" in summary.text
    assert "secret words" not in "".join((await filled(rig, [rig.session])).values())
    assert (await events.verify(rig.database, rig.session)).problem is None


async def test_the_list_of_things_to_do_goes_with_the_call_that_has_made_it(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("todowrite", todos=[{"content": "secret words", "status": "pending", "priority": "high"}])
    await rig.run(call)
    await rig.close()
    await delete(rig, (await rig.row(call)).message)

    assert "secret words" not in "".join((await filled(rig, [rig.session])).values())


async def test_a_prompt_is_erased_but_not_before_its_turn_has_ended(rig: ActivityRig) -> None:
    await rig.open_turn()
    (prompt,) = await rig.database.rows(b"SELECT id FROM prompt")
    await rig.called("glob", pattern="*")
    waiting = await rig.prompt("A secret.")
    for needed in (prompt["id"], waiting):
        with pytest.raises(Conflict, match="needed by a turn"):
            await delete(rig, needed)
    await rig.stop()
    await rig.close()
    await rig.database.rows(b"UPDATE session SET title = 'Go.', default_title = 'New session'")
    for message in (prompt["id"], waiting):
        await delete(rig, message)
    said = (await messages(rig, rig.session))[0]

    assert isinstance(said, UserMessage) and said.text == "[This message was deleted.]"
    assert "A secret." not in "".join((await filled(rig, [rig.session])).values())
    assert (await overviews.get(rig.database, rig.session)).title == "New session"
    assert (await events.verify(rig.database, rig.session)).problem is None
    with pytest.raises(NotFound, match="has no message 'msg_x': `holdfast export"):
        await delete(rig, MessageId("msg_x"))


async def test_a_prompt_is_not_erased_while_its_failed_turn_is_tried_again(rig: ActivityRig) -> None:
    await rig.open_turn()
    (prompt,) = await rig.database.rows(b"SELECT id FROM prompt")
    for number in (1, 2):  # the second one tries the first one again
        await rig.close(CloseReason.FAILED, error="No luck.")
        async with rig.journal() as journal:
            await retries.accept(journal, RetryId(f"rty_{number}"))
        with pytest.raises(Conflict, match="needed by a turn"):
            await delete(rig, prompt["id"])
        loaded = await rig.load()
        assert loaded.turn is not None
        rig.turn = loaded.turn.id
        with pytest.raises(Conflict, match="needed by a turn"):
            await delete(rig, prompt["id"])
    await rig.close()
    await delete(rig, prompt["id"])
