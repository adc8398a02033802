"""A request to a double, and its whole answer."""

from contextlib import aclosing
from typing import Any

from pydantic import SecretStr

from activities.model.port import Endpoint, InputMessage, ModelPort, ModelRequest, UserInput, Wire
from activities.model.stream import Answer, AnswerAssembler
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


async def collect_answer(port: ModelPort, asked: ModelRequest) -> Answer:
    assembly = AnswerAssembler()
    async with aclosing(port.stream(asked)) as stream:
        async for event in stream:
            assembly.add(event)
    return assembly.answer()
