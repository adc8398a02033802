"""OpenAI's Responses API: address and request."""

from pydantic_core import to_json

from activities.model.port import ModelRequest
from activities.model.wires.http_wire import WireRequest
from activities.model.wires.responses_format import build_body

_PATH = "/responses"


async def prepare(request: ModelRequest) -> WireRequest:
    endpoint = request.endpoint
    return WireRequest(
        f"{endpoint.base_url}{_PATH}",
        {**endpoint.authorization, **endpoint.headers},
        to_json({**build_body(request), "model": endpoint.name}),
    )
