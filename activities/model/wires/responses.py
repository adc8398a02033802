"""OpenAI's Responses API: address and request."""

from typing import Final

from activities.model.addresses import append_path
from activities.model.encoded_messages import Encoded
from activities.model.endpoint import Wire
from activities.model.port import InputMessage, ModelRequest
from activities.model.request_json import encode_body, encode_json
from activities.model.wires.responses_format import build_parameters, input_items
from activities.model.wires.wire_request import WireRequest

_PATH: Final = "/responses"


def prepare(request: ModelRequest) -> WireRequest:
    endpoint = request.endpoint
    items = request.encoder.encode(request.messages, Wire.RESPONSES, _encode)
    return WireRequest(
        append_path(endpoint.base_url or "", _PATH),
        {**endpoint.authorization, **endpoint.headers},
        encode_body("input", items, {**build_parameters(request), "model": endpoint.name}),
    )


def _encode(message: InputMessage) -> Encoded:
    return None, b",".join(map(encode_json, input_items(message)))
