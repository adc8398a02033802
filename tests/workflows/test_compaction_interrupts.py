"""What a person does while a session's context is compacted, and a provider that wants to be asked later."""

from pathlib import Path
from typing import Any

from tests.harness import wait_for_file
from tests.worker.cli.conftest import shell
from tests.workflows.conftest import Open
from tests.workflows.test_compaction import (
    DONE,
    FULL,
    SUMMARY,
    TASK,
    WORDS,
    compactions,
    configure,
    export,
    is_done,
    script,
    sent,
)
from tests.workflows.test_provider_pauses import LIMITED, limited
from worker.scripted.script import Hold, Refuse
from workflows.domain.events.generations import MessageCompleted, ModelRetry, PauseEnded
from workflows.domain.events.prompts import PromptTaken
from workflows.domain.events.turns import TurnEnded
from workflows.domain.generation import Purpose
from workflows.domain.prompt import Prompt, PromptMode


async def test_a_stop_during_a_compaction_leaves_the_context_as_it_was(open_harness: Open, tmp_path: Path) -> None:
    gate = tmp_path / "summary"
    held = SUMMARY.model_copy(update={"faults": {1: Hold(path=str(gate), after=1)}})
    async with open_harness(scripts=script(FULL, DONE, summary=held)) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session(TASK)
        await wait_for_file(gate)
        await harness.client.stop(session)
        stopped = await harness.ended(session)
        left = await compactions(harness, session)
        await harness.client.prompt(session, Prompt.of_text("Count again."))
        ended = await harness.ended(session, 2)
        (compacted,) = await compactions(harness, session)
        _, (_, summary), (_, prompt) = sent(harness)

    assert isinstance(stopped, TurnEnded) and stopped.reason == "stopped" and left == []
    assert is_done(ended) and (compacted.step, summary) == (1, WORDS) and prompt.endswith("Count again.")


async def test_prompts_during_a_compaction_are_taken_behind_it(open_harness: Open, tmp_path: Path) -> None:
    """A steered one by the step that waits for it, a queued one in a turn of its own."""
    gate = tmp_path / "summary"
    held = SUMMARY.model_copy(update={"faults": {1: Hold(path=str(gate), after=1)}})
    async with open_harness(scripts=script(FULL, DONE, DONE, summary=held)) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session(TASK)
        await wait_for_file(gate)
        queued = await harness.client.prompt(session, Prompt.of_text("Then rest.", mode=PromptMode.QUEUE))
        steered = await harness.client.prompt(session, Prompt.of_text("Hurry.", mode=PromptMode.STEER))
        gate.touch()
        both = [await harness.ended(session, turn) for turn in (1, 2)]
        events = await harness.events(session)
        taken = {event.prompt: (event.turn, event.step) for event in events if isinstance(event, PromptTaken)}
        answers = [event for event in events if isinstance(event, MessageCompleted)]

    assert all(map(is_done, both)) and [each.purpose for each in answers].count(Purpose.COMPACTION) == 1
    assert taken[steered.prompt] == (answers[0].turn, 2) and taken[queued.prompt] == (answers[-1].turn, 1)


async def test_ids_are_in_the_order_of_the_conversation_whenever_prompts_come(
    open_harness: Open, tmp_path: Path
) -> None:
    """While a request waits to be repeated, while a context is summed up, and both; in a fork too."""
    gate = tmp_path / "summary"
    busy = Refuse(status=503, headers={"retry-after": "1"}, body={"error": {"message": "overloaded"}})
    held = SUMMARY.model_copy(update={"faults": {1: Hold(path=str(gate), after=1)}})
    answers = [each.model_copy(update={"faults": {1: busy}}) for each in (FULL, DONE)]
    async with open_harness(scripts=script(*answers, DONE, summary=held)) as harness, harness.running_worker():
        configure(harness)
        session = await harness.start_session(TASK)
        await harness.until(session, lambda event: isinstance(event, ModelRetry))
        await harness.client.prompt(session, Prompt.of_text("First."))
        await wait_for_file(gate)
        await harness.client.prompt(session, Prompt.of_text("Second."))
        gate.touch()
        await harness.until(session, lambda event: isinstance(event, ModelRetry), times=2)
        await harness.client.prompt(session, Prompt.of_text("Third."))
        await harness.ended(session)
        exported = await export(harness, session)
        fork = await harness.client.copies.fork_session(session)
        await harness.client.prompt(fork.session, Prompt.of_text("Again."))
        await harness.ended(fork.session)
        copied = await export(harness, fork.session)

    told = [TASK, "First.", None, None, WORDS, "Second.", "Third.", "Done."]
    assert [spoken(each) for each in exported] == told
    assert [spoken(each) for each in copied] == [*told, "Again.", "Done."]


def spoken(message: Any) -> str | None:
    """The text of an exported message."""
    return next((part["text"] for part in message["parts"] if part["type"] == "text"), None)


async def test_a_long_pause_of_a_compaction_is_the_runs_and_a_person_may_end_it(open_harness: Open) -> None:
    summary = SUMMARY.model_copy(update={"faults": LIMITED.faults})
    async with open_harness(scripts=script(FULL, DONE, summary=summary)) as harness, harness.running_worker():
        configure(harness)
        session = await limited(harness, TASK)
        waiting = await harness.client.sessions.get(session)
        person = shell(harness)
        woken = await person.run("wake", session)
        ended = await harness.ended(session)
        again = await person.run("wake", session)
        events = await harness.events(session)
        (pause,) = [event for event in events if isinstance(event, PauseEnded)]
        (compacted,) = await compactions(harness, session)

    assert waiting.pause is not None and waiting.pause.kind == "429"
    assert is_done(ended) and len(harness.model.ledger.entries) == 4
    assert woken.out == f"Continues now: {session}\n" and again.code == 6
    assert pause.generation == compacted.generation
