"""The outbox: each acceptance writes its signal, which stays until Temporal has acknowledged it or it is moot."""

from contextlib import suppress
from dataclasses import replace

from activities.store import outbox, retries, suspensions
from activities.store.journal import session_journal
from activities.store.outbox import PendingSignal
from tests.activities.rig import PERSON, ActivityRig
from workflows.domain.ids import AskId, PartId, RetryId, SuspensionId, TurnId
from workflows.domain.permissions.replies import Reply
from workflows.domain.prompt import PromptMode
from workflows.domain.suspension import SuspendCause, SuspendReason
from workflows.domain.wake_signal import WakeKind
from workflows.domain.wire import AskState, CloseReason

ASK_EDITS = {"permission": {"edit": "ask"}}


def write(name: str) -> tuple[str, dict[str, str]]:
    return "write", {"filePath": name, "content": "x"}


async def asked(rig: ActivityRig, *names: str) -> list[AskId]:
    """Open asks for writing these files; no signal is left."""
    await rig.open_turn(**ASK_EDITS)
    asks = [await rig.asked(call) for call in await rig.answered(*map(write, names or ("a.txt",)))]
    assert await outbox.pending(rig.database, rig.session) == []
    return asks


async def delegated(rig: ActivityRig) -> tuple[PartId, ActivityRig]:
    """A call that a subagent carries out, and the subagent's session; no signal is left."""
    await rig.open_turn()
    call = await rig.called("task", description="look", prompt="Where is it?", subagent_type="explore")
    begun = (await rig.run(call)).child
    assert begun is not None and await outbox.pending(rig.database, rig.session) == []
    return call, replace(rig, session=begun, turn=TurnId(""), step=0, sent=[])


