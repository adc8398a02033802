"""A request to a double, and its answer put together."""

from contextlib import aclosing
from typing import Any

from pydantic import SecretStr

from activities.model.port import Endpoint, Message, ModelPort, ModelRequest, ToolOffer, UserMessage, Wire
from activities.model.stream import Answer, Assembly

READ = ToolOffer(
    name="read",
    description="Read a file",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
GO: tuple[Message, ...] = (UserMessage(content="go"),)


def request(
    wire: Wire, model: str, url: str, key: str, messages: tuple[Message, ...] = GO, **more: Any
) -> ModelRequest:
    """A request with one tool; `more` are members of `ModelRequest`."""
    endpoint = Endpoint(model=model, base_url=url, key=SecretStr(key), wire=wire)
    return ModelRequest(endpoint=endpoint, messages=messages, **{"tools": (READ,), **more})


async def answered(port: ModelPort, asked: ModelRequest) -> Answer:
    assembly = Assembly()
    async with aclosing(port.stream(asked)) as stream:
        async for event in stream:
            assembly.add(event)
    return assembly.answer()
