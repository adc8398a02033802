"""Carried out, but the answer lost: a repetition finds the result (reliability.md rows 26, 27, 55, 58, 59)."""

import asyncio
from collections import Counter

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, EDIT, runs
from tests.acceptance.temporal_proxy import proxy
from tests.harness import Harness, signals
from tests.polling import attempts
from worker.scripted.script import DEFAULT_SCRIPT, Script
from workflows.domain.errors import Unavailable
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import MessageId, SessionId, StopId
from workflows.domain.messages import CallState
from workflows.domain.prompt import PromptMode
from workflows.domain.wake_signal import WakeKind

pytestmark = pytest.mark.acceptance


@pytest.mark.parametrize(
    "commit", ["turn.opened", "message.completed", "ask.raised", "call.claimed", "call.finished", "turn.ended"]
)
async def test_row_26_a_commit_of_a_worker_whose_answer_is_lost_is_found(open_trial: Open, commit: str) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        between = await trial.database_proxy()
        cut = between.cut(commit)
        session, ask = await trial.asked(postgres_url=between.url)
        await trial.recording_client.answer(ask)
        await trial.harness.ended(session)
        events: list[str] = [event.type for event in await trial.harness.events(session)]
        (call,) = await trial.harness.calls(session)
    assert cut.happened.is_set() and call.state is CallState.DONE
    assert len(trial.harness.model.ledger.entries) == 2 and events.count(commit) == (2 if "message" in commit else 1)


async def test_row_26_what_a_door_cannot_know_is_found_when_it_asks_again(open_trial: Open) -> None:
    async with open_trial(runs("one", hold=True), DONE) as trial:
        between = await trial.database_proxy()
        trial.harness.configure(permission={"bash": "ask"})
        await trial.worker()
        async with trial.another_person("far", postgres_url=between.url) as far:
            cuts = [between.cut(word) for word in ("prompt.accepted", "ask.answered", "stop.accepted")]
            with pytest.raises(Unavailable):
                await trial.start_session("Run it.", far)
            (overview,) = await trial.harness.client.sessions.list_recent()
            again = await far.prompt(overview.id, "Run it.", prompt=MessageId(trial.ledger.prompts[0].id))
            (ask,) = await trial.harness.wait_for_asks(overview.id)
            with pytest.raises(Unavailable):
                await far.answer(ask)
            settled = await far.answer(ask)
            await trial.effects.reached("one")
            with pytest.raises(Unavailable):
                await far.stop(overview.id)
            await far.stop(overview.id, StopId(trial.ledger.stops[0].id))
        await trial.harness.ended(overview.id)
        events = [event.type for event in await trial.harness.events(overview.id)]
    assert all(cut.happened.is_set() for cut in cuts) and again.prompt == trial.ledger.prompts[0].id
    assert settled.repeated and events.count("answer.refused") == 0
    assert [events.count(kind) for kind in ("prompt.accepted", "ask.answered", "stop.accepted")] == [1, 1, 1]


async def test_row_27_signals_whose_acknowledgement_is_lost_are_sent_again_and_count_once(open_trial: Open) -> None:
    scripts = {DEFAULT_SCRIPT: Script(answers=(runs("one", hold=True), DONE, DONE)), "plain": Script(answers=(DONE,))}
    async with (
        open_trial(scripts=scripts) as trial,
        proxy(trial.harness.endpoints.temporal_address) as between,
        trial.another_person("far", temporal_address=between.address) as far,
        trial.another_person("further", temporal_address=between.address) as further,  # a door waits once in a while
    ):
        trial.harness.configure(permission={"bash": "ask"})
        await trial.worker()
        first = await trial.start_session("Run it.", far)
        (ask,) = await trial.harness.wait_for_asks(first)
        await trial.harness.ended(await trial.start_session("[[script:plain]] Hello?", further))  # it is connected
        between.drop_answers()
        await far.answer(ask)
        queued, second = await asyncio.gather(
            further.prompt(first, "And then?", PromptMode.QUEUE),
            trial.start_session("[[script:plain]] Hello?", further),
        )
        await signalled(trial.harness, first, {WakeKind.ANSWER: 3, WakeKind.WORK: 2})
        trial.effects.release("one")
        await trial.harness.ended(first, 2)
        await trial.harness.ended(second)
        taken = [await turns_and_prompts(trial.harness, session) for session in (first, second)]
    assert not queued.delivered and taken == [[2, 2, 2], [1, 1, 1]] and trial.effects.count("one") == 1


