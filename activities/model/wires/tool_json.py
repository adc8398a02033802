"""JSON of the offered tools, the same in nearly all requests of a conversation."""

from collections.abc import Callable

from pydantic_core import to_json

from activities.model.port import ModelRequest
from activities.model.request_json import EncodedJson, JsonDict
from workflows.domain.tool_offer import ToolOffer


def encode_tools(request: ModelRequest, form: Callable[[ToolOffer], JsonDict]) -> EncodedJson | None:
    """The list of the tools in their `form`, the same for each request of the wire; None without tools."""
    if not request.tools:
        return None
    tools = request.tools
    return request.encoder.make_once(
        request.endpoint.wire, tools, lambda: EncodedJson(to_json([form(tool) for tool in tools]))
    )
