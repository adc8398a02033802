"""Requests as OpenAI's chat completions, of OpenAI and of the many providers that speak them."""

from collections.abc import Iterable
from typing import Final

from pydantic_core import to_json

from activities.model.addresses import append_path
from activities.model.chat_dialects import Dialect, dialect_of
from activities.model.chat_format import (
    arrange,
    build_message,
    build_parameters,
    chat_tool,
    mark_for_cache,
    places_to_mark,
)
from activities.model.encoded_messages import Encoded, MessageEncoder
from activities.model.endpoint import Wire
from activities.model.port import InputMessage, ModelRequest, SystemInput
from activities.model.request_json import encode_body
from activities.model.wires.wire_request import WireRequest, encode_tools

_PATH: Final = "/chat/completions"


def prepare(request: ModelRequest) -> WireRequest:
    endpoint = request.endpoint
    dialect = dialect_of(endpoint)
    messages, encoded = tuple(arrange(dialect, request.messages)), encode_tools(request, chat_tool)
    tools = {"tools": encoded} if encoded else {}
    return WireRequest(
        append_path(endpoint.base_url or "", _PATH),
        {**endpoint.authorization, **endpoint.headers},
        encode_body(
            "messages",
            _encode(request.encoder, dialect, messages),
            {**build_parameters(dialect, request), **tools, "model": endpoint.name, "stream": True},
        ),
    )


def _encode(encoder: MessageEncoder, dialect: Dialect, messages: tuple[InputMessage, ...]) -> Iterable[bytes]:
    marked = places_to_mark(messages) if dialect.cache_marks else []

    def encode(message: InputMessage) -> Encoded:
        form = build_message(dialect, message)
        instructs = bool(marked) and isinstance(message, SystemInput)
        return None, to_json(mark_for_cache(form) if instructs else form)

    ends = {place for place in marked if not isinstance(messages[place], SystemInput)}
    known, last = encoder.turns(messages, (Wire.CHAT, dialect), encode, open_from=min(ends, default=len(messages)))
    for turn in last:
        if turn.start in ends:
            turn.contents[:] = [to_json(mark_for_cache(build_message(dialect, messages[turn.start])))]
    return *known, *(turn.json for turn in last)
