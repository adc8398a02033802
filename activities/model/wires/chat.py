"""OpenAI's chat completions, also of other providers that speak exactly them."""

from typing import Final

from pydantic_core import to_json

from activities.model.chat_format import build_message, build_parameters
from activities.model.chat_forms import arrange, is_mistral
from activities.model.identity_cache import IdentityCache
from activities.model.port import InputMessage, ModelRequest
from activities.model.request_json import encode_body
from activities.model.wires.http_wire import WireRequest

_PATH: Final = "/chat/completions"


class ChatRequestBuilder:
    """Writes requests; encodes only what a conversation has gained since its last request."""

    def __init__(self) -> None:
        self._encoded: IdentityCache[InputMessage, bytes] = IdentityCache()

    def prepare(self, request: ModelRequest) -> WireRequest:
        endpoint = request.endpoint
        kind = endpoint.provider, is_mistral(endpoint)
        messages = self._encoded.get_all(
            arrange(endpoint, request.messages), kind, lambda message: to_json(build_message(request, message))
        )
        others = {**build_parameters(request), "model": endpoint.name, "stream": True}
        return WireRequest(
            f"{endpoint.base_url}{_PATH}",
            {**endpoint.authorization, **endpoint.headers},
            encode_body("messages", messages, others),
        )
