"""OpenAI's Responses API: address and request."""

from typing import Final

from activities.model.identity_cache import IdentityCache
from activities.model.port import InputMessage, ModelRequest
from activities.model.request_json import encode_body, encode_json
from activities.model.wires.http_wire import WireRequest
from activities.model.wires.responses_format import build_parameters, input_items

_PATH: Final = "/responses"


class ResponsesRequestBuilder:
    """Writes requests; encodes only what a conversation has gained since its last request."""

    def __init__(self) -> None:
        self._encoded: IdentityCache[InputMessage, tuple[bytes, ...]] = IdentityCache()

    def prepare(self, request: ModelRequest) -> WireRequest:
        endpoint = request.endpoint
        encoded = self._encoded.get_all(request.messages, None, _encode)
        return WireRequest(
            f"{endpoint.base_url}{_PATH}",
            {**endpoint.authorization, **endpoint.headers},
            encode_body(
                "input",
                (item for items in encoded for item in items),
                {**build_parameters(request), "model": endpoint.name},
            ),
        )


def _encode(message: InputMessage) -> tuple[bytes, ...]:
    return tuple(map(encode_json, input_items(message)))
