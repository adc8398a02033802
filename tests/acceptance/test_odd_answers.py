"""Answers that models should not give, but do (reliability.md row 37)."""

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.effect_ledger import effect
from tests.acceptance.scenarios import DONE, runs
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.messages import AssistantMessage, CallState, TextPart

pytestmark = pytest.mark.acceptance

ODD = "NUL \0, half a surrogate \ud83d, and an end."


async def test_row_37_every_odd_call_gets_its_result_and_the_valid_ones_run(open_trial: Open) -> None:
    script = (
        ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments='{"command": "effect no'), effect("one"))),
        ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments='{"command": "effect six",}'),)),
        ScriptedAnswer(tools=(ScriptedCall(name="frobnicate", arguments={"x": 1}),)),
        ScriptedAnswer(tools=(ScriptedCall(name="read", arguments={"filePath": 7}),)),
        ScriptedAnswer(tools=tuple(effect(token).model_copy(update={"id": "same"}) for token in ("two", "three"))),
        ScriptedAnswer(text=ODD, tools=runs("four").tools),
        ScriptedAnswer(text="x" * 5_000_000, tools=runs("five").tools, chunk=100_000),
        DONE,
    )
    async with open_trial(*script) as trial:
        session = await trial.played("Do what you like.")
        calls = await trial.harness.calls(session)
        messages = await trial.harness.client.records.transcript(session)
    texts = [
        part.text
        for each in messages
        if isinstance(each, AssistantMessage)
        for part in each.parts
        if isinstance(part, TextPart)
    ]
    assert texts[0] == ODD and len(texts[1]) == 5_000_000
    assert all(call.outcome is not None for call in calls)
    assert [trial.effects.count(token) for token in ("one", "two", "three", "four", "five", "six")] == [1] * 6
    assert sum(call.state is CallState.DONE for call in calls) >= 6


async def test_row_37_empty_answers_are_asked_for_again_a_few_times_only(open_trial: Open) -> None:
    async with open_trial(ScriptedAnswer(finish="tool_calls")) as trial:
        await trial.played("Say nothing.")
    assert len(trial.harness.model.ledger.entries) == 4
