"""`kill -9` of the worker around prompts and answers: one turn, and no answer paid twice (rows 1 to 3, 36, 38)."""

from datetime import datetime
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType

from activities.new_ids import new_id
from tests.acceptance.conftest import Open
from tests.acceptance.recording_client import RecordedRequest
from tests.acceptance.scenarios import DONE
from tests.acceptance.session_listener import listening
from tests.harness import wait_for_file
from worker.scripted.script import Hold, Refuse, ScriptedAnswer, ScriptedCall
from workflows.domain.answer_text import answer_text
from workflows.domain.events.generations import ModelRetry
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import MessageId, Prefix
from workflows.domain.messages import AssistantMessage, TextPart
from workflows.domain.prompt import Prompt
from workflows.domain.views.accepted import AcceptedPrompt

pytestmark = pytest.mark.acceptance

TEXT = "An answer that takes a good number of chunks until it is complete, each of them of sixteen characters."


@pytest.mark.parametrize("signalled", [False, True], ids=["A", "B"])
async def test_row_01_a_prompt_that_no_workflow_task_has_seen_runs_once_on_the_next_worker(
    open_trial: Open, signalled: bool
) -> None:
    async with open_trial(DONE) as trial, trial.cut_off() as lonely:
        first = await trial.worker()
        await first.freeze()
        session = await trial.start_session("Hello?", trial.recording_client if signalled else lonely)
        known = await trial.harness.history(session) if signalled else None
        await first.kill()
        await trial.worker()
        await trial.harness.ended(session)
        events = [event.type for event in await trial.harness.events(session)]
    had = {event.event_type for event in known.events} if known else set()
    assert (EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED in had) == signalled
    assert EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED not in had
    assert [events.count(kind) for kind in ("prompt.taken", "turn.opened", "turn.ended")] == [1, 1, 1]


@pytest.mark.parametrize(
    ("point", "requests"),
    [("model.before_request=kill9@1", 1), ("model.after_chunk=kill9@2", 2)],
    ids=["C", "D"],
)
async def test_row_02_an_answer_that_was_lost_on_its_way_is_asked_for_again(
    open_trial: Open, point: str, requests: int
) -> None:
    async with open_trial(ScriptedAnswer(text=TEXT)) as trial:
        trial.wasted = requests - 1
        first = await trial.worker(faults=point)
        session = await trial.start_session("Say something.")
        await trial.replace(first)
        await trial.harness.ended(session)
        _, answer = await trial.harness.client.records.transcript(session)
    assert isinstance(answer, AssistantMessage) and answer.parts == (TextPart(text=TEXT),)
    assert len(trial.harness.model.ledger.entries) == requests


async def test_row_02_the_files_of_a_prompt_are_read_once_though_their_worker_dies(open_trial: Open) -> None:
    async with open_trial(DONE, DONE) as trial:
        file = trial.harness.file("a.txt", "of a\n")
        first = await trial.worker(faults="tool.effect_done=kill9@1")
        session = await trial.start_session("Look at @a.txt.")
        await first.killed()
        file.write_text("changed\n")
        await trial.worker()
        ended = await trial.harness.ended(session)
        (call,) = await trial.harness.calls(session)
        events = [event.type for event in await trial.harness.events(session)]
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert [events.count(kind) for kind in ("call.prepared", "call.finished")] == [1, 1]
    assert call.outcome is not None and "1: changed" in call.outcome.output  # a read that is not stored runs again
    assert len(trial.harness.model.ledger.entries) == 1


async def test_row_02_the_command_in_a_prompt_runs_once_though_its_worker_dies(
    open_trial: Open,
) -> None:
    async with open_trial(DONE) as trial:
        project, file = str(trial.harness.project), trial.harness.file("ran.txt", "")
        look = {"template": "Out: !`echo x >> ran.txt; echo done`"}
        trial.harness.configure_person(model={}, command={"look": look})
        first = await trial.worker(faults="tool.effect_done=kill9@1")
        given = Prompt(parts=(), model="scripted/model")
        prompt = await trial.harness.client.commands.of_directory(project, "look", "", given)
        sent: RecordedRequest[AcceptedPrompt] = RecordedRequest(new_id(Prefix.MESSAGE), prompt.text)
        trial.recording_client.ledger.prompts.append(sent)
        accepted = await sent.send(trial.harness.client.start(project, prompt, prompt=MessageId(sent.id)))
        await first.killed()
        await trial.worker()
        ended = await trial.harness.ended(accepted.session)
        events = [event.type for event in await trial.harness.events(accepted.session)]
        request = trial.harness.model.last_request
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and file.read_text() == "x\n"
    assert [events.count(kind) for kind in ("call.prepared", "call.finished")] == [1, 1]
    assert request is not None and request.body["messages"][1]["content"].endswith("Out: done")