async def turns_and_prompts(harness: Harness, session: SessionId) -> list[int]:
    kinds: list[str] = [event.type for event in await harness.events(session)]
    return [kinds.count(kind) for kind in ("turn.opened", "prompt.taken", "turn.ended")]


async def signalled(harness: Harness, session: SessionId, times: dict[WakeKind, int]) -> None:
    """Wait until the session's run has got these numbers of signals."""
    async for _ in attempts():
        kinds = Counter(signal.kind for signal in signals(await harness.history(session)))
        if all(kinds[name] >= count for name, count in times.items()):
            return


async def test_row_55_two_allowed_edits_of_one_file_are_made_in_order_though_a_commit_is_lost(open_trial: Open) -> None:
    second = EDIT.tools[0].model_copy(
        update={"arguments": {"filePath": "a.txt", "oldString": "ab", "newString": "abc"}}
    )
    both = EDIT.model_copy(update={"tools": (*EDIT.tools, second)})
    async with open_trial(both, DONE) as trial:
        between = await trial.database_proxy()
        file = trial.harness.file("a.txt", "a\n")
        cut = between.cut("call.finished")
        await trial.worker(postgres_url=between.url)
        session = await trial.start_session("Edit it, twice.")
        await trial.harness.ended(session)
        calls = await trial.harness.calls(session)
    assert cut.happened.is_set() and file.read_text() == "abc\n"
    assert [call.state for call in calls] == [CallState.DONE, CallState.DONE]


async def test_row_58_a_stop_that_comes_before_the_state_knows_its_turn_is_applied(open_trial: Open) -> None:
    async with open_trial(DONE) as trial:
        between = await trial.database_proxy()
        loading = between.hold("turn.opened")
        await trial.worker(postgres_url=between.url)
        session = await trial.start_session("Hello?")
        await loading.wait_until_caught()
        await trial.recording_client.stop(session)
        loading.release()
        ended = await trial.harness.ended(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "stopped"
    assert trial.harness.model.ledger.entries == []


async def test_row_58_an_answer_that_comes_before_its_ask_is_reported_is_applied_once(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        between = await trial.database_proxy()
        trial.harness.configure(permission={"bash": "ask"})
        opening = between.hold("ask.raised")
        await trial.worker(postgres_url=between.url)
        session = await trial.start_session("Run it.")
        await opening.wait_until_caught()
        (ask,) = await trial.harness.wait_for_asks(session)
        await trial.recording_client.answer(ask)
        opening.release()
        await trial.harness.ended(session)
    assert trial.effects.count("one") == 1


async def test_row_59_an_ask_that_was_being_opened_when_its_turn_was_stopped_stays_closed(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        between = await trial.database_proxy()
        trial.harness.configure(permission={"bash": "ask"})
        answering = between.hold("message.completed")
        await trial.worker(postgres_url=between.url)
        session = await trial.start_session("Run it.")
        await answering.wait_until_caught()
        opening = between.hold_request(session)
        answering.release()
        await opening.wait_until_caught()
        await trial.recording_client.stop(session)
        await trial.recording_client.prompt(session, "Something else.")
        await trial.harness.ended(session)
        opening.release()
        await trial.harness.ended(session, 2)
        events = await trial.harness.events(session)
    assert [event.type for event in events].count("ask.raised") == 0
    assert [event.reason for event in events if isinstance(event, TurnEnded)] == ["stopped", "done"]
