"""Our requests in the form of OpenAI's Responses API.

The provider stores nothing (`store: false`): thoughts come encrypted, and return to the same model with the next
request.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from activities.model import port
from activities.model.addresses import append_path
from activities.model.encoded_messages import Encoded
from activities.model.endpoint import Wire
from activities.model.model_families import OPENAI_REASONS
from activities.model.request_json import JsonDict, encode_body, encode_json, merge_options, sendable_id, utf8_safe
from activities.model.wires.responses_reader import ITEM
from activities.model.wires.wire_request import WireRequest, encode_tools
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.tool_offer import ToolOffer

_ID: Final = re.compile(r"(?s).{1,64}")  # of a call
_OPTION_PATHS: Final = {  # options of the chat protocol → their paths here
    "reasoning_effort": ("reasoning", "effort"),
    "reasoning_summary": ("reasoning", "summary"),
    "verbosity": ("text", "verbosity"),
    "max_completion_tokens": ("max_output_tokens",),
}


def prepare(request: port.ModelRequest) -> WireRequest:
    endpoint = request.endpoint
    items = request.encoder.encode(request.messages, Wire.RESPONSES, _encode)
    return WireRequest(
        append_path(endpoint.base_url or "", "/responses"),
        {**endpoint.authorization, **endpoint.headers},
        encode_body("input", items, {**_parameters(request), "model": endpoint.name}),
    )


def _encode(message: port.InputMessage) -> Encoded:
    return None, b",".join(map(encode_json, _input_items(message)))


def _parameters(request: port.ModelRequest) -> JsonDict:
    """The request without its model and its input."""
    form: JsonDict = {"store": False, "stream": True}
    parameters = {
        "instructions": utf8_safe(request.system) or None,
        "tools": encode_tools(request, _tool),
        "tool_choice": request.tool_choice if request.tools else None,
        "temperature": request.temperature,
        "max_output_tokens": request.max_output,
        "prompt_cache_key": request.cache_key,
    }
    if request.format is not None:
        form["text"] = {"format": {"type": "json_schema", "name": "result", "schema": request.format, "strict": True}}
    form |= {name: value for name, value in parameters.items() if value is not None}
    return merge_options(form | _thinking(request.endpoint.name), request.options, _OPTION_PATHS)


def _thinking(model: str) -> JsonDict:
    return {"include": ["reasoning.encrypted_content"]} if OPENAI_REASONS.match(model) else {}


def _tool(tool: ToolOffer) -> JsonDict:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,  # a strict schema may have no optional members
    }


def _input_items(message: port.InputMessage) -> Iterator[JsonDict]:
    """A message as items of the input."""
    match message:
        case port.UserInput(content=str(content)):
            yield {"role": "user", "content": content}
        case port.UserInput(content=pieces):
            yield {"role": "user", "content": [_piece(piece) for piece in pieces if not isinstance(piece, str)]}
        case port.AssistantInput():
            yield from _answer(message)
        case port.ToolResultInput():
            yield {
                "type": "function_call_output",
                "call_id": sendable_id(message.call, _ID),
                "output": message.content,
            }


def _piece(piece: port.Piece) -> JsonDict:
    match piece:
        case port.TextPiece():
            return {"type": "input_text", "text": piece.text}
        case port.ImagePiece():
            return {"type": "input_image", "image_url": piece.url, "detail": "auto"}
        case port.FilePiece():
            return {"type": "input_file", "filename": piece.name, "file_data": piece.url}


def _answer(message: port.AssistantInput) -> Iterator[JsonDict]:
    """Reasoning must be followed by what it led to."""
    thoughts: list[Any] = []
    for part in message.parts:
        match part:
            case ReasoningPart(details=details):
                thoughts += [block[ITEM] for block in details if ITEM in block]
                continue
            case TextPart(text=text, phase=phase):
                item: JsonDict = {"type": "message", "role": "assistant", "content": text}  # llama.cpp wants the type
                item |= {"phase": phase} if phase else {}
            case RequestedCall():
                item = _call(part)
        yield from thoughts
        thoughts.clear()
        yield item


def _call(call: RequestedCall) -> JsonDict:
    return {
        "type": "function_call",
        "call_id": sendable_id(call.id, _ID),
        "name": call.name,
        "arguments": call.arguments,
    }
