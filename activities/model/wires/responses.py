"""OpenAI's Responses API: where it is asked, and what."""

from pydantic_core import to_json

from activities.model.port import ModelRequest
from activities.model.wires.http_wire import Prepared
from activities.model.wires.responses_form import body

_PATH = "/responses"


async def prepare(request: ModelRequest) -> Prepared:
    endpoint = request.endpoint
    return Prepared(
        f"{endpoint.base_url}{_PATH}",
        {**endpoint.authorization, **endpoint.headers},
        to_json({**body(request), "model": endpoint.name}),
    )
