"""What a crash loses in OpenCode, and does not here: by the sentence of each case. Kills are in `tests/acceptance`."""

from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from activities.store.prompts import Mode
from tests.cases import Case, load
from tests.house import House
from tests.workflows.conftest import Open
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.errors import Conflict
from workflows.domain.ids import AskId, SessionId
from workflows.domain.messages import AssistantMessage, CallState, UserMessage
from workflows.domain.permissions.replies import Reply

RUN = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "echo ran"}),))
DONE = ScriptedAnswer(text="Done.")


@pytest.mark.parametrize("case", load("durability_gaps"))
async def test_what_opencode_loses_stays(case: Case, open_house: Open) -> None:
    assert case.holdfast is not None
    async with open_house(RUN, RUN, DONE, DONE) as house:
        house.configure(permission={"bash": "ask"})
        await HOLDFAST[case.holdfast](house)


async def waiting(house: House) -> tuple[SessionId, AskId]:
    """A session whose call waits for an answer, and no worker."""
    async with house.working():
        session = await house.say("Run it.")
        (ask,) = await house.asked(session)
    return session, ask


async def _goes_on(house: House) -> None:
    session, ask = await waiting(house)
    before = await house.calls(session)
    async with house.working():
        await house.answer(ask, Reply.ALWAYS)
        await house.ended(session)
        after, messages = await house.calls(session), await house.client.transcript(session)
    assert [call.state for call in before] == [CallState.PREPARED]
    assert [call.state for call in after] == [CallState.DONE] * 2
    assert isinstance(messages[-1], AssistantMessage) and messages[-1].body.finish == "stop"


async def _has_its_real_result(house: House) -> None:
    session, ask = await waiting(house)
    async with house.working():
        await house.client.prompt(session, "And this.")
        await house.answer(ask, Reply.ALWAYS)
        await house.ended(session)
        calls, messages = await house.calls(session), await house.client.transcript(session)
    assert [call.outcome.output.strip() for call in calls if call.outcome] == ["ran", "ran"]
    assert [message.text for message in messages if isinstance(message, UserMessage)] == ["Run it.", "And this."]


async def _is_still_granted(house: House) -> None:
    session, ask = await waiting(house)
    await house.answer(ask, Reply.ALWAYS)
    async with house.working():
        await house.ended(session)
        states = [call.state for call in await house.calls(session)]
        log = [event.type for event in await house.events(session)]
    assert states == [CallState.DONE] * 2 and log.count("ask.raised") == 1


async def _each_is_worked_on_once(house: House) -> None:
    session, ask = await waiting(house)
    await house.client.prompt(session, "Then this.", mode=Mode.QUEUE)
    async with house.working():
        await house.answer(ask, Reply.ALWAYS)
        await house.ended(session, 2)
        log = [event.type for event in await house.events(session)]
    assert (log.count("prompt.taken"), log.count("turn.ended")) == (2, 2)


async def _is_closed_with_its_turn(house: House) -> None:
    async with house.working():
        session = await house.say("Run it.")
        (ask,) = await house.asked(session)
        await house.client.stop(session)
        await house.ended(session)
        left = await house.client.asks()
        with pytest.raises(Conflict, match="closed"):
            await house.answer(ask)
    assert left == []


HOLDFAST: Final[dict[str, Callable[[House], Awaitable[None]]]] = {
    "the part waits (running) because the request waits; after the answer it completes, and the assistant message is "
    "completed": _goes_on,
    "the request stays open; the prompt is steered in or queued; the tool result is the real one": (
        _has_its_real_result
    ),
    "the grant is still there; nothing is asked": _is_still_granted,
    "A completes, then B is worked on; each once": _each_is_worked_on_once,
    "0 pending requests; the request is closed as cancelled; a later answer is refused with that reason": (
        _is_closed_with_its_turn
    ),
}
