"""Work items of all kinds: one order of acceptance, taken once, or withdrawn."""

import pytest
from psycopg.errors import UniqueViolation

from activities.new_ids import new_id
from activities.store import prompts, retries, sessions, work, work_kinds
from activities.store.journal import session_journal
from activities.store.sessions import NewSession
from activities.store.work import WorkItem, WorkKind
from tests.activities.rig import PERSON, ActivityRig
from workflows.domain.errors import Conflict
from workflows.domain.ids import MessageId, Prefix, RetryId, SessionId
from workflows.domain.prompt import Prompt, PromptMode
from workflows.domain.wire import CloseReason

RETRY = RetryId("rty_1")


async def fail_and_retry(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.close(CloseReason.FAILED, error="no such model")
    async with rig.journal() as journal:
        await retries.accept(journal, RETRY)


async def test_the_oldest_item_of_any_kind_opens_the_next_turn(rig: ActivityRig) -> None:
    await fail_and_retry(rig)
    later = await rig.prompt("And this.", mode=PromptMode.QUEUE)

    requests = []
    for _ in range(2):
        async with rig.journal() as journal:
            requests.append(await work_kinds.next_turn(journal))
        loaded = (await rig.load()).turn
        assert loaded is not None
        rig.turn = loaded.id
        await rig.close()

    found = [(request.item.id, request.item.kind, request.retry) for request in requests if request is not None]
    assert found == [(RETRY, WorkKind.RETRY, RETRY), (later, WorkKind.PROMPT, None)]
    async with rig.journal() as journal:
        assert await work_kinds.next_turn(journal) is None


async def test_a_taken_item_names_its_turn_and_is_not_taken_again(rig: ActivityRig) -> None:
    await rig.open_turn()
    rows = await rig.database.rows(b"SELECT kind, state, turn FROM work")
    assert rows == [{"kind": "prompt", "state": "taken", "turn": rig.turn}]
    async with rig.journal() as journal:
        assert await work.oldest_untaken(journal) is None and await work.untaken(journal) == []


async def test_withdrawing_covers_all_kinds_but_those_to_keep(rig: ActivityRig) -> None:
    await fail_and_retry(rig)
    kept = await rig.prompt("And this.", mode=PromptMode.QUEUE)
    async with rig.journal() as journal:
        withdrawn = await work_kinds.withdraw_untaken(journal, "stopped", {WorkKind.PROMPT})
        left = await work.untaken(journal)
    assert [item.id for item in withdrawn] == [RETRY] and [item.id for item in left] == [kept]
    async with rig.journal() as journal:
        assert [item.id for item in await work_kinds.withdraw_untaken(journal, "session ended")] == [kept]
    assert (await rig.types())[-2:] == ["retry.withdrawn", "prompt.withdrawn"]


async def test_a_session_has_one_untaken_retry_and_any_number_of_prompts(rig: ActivityRig) -> None:
    await rig.prompt()
    await rig.prompt()
    async with rig.journal() as journal:
        work.accept(journal, WorkItem(id="rty_1", kind=WorkKind.RETRY), 100)
    with pytest.raises(UniqueViolation, match="work_one_untaken_retry"):
        async with rig.journal() as journal:
            work.accept(journal, WorkItem(id="rty_2", kind=WorkKind.RETRY), 101)


@pytest.mark.parametrize("same_session", [True, False])
async def test_an_id_of_something_else_is_refused(rig: ActivityRig, same_session: bool) -> None:
    await fail_and_retry(rig)
    other = NewSession(id=SessionId(new_id(Prefix.SESSION)), directory="/q", title="Another")
    await sessions.create(rig.database, other, PERSON)
    session = rig.session if same_session else other.id
    with pytest.raises(Conflict, match="The id 'rty_1' belongs to a retry of session"):
        async with session_journal(rig.database, session, PERSON) as journal:
            await prompts.accept(journal, MessageId(RETRY), Prompt.of_text("Go."))


def test_every_kind_says_what_turn_it_becomes() -> None:
    assert set(work_kinds.ACTIONS) == set(WorkKind)