async def failed(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.close(CloseReason.FAILED, error="broken")
    assert await outbox.pending(rig.database, rig.session) == []


async def retry(rig: ActivityRig) -> None:
    async with rig.journal() as journal:
        await retries.accept(journal, RetryId("rty_1"))


async def resume(rig: ActivityRig) -> SuspensionId:
    async with rig.journal() as journal:
        await suspensions.suspend(journal, SuspendCause(reason=SuspendReason.RESTART))
    async with rig.journal() as journal:
        return await suspensions.resume(journal)


async def pending(rig: ActivityRig) -> list[tuple[WakeKind, str]]:
    return [(signal.kind, signal.subject) for signal in await outbox.pending(rig.database, rig.session)]


async def test_an_accepted_prompt_is_signalled_until_it_is_taken(rig: ActivityRig) -> None:
    prompts = [await rig.prompt(model="scripted/model"), await rig.prompt("Later.", mode=PromptMode.QUEUE)]
    assert await pending(rig) == [(WakeKind.WORK, prompt) for prompt in prompts]
    await rig.load()
    assert await pending(rig) == await rig.signals() == [(WakeKind.WORK, prompts[1])]
    stop = (await rig.stop()).stop
    assert await pending(rig) == await rig.signals() == [(WakeKind.STOP, stop)]


async def test_a_signal_is_overdue_after_two_seconds_or_if_a_clock_was_ahead(rig: ActivityRig) -> None:
    await rig.prompt(model="scripted/model")
    found = []
    for moment in (b"now()", b"now() - interval '3 s'", b"now() + interval '1 hour'"):
        await rig.database.rows(b"UPDATE outbox SET created_at = " + moment)
        found.append(await outbox.overdue(rig.database))
    assert found == [[], [rig.session], [rig.session]]


async def test_an_accepted_retry_is_signalled_until_it_is_taken(rig: ActivityRig) -> None:
    await failed(rig)
    await retry(rig)
    assert await pending(rig) == [(WakeKind.WORK, "rty_1")]
    await rig.load()
    assert await pending(rig) == await rig.signals() == []


async def test_an_answer_is_signalled_while_its_turn_is_open(rig: ActivityRig) -> None:
    (ask,) = await asked(rig)
    await rig.answer(ask)
    assert await pending(rig) == [(WakeKind.ANSWER, ask)]
    await rig.close()
    assert await pending(rig) == await rig.signals() == []


async def test_what_an_answer_settles_besides_is_signalled_too(rig: ActivityRig) -> None:
    asks = await asked(rig, "sub/a.txt", "sub/b.txt")
    settled = await rig.answer(asks[0], Reply.ALWAYS)
    assert sorted(settled.asks) == sorted(asks)
    assert sorted(await pending(rig)) == sorted((WakeKind.ANSWER, ask) for ask in asks)


async def test_an_answer_that_a_result_hands_over_is_not_signalled(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    first, second = await rig.answered(write("sub/a.txt"), write("sub/b.txt"))
    await rig.answer(ask := await rig.asked(first), Reply.ALWAYS)
    assert (await rig.ask(second))[1].state is AskState.ANSWERED
    assert await pending(rig) == [(WakeKind.ANSWER, ask)]


async def test_the_signal_of_an_ask_that_is_open_again_is_dropped(rig: ActivityRig) -> None:
    (ask,) = await asked(rig)
    await rig.answer(ask)
    await rig.database.rows(b"UPDATE ask SET answer_seq = 1")  # another event: nothing explains the row
    assert (await rig.ask_row(ask)).state is AskState.OPEN
    assert await pending(rig) == await rig.signals() == []


async def test_a_stop_is_signalled_with_its_turn_while_that_is_open(rig: ActivityRig) -> None:
    await rig.open_turn()
    stop = (await rig.stop()).stop
    (signal,) = await outbox.pending(rig.database, rig.session)
    assert (signal.kind, signal.subject, signal.turn) == (WakeKind.STOP, stop, rig.turn)
    await rig.close(CloseReason.STOPPED)
    assert await pending(rig) == await rig.signals() == []


async def test_a_stop_of_no_turn_is_not_signalled(rig: ActivityRig) -> None:
    await rig.prompt()
    await rig.stop()
    assert await pending(rig) == []


async def test_a_session_that_may_go_on_is_signalled_while_there_is_something_to_do(rig: ActivityRig) -> None:
    await rig.open_turn()
    suspension = await resume(rig)
    assert (WakeKind.RESUME, suspension) in await pending(rig)
    await rig.close()
    assert await pending(rig) == await rig.signals() == []


async def test_the_end_of_a_session_is_signalled_while_its_turn_is_open(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.end()
    assert await pending(rig) == [(WakeKind.RESUME, rig.session)]
    await rig.close(CloseReason.ENDED)
    assert await pending(rig) == await rig.signals() == []


async def test_the_end_of_a_session_without_a_turn_is_not_signalled_nor_what_it_had_accepted(rig: ActivityRig) -> None:
    await rig.prompt()
    await rig.end()
    assert await pending(rig) == await rig.signals() == []


async def test_a_settled_task_is_signalled_to_its_caller_until_its_call_has_the_outcome(rig: ActivityRig) -> None:
    call, child = await delegated(rig)
    await child.stop()
    assert await pending(rig) == [(WakeKind.SETTLED, call)]
    assert await outbox.callers(rig.database, child.session) == [rig.session]
    await rig.run(call)
    assert await pending(rig) == await rig.signals() == []


async def test_what_is_accepted_again_is_signalled_once(rig: ActivityRig) -> None:
    (ask,) = await asked(rig)
    for _ in range(2):
        await rig.answer(ask)
    assert await rig.signals() == [(WakeKind.ANSWER, ask)]


async def test_a_signal_is_written_with_its_row_or_not_at_all(rig: ActivityRig) -> None:
    with suppress(RuntimeError):
        async with session_journal(rig.database, rig.session, PERSON) as journal:
            await journal.locked()
            journal.notify(WakeKind.REFRESH, "1")
            raise RuntimeError
    assert await rig.signals() == []


async def test_an_acknowledged_signal_is_deleted_alone(rig: ActivityRig) -> None:
    await rig.prompt()
    later = await rig.prompt("Later.")
    first, _ = await outbox.pending(rig.database, rig.session)
    await outbox.delete(rig.database, first)
    assert await rig.signals() == [(WakeKind.WORK, later)]
    assert not await outbox.is_empty(rig.database, rig.session)


async def test_a_signal_that_a_door_may_just_be_sending_is_not_overdue(rig: ActivityRig) -> None:
    await rig.prompt()
    assert await outbox.overdue(rig.database) == []
    await rig.database.rows(b"UPDATE outbox SET created_at = now() - interval '2.1 s'")
    assert await outbox.overdue(rig.database) == [rig.session]


async def test_a_child_that_ends_takes_no_lock_of_its_parent(rig: ActivityRig) -> None:
    call, child = await delegated(rig)
    async with rig.journal():  # of the parent: its row is locked
        await child.stop()
    assert await pending(rig) == [(WakeKind.SETTLED, call)]


def test_a_signal_holds_ids_only() -> None:
    assert set(PendingSignal.model_fields) == {"id", "session", "kind", "subject", "turn"}
