"""A fork has the messages of its origin, and nothing else of it."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from activities.session.deletion import Deletion
from activities.session.forks import fork_session
from activities.store import (
    calls,
    compactions,
    copies,
    events,
    grants,
    overviews,
    projects,
    prompts,
    sessions,
    statistics,
    tasks,
    transcript,
)
from activities.store.compactions import CompactionTry, NewCompaction
from activities.store.database import Database
from activities.store.journal import session_journal
from activities.store.model_answers import NewAnswer
from activities.store.sessions import NewSession
from activities.store.transcript_cache import TranscriptCache
from tests.acceptance.database_proxy import database_proxy
from tests.activities.rig import BODY, PERSON, ActivityRig, open_rig, wait_for_lock_waiter
from workflows.domain.budgets import BudgetLimits
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, MessageId, PartId, SessionId, shifted_message_id
from workflows.domain.messages import (
    AssistantMessage,
    CallState,
    ContextSummary,
    Message,
    NewPart,
    TaskEnd,
    TextPart,
    ToolPart,
    UserMessage,
)
from workflows.domain.permissions.replies import Reply
from workflows.domain.prompt import Prompt, UsedCommand
from workflows.domain.session_filter import EVERY_SESSION
from workflows.domain.views.accepted import AcceptedFork

FORK = SessionId("ses_fork")


async def forked(rig: ActivityRig, before: MessageId | None = None, new: SessionId = FORK) -> AcceptedFork:
    return await fork_session(rig.database, rig.session, new, before, PERSON)


async def messages(rig: ActivityRig, session: SessionId) -> list[Message]:
    return [row.message async for row in transcript.iter_messages(rig.database, session)]


def contents(found: Sequence[Message]) -> list[object]:
    """Without ids and turns."""
    return [
        message.parts
        if isinstance(message, UserMessage)
        else [
            (part.tool, part.arguments, part.state, part.outcome) if isinstance(part, ToolPart) else part.text
            for part in message.parts
        ]
        for message in found
    ]


async def worked(rig: ActivityRig) -> None:
    """A prompt, a finished call, a steered prompt, and a call that waits for an answer, with a grant and a to-do."""
    await rig.open_turn(permission={"edit": "ask"})
    done = await rig.called("write", filePath="a.txt", content="x")
    await rig.answer(await rig.asked(done), Reply.ALWAYS)
    await rig.run(done)
    await rig.run(await rig.called("todowrite", todos=[{"content": "c", "status": "pending", "priority": "low"}]))
    await rig.prompt("And more.")
    await rig.asked(await rig.called("bash", command="rm -rf x"))


async def test_a_fork_copies_the_messages_and_its_log_explains_them(rig: ActivityRig) -> None:
    await worked(rig)
    before, types = await messages(rig, rig.session), await rig.types()
    found = await forked(rig)
    copied = await messages(rig, FORK)

    assert (found.title, found.messages) == ("A session (fork #1)", len(before)) and len(before) == 5
    assert contents(copied)[:-1] == contents(before)[:-1]
    last = copied[-1]
    assert isinstance(last, AssistantMessage) and isinstance(call := last.parts[-1], ToolPart)
    assert call.state is CallState.CANCELLED and call.outcome and "not run again" in call.outcome.output
    ids = [each.id for each in copied]
    assert [each.at for each in copied] == [each.at for each in before]
    assert ids == sorted(ids) and not {*ids} & {each.id for each in before}
    for session in (rig.session, FORK):
        assert (await events.verify(rig.database, session)).problem is None
    assert await rig.types() == types and (await rig.row((await unsettled(rig))[0])).state is CallState.PREPARED
    assert await forked(rig) == found


async def test_a_fork_goes_on_with_the_agent_of_its_last_turn(rig: ActivityRig) -> None:
    rig.file("opencode.json", '{"agent": {"reviewer": {}}}')
    prompts = []
    for agent in (None, "reviewer"):
        prompts.append(await rig.prompt(agent=agent, model="scripted/model"))
        turn = (await rig.load()).turn
        assert turn is not None
        rig.turn = turn.id
        await rig.close()
    for before, new in ((None, FORK), (prompts[1], SessionId("ses_cut"))):
        await forked(rig, before, new)
    found = [await sessions.origin(rig.database, each) for each in (FORK, SessionId("ses_cut"))]
    assert [(each.agent, each.began_as) for each in found] == [("reviewer", "build"), ("build", "build")]


async def unsettled(rig: ActivityRig) -> list[PartId]:
    async with rig.journal() as journal:
        return [call.id for call in await calls.unsettled(journal, rig.turn)]


async def test_a_fork_inherits_neither_grants_nor_todos_nor_costs(rig: ActivityRig) -> None:
    await worked(rig)
    await forked(rig)
    async with session_journal(rig.database, FORK, PERSON) as journal:
        assert (await grants.list_live(journal), await calls.todos(journal, FORK)) == ((), ([], ""))
    shown = await overviews.get(rig.database, FORK)
    assert (shown.asks, shown.turn_state, shown.reason, shown.parent) == (0, "ended", "stopped", None)
    assert (await sessions.totals(rig.database, FORK)).steps == 0
    known = await statistics.read(rig.database, EVERY_SESSION, host=None, sessions=None, offset=timedelta(), limit=9)
    assert [row.steps for row in known.usage if row.kind == "all"] == [3]
    assert sorted(tool.calls for tool in known.tools) == [1, 1, 1]


async def test_a_fork_belongs_to_its_origins_project_and_waits_for_nobody(rig: ActivityRig) -> None:
    new = NewSession(id=SessionId("ses_o"), directory="/p", worktree="/p", vcs="git", title="o")
    await sessions.create(rig.database, new, PERSON)
    async with session_journal(rig.database, new.id, PERSON) as journal:
        await journal.locked()
        await fork_session(rig.database, new.id, FORK, None, PERSON)
    (project,) = await projects.list_all(rig.database)
    assert (project.vcs, project.sessions) == ("git", 2)


async def test_a_fork_ends_before_the_message_that_is_named(rig: ActivityRig) -> None:
    await worked(rig)
    found = await messages(rig, rig.session)
    for count in (0, 1, 3):
        new = SessionId(f"ses_{count}")
        await forked(rig, found[count].id, new)
        assert contents(await messages(rig, new)) == contents(found[:count])
        assert (await events.verify(rig.database, new)).problem is None
    with pytest.raises(NotFound, match="no message 'msg_x'"):
        await forked(rig, MessageId("msg_x"))
    with pytest.raises(NotFound, match="no session"):
        await overviews.get(rig.database, FORK)


async def test_a_fork_goes_on_from_the_summary_of_what_it_has_copied(rig: ActivityRig) -> None:
    await rig.open_turn()
    for step in (1, 2, 3):
        part = NewPart(id=PartId(f"prt_{step}"), position=0, body=TextPart(text=f"answer {step}"))
        await rig.store_answer(rig.generation(step, f"gen_{step}"), NewAnswer(body=BODY, parts=(part,)))
        if step == 2:
            summary = NewPart(id=PartId("prt_s"), position=0, body=TextPart(text="in short"))
            tried = CompactionTry(turn=rig.turn, step=3, model="scripted/model", tokens=9)
            mark = {"turn": rig.turn, "step": 1, "newest": MessageId("msg_2"), "media": False, "words": 8}
            stands_for = NewCompaction(tried=tried, after=1, **mark)
            await rig.store_answer(
                Generation(id=GenerationId("gen_s"), purpose=Purpose.COMPACTION),
                NewAnswer(body=BODY, parts=(summary,), compaction=stands_for),
            )
    await forked(rig)
    await forked(rig, MessageId("msg_2"), SessionId("ses_early"))

    whole = await TranscriptCache(object).read(rig.database, FORK)
    early = await TranscriptCache(object).read(rig.database, SessionId("ses_early"))
    newest = await compactions.newest(rig.database, FORK)
    assert (await events.verify(rig.database, FORK)).problem is None
    assert isinstance(whole[0], ContextSummary) and whole[0].text == "in short"
    assert newest is not None and (newest.newest, newest.media, newest.words) == (whole[1].id, False, 8)
    assert contents([each for each in whole if isinstance(each, AssistantMessage)]) == [["answer 2"], ["answer 3"]]
    assert isinstance(early[0], UserMessage) and len(early) == 2
    await rig.database.rows(b"UPDATE compaction SET media = true WHERE session = %(session)s", session=FORK)
    assert (await events.verify(rig.database, FORK)).problem == "the marks of its summaries are not those in its log"


@pytest.mark.parametrize(("distance", "summaries"), [(-1, 0), (0, 0), (1, 1)])
async def test_a_fork_ends_before_what_only_exports_have(rig: ActivityRig, distance: int, summaries: int) -> None:
    """A summary, the message that asked for it, and the one that told the model to go on."""
    await rig.open_turn()
    for step, id in ((1, "a"), (2, "b"), (3, "d")):
        part = NewPart(id=PartId(f"prt_{step}"), position=0, body=TextPart(text=f"answer {step}"))
        await rig.store_answer(rig.generation(step, f"gen_{id * 12}{'A' * 14}"), NewAnswer(body=BODY, parts=(part,)))
        if step == 2:
            tried = CompactionTry(turn=rig.turn, step=3, model="scripted/model", tokens=9)
            mark = {"turn": rig.turn, "step": 1, "newest": MessageId(f"msg_{'b' * 12}{'A' * 14}")}
            text = NewPart(id=PartId("prt_s"), position=0, body=TextPart(text="in short"))
            await rig.store_answer(
                Generation(id=GenerationId(f"gen_{'c' * 12}{'A' * 14}"), purpose=Purpose.COMPACTION),
                NewAnswer(body=BODY, parts=(text,), compaction=NewCompaction(tried=tried, after=1, **mark)),
            )
    await forked(rig, shifted_message_id(MessageId(f"msg_{'c' * 12}{'A' * 14}"), distance))

    assert len(await messages(rig, FORK)) == 3
    assert len(await copies.summaries(rig.database, FORK)) == summaries
    assert (await events.verify(rig.database, FORK)).problem is None


async def test_a_fork_locks_configurations_in_the_order_of_a_deletion(rig: ActivityRig) -> None:
    for share in (10, 20):
        await rig.open_turn(compaction={"tail_turns": share})
        await rig.close()
    first, second = sorted(row["id"] for row in await rig.database.rows(b"SELECT id FROM turn_config"))
    turns = b"UPDATE turn SET turn_config = CASE number WHEN 1 THEN %(second)s ELSE %(first)s END"
    await rig.database.rows(turns, first=first, second=second)
    lock = b"SELECT FROM turn_config WHERE id = %(id)s FOR UPDATE"
    async with rig.database.statements() as deletion:
        await deletion.rows(lock, id=first)
        forking = asyncio.create_task(forked(rig))
        await wait_for_lock_waiter(rig.database)
        await deletion.rows(lock, id=second)

    assert (await forking).messages == 2


async def test_a_session_that_is_deleted_while_it_is_copied_is_named(postgres_url: str, tmp_path: Path) -> None:
    async with database_proxy(postgres_url) as between, Database(between.url) as slow, Database(postgres_url) as fast:
        rig = await open_rig(fast, tmp_path)
        await rig.open_turn()
        await rig.close()
        held = between.hold_request("INSERT INTO session")
        copying = asyncio.create_task(fork_session(slow, rig.session, FORK, None, PERSON))
        await held.wait_until_caught()
        await Deletion(fast, rig.loader.data, None, PERSON).run(rig.session)
        held.release()
        with pytest.raises(Conflict, match="was deleted"):
            await copying


@pytest.mark.parametrize("deleted", [False, True])
async def test_a_fork_waits_for_no_task_of_its_origin(rig: ActivityRig, deleted: bool) -> None:
    """In the background or not, unless the result is among what it has copied, even if its words are deleted."""
    await rig.open_turn()
    given = {"description": "look", "prompt": "Where?", "subagent_type": "explore"}
    waiting, told, due = await rig.answered(*(("task", given | {"background": later}) for later in (False, True, True)))
    for call in (waiting, told, due):
        await rig.run(call)
    async with rig.journal() as journal:
        prompt = MessageId("msg_result")
        end = TaskEnd(call=told, child=SessionId("ses_c"), agent="explore", title="look", failed=False)
        await prompts.accept(journal, prompt, Prompt(parts=(TextPart(text="It is there."),), task_end=end))
        prompts.take(journal, prompt, rig.turn, step=2)
        tasks.deliver(journal, told, prompt)
    if deleted:
        await rig.close()
        await Deletion(rig.database, rig.project, None, PERSON).run_message(rig.session, prompt)
    await forked(rig)
    await forked(rig, prompt, SessionId("ses_cut"))

    for session, own in ((FORK, [told]), (SessionId("ses_cut"), [])):
        (answer,) = [each for each in await messages(rig, session) if isinstance(each, AssistantMessage)]
        parts = [part for part in answer.parts if isinstance(part, ToolPart) and part.outcome]
        outputs = [part.outcome.output for part in parts if part.outcome]
        assert ["comes there, and never here" in each for each in outputs] == [not deleted, told not in own, True]


async def test_a_fork_keeps_all_that_a_prompt_is_stored_with(rig: ActivityRig) -> None:
    used = UsedCommand(name="look", arguments="@a.txt", template="d", typed_at=((0, 6),))
    limits = BudgetLimits(steps=3)
    content = Prompt(parts=(TextPart(text="@a.txt"),), command=used, limits=limits, model="scripted/model")
    async with rig.journal() as journal:
        await prompts.accept(journal, MessageId("msg_command"), content)
    await rig.load()
    await forked(rig)
    (copied,) = await messages(rig, FORK)
    assert await prompts.read(rig.database, copied.id) == content.content
