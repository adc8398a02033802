"""What a model was sent is built again from the records, and compared by the digest of each attempt."""

from typing import Any

import pytest

from activities.model.sent_requests import SentRequests
from activities.tools.registry import TOOLS
from activities.turn_tools import TurnTools
from tests.activities.model.model_rig import ModelRig, Open
from worker.scripted.script import Refuse, ScriptedAnswer, ScriptedCall
from workflows.domain.errors import NotFound
from workflows.domain.mcp import OfferedTool
from workflows.domain.sent_request import RequestChoice, SentRequest

LIST = ScriptedAnswer(
    reasoning="Hm.", text="Let me look.", tools=(ScriptedCall(name="glob", arguments={"pattern": "*"}),)
)
DONE = ScriptedAnswer(text="Done.")
BUSY = Refuse(status=503, headers={"retry-after": "0"})


async def sent(model: ModelRig, **choice: Any) -> SentRequest:
    database = model.rig.database
    async with database.statements() as batch:
        found = SentRequests(batch, database.turn_configs, TurnTools(TOOLS), model.rig.session)
        return await found.find(RequestChoice(**choice))


async def listed(model: ModelRig) -> None:
    (call,) = (await model.generate()).calls
    await model.rig.run(call.id)


async def test_each_step_is_shown_as_it_was_sent(open_model: Open) -> None:
    async with open_model(LIST, DONE) as model:
        model.rig.file("AGENTS.md", "Use tabs.")
        model.worker = model.started()
        await listed(model)
        await model.rig.prompt("Also this.")
        await model.generate(model.request(step=2))
        first, second = await sent(model, turn=1, step=1), await sent(model)
        body = model.sent

    assert first.as_sent and second.as_sent and first.digest != second.digest
    assert (second.number, second.step, second.answered, second.attempts) == (1, 2, True, 1)
    assert [each.name for each in first.conversation] == ["reminders (date) and prompt"]
    assert [each.name for each in second.conversation] == ["reminders (date) and prompt", "answer", "prompt, steered"]
    assert [each.name for each in second.layers] == ["base prompt", "environment"]
    assert "\n\n".join(each.text for each in second.layers) == body["messages"][0]["content"]
    assert [each.name for each in second.tools] == [each["function"]["name"] for each in body["tools"]]
    assert second.tokens > first.tokens > 1_000 and not second.left_out


async def test_a_tool_that_no_connection_offers_any_more_is_shown_as_it_was_sent(open_model: Open) -> None:
    named = {"name": "tracker_ticket", "server": "tracker", "tool": "ticket"}
    ticket = OfferedTool(**named, description="Find a ticket.", parameters={"type": "object"})
    async with open_model(DONE) as model:
        await model.rig.offer(ticket)
        await model.generate()
        found = await sent(model)
        names = [each["function"]["name"] for each in model.sent["tools"]]

    assert found.as_sent and [each.name for each in found.tools] == names and ticket.name in names


async def test_attempts_that_sent_the_same_have_one_digest(open_model: Open) -> None:
    busy = DONE.model_copy(update={"faults": {1: BUSY}})
    async with open_model(busy, DONE) as model:
        request = model.request()
        await model.failure(request)
        waiting = await sent(model)
        await model.rested()
        await model.generate(request, attempt=2)
        found = await sent(model)

    assert not waiting.answered and waiting.counted is None and waiting.as_sent
    assert found.digest == waiting.digest and (found.attempts, found.same) == (2, True) and found.counted


async def test_an_attempt_that_took_another_prompt_has_another_digest(open_model: Open) -> None:
    busy = DONE.model_copy(update={"faults": {1: BUSY}})
    async with open_model(LIST, busy) as model:
        await listed(model)
        request = model.request(step=2)
        await model.failure(request)
        await model.rig.prompt("Also this.")
        await model.rested()
        await model.generate(request, attempt=2)
        found = await sent(model)

    assert found.as_sent and (found.attempts, found.same) == (2, False)


async def test_what_was_changed_since_is_not_as_it_was_sent(open_model: Open) -> None:
    async with open_model(LIST, DONE) as model:
        await listed(model)
        await model.generate(model.request(step=2))
        await model.rig.database.rows(b'UPDATE call SET outcome = \'{"output": "forged"}\'')
        found = await sent(model)

    assert not found.as_sent and found.digest != found.rebuilt and "forged" in str(found.conversation)


async def test_a_step_whose_answer_never_came_is_said_to_be_left_out(open_model: Open) -> None:
    busy = ScriptedAnswer(text="x", faults={1: Refuse(status=401)})
    async with open_model(busy, DONE) as model:
        await model.failure()
        await model.generate(model.request(step=2))
        found = await sent(model)

    assert [each.what for each in found.left_out] == ["the answer of turn 1, step 1"] and found.as_sent


async def test_what_nobody_was_asked_for_is_an_error_that_says_so(open_model: Open) -> None:
    async with open_model(DONE) as model:
        with pytest.raises(NotFound, match="no step 7 of turn 3"):
            await sent(model, turn=3, step=7)
        with pytest.raises(NotFound, match="asked for a step"):
            await sent(model)
