"""What a crash loses in OpenCode and not here, case by case. Kills are in `tests/acceptance`."""

from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from tests.cases import Case, load
from tests.harness import Harness
from tests.workflows.conftest import Open
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.errors import Conflict
from workflows.domain.ids import AskId, SessionId
from workflows.domain.messages import AssistantMessage, CallState, UserMessage
from workflows.domain.permissions.replies import Reply
from workflows.domain.prompt import Prompt, PromptMode

RUN = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "echo ran"}),))
DONE = ScriptedAnswer(text="Done.")


@pytest.mark.parametrize("case", load("durability_gaps"))
async def test_what_opencode_loses_stays(case: Case, open_harness: Open) -> None:
    assert case.holdfast is not None
    async with open_harness(RUN, RUN, DONE, DONE) as harness:
        harness.configure(permission={"bash": "ask"})
        await HOLDFAST[case.holdfast](harness)


async def waiting(harness: Harness) -> tuple[SessionId, AskId]:
    """A session whose call waits for an answer, without a worker."""
    async with harness.running_worker():
        session = await harness.start_session("Run it.")
        (ask,) = await harness.wait_for_asks(session)
    return session, ask


async def _goes_on(harness: Harness) -> None:
    session, ask = await waiting(harness)
    before = await harness.calls(session)
    async with harness.running_worker():
        await harness.answer(ask, Reply.ALWAYS)
        await harness.ended(session)
        after, messages = await harness.calls(session), await harness.client.records.transcript(session)
    assert [call.state for call in before] == [CallState.PREPARED]
    assert [call.state for call in after] == [CallState.DONE] * 2
    assert isinstance(messages[-1], AssistantMessage) and messages[-1].body.finish == "stop"


async def _has_its_real_result(harness: Harness) -> None:
    session, ask = await waiting(harness)
    async with harness.running_worker():
        await harness.client.prompt(session, "And this.")
        await harness.answer(ask, Reply.ALWAYS)
        await harness.ended(session)
        calls, messages = await harness.calls(session), await harness.client.records.transcript(session)
    assert [call.outcome.output.strip() for call in calls if call.outcome] == ["ran", "ran"]
    assert [message.text for message in messages if isinstance(message, UserMessage)] == ["Run it.", "And this."]


async def _is_still_granted(harness: Harness) -> None:
    session, ask = await waiting(harness)
    await harness.answer(ask, Reply.ALWAYS)
    async with harness.running_worker():
        await harness.ended(session)
        states = [call.state for call in await harness.calls(session)]
        log = [event.type for event in await harness.events(session)]
    assert states == [CallState.DONE] * 2 and log.count("ask.raised") == 1


async def _each_is_worked_on_once(harness: Harness) -> None:
    session, ask = await waiting(harness)
    await harness.client.prompt(session, Prompt.of_text("Then this.", mode=PromptMode.QUEUE))
    async with harness.running_worker():
        await harness.answer(ask, Reply.ALWAYS)
        await harness.ended(session, 2)
        log = [event.type for event in await harness.events(session)]
    assert (log.count("prompt.taken"), log.count("turn.ended")) == (2, 2)


async def _is_closed_with_its_turn(harness: Harness) -> None:
    async with harness.running_worker():
        session = await harness.start_session("Run it.")
        (ask,) = await harness.wait_for_asks(session)
        await harness.client.stop(session)
        await harness.ended(session)
        left = await harness.client.inbox.asks()
        with pytest.raises(Conflict, match="closed"):
            await harness.answer(ask)
        (call,) = await harness.calls(session)
    assert left == [] and call.outcome is not None
    assert call.outcome.output == "Not run: the user stopped the turn while this call waited for an answer."


HOLDFAST: Final[dict[str, Callable[[Harness], Awaitable[None]]]] = {
    "the part waits (running) because the request waits; after the answer it completes, and the assistant message is "
    "completed": _goes_on,
    "the request stays open; the prompt is steered in or queued; the tool result is the real one": (
        _has_its_real_result
    ),
    "the grant is still there; nothing is asked": _is_still_granted,
    "A completes, then B is worked on; each once": _each_is_worked_on_once,
    "0 pending requests; the request is closed as cancelled; a later answer is refused with that reason; the call says "
    "that it has not run": _is_closed_with_its_turn,
}
