"""A request to a double, and its whole answer."""

from contextlib import aclosing
from typing import Any

from pydantic import SecretStr

from activities.model.endpoint import Endpoint, Wire
from activities.model.port import InputMessage, ModelPort, ModelRequest, UserInput
from activities.model.reminders import reminder
from activities.model.stream import Answer, AnswerAssembler
from workflows.domain.ids import GenerationId, TurnId
from workflows.domain.messages import ReminderName, StepReminders
from workflows.domain.tool_offer import ToolOffer

READ = ToolOffer(
    name="read",
    description="Read a file",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
GO: tuple[InputMessage, ...] = (UserInput(content="go"),)


def request(
    wire: Wire, model: str, url: str, key: str, messages: tuple[InputMessage, ...] = GO, **more: Any
) -> ModelRequest:
    """Send a request with one tool; `more` are members of `ModelRequest`."""
    endpoint = Endpoint(model=model, base_url=url, key=SecretStr(key), wire=wire)
    return ModelRequest(endpoint=endpoint, messages=messages, **{"tools": (READ,), **more})


def last_step_reminder() -> StepReminders:
    """As a step records it that must have no calls."""
    last = reminder(ReminderName.LAST_STEP, why="This turn has used all of its steps (2)")
    return StepReminders(id=GenerationId("gen_1"), turn=TurnId("trn_1"), step=2, reminders=(last,))


async def collect_answer(port: ModelPort, asked: ModelRequest) -> Answer:
    assembly = AnswerAssembler()
    async with aclosing(port.stream(asked)) as stream:
        async for events in stream:
            for event in events:
                assembly.add(event)
    return assembly.answer()