async def test_row_02_no_number_of_lost_workers_ends_a_turn(open_trial: Open) -> None:
    kills = range(1, 7)
    async with open_trial(ScriptedAnswer(text=TEXT)) as trial:
        trial.wasted = len(kills)
        faults = ";".join(f"model.after_chunk=kill9@{arrival}" for arrival in kills)
        session = await trial.start_session("Say something.")
        for _ in kills:
            await (await trial.worker(faults=faults)).killed()
        trial.healed.clear()  # none of these went on serving
        await trial.worker()
        ended = await trial.harness.ended(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert len(trial.harness.model.ledger.entries) == len(kills) + 1


async def test_row_02_and_b14_who_watches_a_repeated_answer_gets_its_text_once(
    open_trial: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    held = ScriptedAnswer(text=TEXT, chunk=4, faults={1: Hold(after=12, path=str(gate))})
    async with open_trial(held) as trial:
        trial.wasted = 1
        first = await trial.worker()
        session = await trial.start_session("Say something.")
        async with listening(trial.harness.client, session) as listener:
            await wait_for_file(gate)
            await listener.until(lambda heard: any(heard.texts.values()))
            await first.kill()
            await trial.worker()
            await listener.wait_for_event(lambda event: event.type == "turn.ended")
    bodies = [body for seen in listener.seen for body in seen.contents.values()]
    assert listener.in_order and sum(body == {"type": "text", "text": TEXT} for body in bodies) == 1
    assert listener.texts and all(TEXT.startswith(text) for text in listener.texts.values())


async def test_row_03_an_answer_that_is_stored_is_not_paid_again(open_trial: Open) -> None:
    async with open_trial(ScriptedAnswer(text=TEXT)) as trial:
        first = await trial.worker(faults="model.committed=kill9@1")
        session = await trial.start_session("Say something.")
        await first.killed()
        before = await trial.harness.client.records.transcript(session)
        await trial.worker()
        await trial.harness.ended(session)
        assert await trial.harness.client.records.transcript(session) == before
    assert len(before) == 2 and len(trial.harness.model.ledger.entries) == 1


async def test_row_03_a_stored_answer_that_was_cut_is_continued_once(open_trial: Open) -> None:
    async with open_trial(ScriptedAnswer(text="All is d", finish="length"), ScriptedAnswer(text="one.")) as trial:
        trial.harness.configure_person(model={"limit": {"context": 100_000, "output": 4_000}})
        first = await trial.worker(faults="model.committed=kill9@1")
        session = await trial.start_session("Say something.")
        await first.killed()
        await trial.worker()
        await trial.harness.ended(session)
        said = await trial.harness.client.records.transcript(session)
    assert answer_text(said) == "All is done." and len(trial.harness.model.ledger.entries) == 2


async def test_row_36_the_pause_that_a_provider_asks_for_outlives_the_worker(open_trial: Open) -> None:
    limited = DONE.model_copy(update={"faults": {1: Refuse(headers={"Retry-After": "8"})}})
    async with open_trial(limited) as trial:
        trial.wasted = 1
        first = await trial.worker()
        session = await trial.start_session("Hello?")
        retry = await trial.harness.until(session, lambda event: event.type == "model.retry")
        await trial.retrying(session)
        await first.kill()
        await trial.worker()
        await trial.harness.ended(session)
    refused, answered = trial.harness.model.ledger.entries
    assert isinstance(retry, ModelRetry) and retry.attempt == 1
    assert refused.ended < datetime.fromisoformat(retry.next_at) <= answered.began


async def test_row_38_the_loop_guard_counts_over_steps_and_restarts(open_trial: Open) -> None:
    read = ScriptedAnswer(tools=(ScriptedCall(name="read", arguments={"filePath": "a.txt"}),))
    async with open_trial(*[read] * 5, DONE) as trial:
        trial.harness.file("a.txt", "hello\n")
        first = await trial.worker(faults="tool.committed=kill9@4")
        session = await trial.start_session("Read it, and again, and again.")
        await trial.replace(first)
        (ask,) = await trial.harness.wait_for_asks(session)
        (entry,) = await trial.harness.client.inbox.asks()
        await trial.recording_client.answer(ask)
        await trial.harness.ended(session)
    assert entry.reasons[0] == "the same call was made again and again, which may be a loop"
