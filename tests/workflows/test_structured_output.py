"""Turns that owe a result by a JSON schema."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.harness import Harness, wait_for_file
from tests.workflows.conftest import Open
from tests.workflows.session_runs import activities
from worker.scripted.script import Hold, ScriptedAnswer, ScriptedCall
from workflows.domain.errors import UsageError
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.ids import MessageId, SessionId
from workflows.domain.messages import CallState
from workflows.domain.output_format import STRUCTURED_OUTPUT, OutputFormat
from workflows.domain.prompt import Prompt
from workflows.domain.wake_signal import WakeKind

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"city": {"type": "string", "pattern": "^(U|u)+lm$"}, "people": {"type": "integer"}},
    "required": ["city"],
}
DONE: Final = ScriptedAnswer(text="Done.")
LOOK: Final = ScriptedAnswer(tools=(ScriptedCall(name="glob", arguments={"pattern": "*"}),))
DENY: Final = {"*": "deny", "glob": "allow"}


def give(**result: Any) -> ScriptedAnswer:
    return ScriptedAnswer(tools=(ScriptedCall(name=STRUCTURED_OUTPUT, arguments=result),))


async def ask(harness: Harness, session: SessionId | None = None, **format: Any) -> tuple[SessionId, MessageId]:
    prompt = Prompt.of_text(
        "Which city?", model="scripted/model", format=OutputFormat(**{"json_schema": SCHEMA, **format})
    )
    if session is None:
        accepted = await harness.client.start(str(harness.project), prompt)
    else:
        accepted = await harness.client.prompt(session, prompt)
    return accepted.session, accepted.prompt


def offered(harness: Harness) -> set[str]:
    assert harness.model.last_request is not None
    return {tool["function"]["name"] for tool in harness.model.last_request.body.get("tools", ())}


async def test_a_result_is_corrected_until_it_fits_and_ends_the_turn_under_any_rules(open_harness: Open) -> None:
    answers = (LOOK, ScriptedAnswer(text="Ulm."), give(city=7), give(city="Ulm", people=3), DONE)
    async with open_harness(*answers) as harness, harness.running_worker():
        harness.configure(permission=DENY)
        session, prompt = await ask(harness, corrections=3)
        ended: Any = await harness.ended(session)
        _, wrong, given = await harness.calls(session)
        names = offered(harness)
        body = json.dumps(harness.model.last_request.body) if harness.model.last_request else ""
        result = await harness.client.records.result(session, prompt)
        await harness.client.prompt(session, "Thanks.")
        await harness.ended(session, 2)
        after = offered(harness)
    assert (ended.reason, result) == ("done", {"city": "Ulm", "people": 3})
    assert wrong.state is CallState.FAILED and wrong.outcome is not None
    assert "city: 7 is not of type 'string'" in wrong.outcome.output
    assert given.state is CallState.DONE and body.count("This turn has to end with a result") == 2
    assert STRUCTURED_OUTPUT in names and STRUCTURED_OUTPUT not in after and "bash" not in names


async def test_without_a_result_the_turn_fails_after_a_reload_too_and_a_retry_owes_it_still(
    open_harness: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    held = DONE.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    async with open_harness(DONE, held, DONE, give(city="Ulm")) as harness, harness.running_worker():
        session, prompt = await ask(harness, corrections=1)
        await wait_for_file(gate)
        await harness.signal(session, WakeKind.REFRESH)
        gate.touch()
        await harness.ended(session)
        (failed,) = await harness.client.records.unfinished_turns(session)
        await harness.client.retry(session)
        ended: Any = await harness.ended(session, 2)
        (given,) = await harness.calls(session)
        first = await harness.client.records.result(session, prompt)
        loads = activities(await harness.history(session)).count("holdfast.project.load")
    assert failed.error is not None and "in 2 tries" in failed.error and loads >= 3
    assert (ended.reason, given.arguments, first) == ("done", {"city": "Ulm"}, None)


async def test_the_last_step_takes_the_result_and_nothing_else(open_harness: Open) -> None:
    both = ScriptedAnswer(tools=(*LOOK.tools, *give(city="Ulm").tools))
    async with open_harness(LOOK, both) as harness, harness.running_worker():
        harness.configure(agent={"build": {"steps": 2}})
        session, prompt = await ask(harness)
        ended: Any = await harness.ended(session)
        _, refused, given = await harness.calls(session)
        result = await harness.client.records.result(session, prompt)
        body = json.dumps(harness.model.last_request.body) if harness.model.last_request else ""
    assert (ended.reason, result) == ("done", {"city": "Ulm"})
    assert (refused.state, given.state) == (CallState.REFUSED, CallState.DONE)
    assert "Call that now" in body and '"tool_choice": "none"' not in body


BASH: Final = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "true"}),))
PRICED: Final = {"cost": {"input": 10, "output": 10}}
FINISH: Final = {"on_limit": "finish"}


@pytest.mark.parametrize(
    ("limits", "late"),
    [
        ({"agent": {"build": {"steps": 2}}}, give(city=7)),
        ({"holdfast": {"budget": {"turn": {"steps": 1, **FINISH}}}}, give(city=7)),
        ({"holdfast": {"budget": {"turn": {"steps": 1, **FINISH}}}}, BASH),
    ],
)
async def test_beyond_a_limit_of_steps_what_is_no_result_is_answered_once_more(
    open_harness: Open, limits: dict[str, Any], late: ScriptedAnswer
) -> None:
    async with open_harness(LOOK, late, give(city="Ulm")) as harness, harness.running_worker():
        harness.configure_person(model={}, **limits)
        session, prompt = await ask(harness)
        ended: Any = await harness.ended(session)
        result = await harness.client.records.result(session, prompt)
        _, refused, _ = await harness.calls(session)
        body = json.dumps(harness.model.last_request.body) if harness.model.last_request else ""
    assert (ended.reason, result) == ("done", {"city": "Ulm"}) and refused.outcome is not None
    assert body.count("no more tools can be called in this turn but `StructuredOutput`") == 2
    only = "only `StructuredOutput` can be called" if late is BASH else "city: 7 is not of type 'string'"
    assert only in refused.outcome.output and "Answer with text" not in body


async def test_beyond_a_limit_of_cost_it_is_not(open_harness: Open) -> None:
    async with open_harness(LOOK, give(city=7), give(city="Ulm")) as harness, harness.running_worker():
        harness.configure_person(model=PRICED, holdfast={"budget": {"turn": {"cost": 0.0001, **FINISH}}})
        session, _ = await ask(harness)
        await harness.ended(session)
        (failed,) = await harness.client.records.unfinished_turns(session)
        requests = len(harness.model.ledger.entries)
    assert failed.error is not None and failed.error.startswith("The budget of this turn is spent ($")
    assert failed.error.endswith("and the last answer gave no result that fits the schema.") and requests == 2


async def test_a_prompt_with_a_schema_is_queued_and_an_unusable_schema_refused(open_harness: Open) -> None:
    async with open_harness(DONE) as harness:
        session, prompt = await ask(harness)
        accepted = next(each for each in await harness.events(session) if isinstance(each, PromptAccepted))
        with pytest.raises(UsageError, match="has to be of an object"):
            await ask(harness, session, json_schema={"type": "string"})
    assert (accepted.prompt, accepted.mode) == (prompt, "queue")
