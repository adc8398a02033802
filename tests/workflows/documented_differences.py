"""Where Holdfast differs from a case of the loop, by the sentence in the case."""

from collections.abc import Awaitable, Callable
from typing import Final

from tests.workflows.case_player import PlayedCase, assert_outputs, rendered_part
from workflows.domain.events.calls import CallClaimed
from workflows.domain.messages import CallState


async def _none_ran(played: PlayedCase) -> None:
    assert await played.raised() == ["doom_loop"] * 3 and await played.model_requests() == 1
    first, *others = [rendered_part(call)["error"] for call in await played.calls()]
    assert first == "RejectedError" and [each.startswith("Not run: ") for each in others] == [True, True]
    log = await played.harness.events(played.session)
    assert not any(isinstance(event, CallClaimed) for event in log)


async def _other_waits(played: PlayedCase) -> None:
    refused, other = await played.calls()
    assert rendered_part(refused)["error"].startswith("CorrectedError(") and other.state is CallState.PREPARED


async def _still_denied(played: PlayedCase) -> None:
    (call,) = await played.calls()
    assert rendered_part(call)["error"] == "DeniedError" and await played.raised() == []
    assert await played.model_requests() == 2


async def _reads_that_it_was_stopped(played: PlayedCase) -> None:
    assert await played.messages() == played.case.expected["messages"]
    *before, [_, _, prompt] = await played.history()
    *expected, [_, _, asked] = played.case.expected["history"]
    assert_outputs(before, expected)
    assert prompt == f"<system-reminder>\nThe user stopped you before this.\n</system-reminder>\n\n{asked}"


async def _stored_plain_and_sent_wrapped(played: PlayedCase) -> None:
    assert await played.messages() == played.case.expected["messages"]
    assert await played.model_requests() == played.case.expected["llm_calls"]
    *before, (role, wrapped) = await played.pairs()
    assert before == played.case.expected["second_call_messages"][:-1]
    assert role == "user" and "second" in wrapped and wrapped.startswith("<system-reminder>")


DEVIATIONS: Final[dict[str, Callable[[PlayedCase], Awaitable[None]]]] = {
    "the calls wait for the answer; rejected: none ran, and the others are closed without a decision": _none_ran,
    "from our own doors a reject with a message settles its ask alone: the other waits": _other_waits,
    "still denied: a grant never beats a deny": _still_denied,
    "stored as here; the model reads before the prompt that it was stopped": _reads_that_it_was_stopped,
    "stored as here; what the model gets is the text wrapped in a reminder (steer), see opencode.md": (
        _stored_plain_and_sent_wrapped
    ),
}
