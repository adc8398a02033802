"""ToolOffer: a tool as a model sees it."""

from pydantic import JsonValue

from workflows.domain.value import Value


class ToolOffer(Value):
    """`parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
