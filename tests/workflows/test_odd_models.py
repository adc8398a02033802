"""Models that answer oddly, or not at all: each call gets an answer, each turn an end, and nothing is paid twice."""

import pytest

from tests.workflows.conftest import Open
from worker.scripted.script import Refuse, ScriptedAnswer, ScriptedCall
from workflows.domain.events import ModelRetry, TurnEnded
from workflows.domain.messages import CallState

DONE = ScriptedAnswer(text="Done.")


@pytest.mark.parametrize(
    "arguments",
    ['{"filePath": "a.txt", "limit": 1e999}', '{"filePath": "a', "[1, 2]", '{"x": ' * 300 + "1" + "}" * 300],
    ids=["infinite", "cut", "list", "deep"],
)
async def test_arguments_that_cannot_be_used_are_told_to_the_model(open_house: Open, arguments: str) -> None:
    odd = ScriptedAnswer(tools=(ScriptedCall(name="read", arguments=arguments),))
    async with open_house(odd, DONE) as house, house.working():
        session = await house.say("Read a.txt.")
        await house.ended(session)
        (call,) = await house.calls(session)
    assert (call.tool, call.state) == ("invalid", CallState.DONE)
    assert len(house.model.ledger.entries) == 2


async def test_an_odd_call_id_is_stored_and_answered(open_house: Open) -> None:
    odd = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*"}, id="a\x00b"),))
    async with open_house(odd, DONE) as house, house.working():
        session = await house.say("List.")
        ended = await house.ended(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and len(house.model.ledger.entries) == 2


async def test_a_refused_request_ends_the_turn_with_the_providers_words(open_house: Open) -> None:
    body = {"error": {"message": "No \x00 such thing. " + "x" * 20_000, "type": "invalid_request_error"}}
    odd = ScriptedAnswer(text="never", faults={1: Refuse(status=400, body=body)})
    async with open_house(odd) as house, house.working():
        session = await house.say("Hello?")
        ended = await house.ended(session)
        said = (await house.client.session(session)).error
        history = await house.history(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "failed" and "such thing" in str(said)
    assert len(house.model.ledger.entries) == 1 and len(history.to_json()) < 40_000


async def test_a_rate_limit_is_waited_out_and_shown(open_house: Open) -> None:
    limited = ScriptedAnswer(text="Hello.", faults={1: Refuse(status=429, headers={"retry-after": "0.2"})})
    async with open_house(limited) as house, house.working():
        session = await house.say("Hello?")
        await house.ended(session)
        retries = [event for event in await house.events(session) if isinstance(event, ModelRetry)]
    assert [(retry.attempt, retry.kind) for retry in retries] == [(1, "429")]
    assert len(house.model.ledger.entries) == 2


async def test_a_loop_that_a_rule_denies_is_refused(open_house: Open) -> None:
    look = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*.txt"}),))
    async with open_house(look, look, look, DONE) as house, house.working():
        house.configure(permission={"doom_loop": "deny"})
        session = await house.say("Look, and look, and look.")
        await house.ended(session)
        calls = await house.calls(session)
    assert [call.state for call in calls] == [CallState.DONE, CallState.DONE, CallState.REFUSED]
