"""Requests as Anthropic's Messages."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote

from activities.model.claude_thoughts import began_without_thought, without_thoughts
from activities.model.encoded_messages import Encoded, EncodedTurn, Group
from activities.model.endpoint import Endpoint, Wire
from activities.model.output_limit import DEFAULT_OUTPUT_LIMIT
from activities.model.port import (
    AnswerPart,
    AssistantInput,
    FilePiece,
    ImagePiece,
    InputMessage,
    ModelRequest,
    Piece,
    TextPiece,
    ToolResultInput,
    UserInput,
)
from activities.model.request_json import JsonDict, encode_body, encode_json, parse_arguments, sendable_id, utf8_safe
from activities.model.served_work import container_of, is_sent, resumable
from activities.model.vertex import VERTEX
from activities.model.wires.anthropic_options import beta_names, merge_message_options, refuses_thoughts
from activities.model.wires.wire_request import WireRequest, encode_tools
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.tool_offer import ToolOffer

_ADDRESS: Final = "https://api.anthropic.com"
_VERSION: Final = {"anthropic-version": "2023-06-01"}
_VERTEX_VERSION: Final = "vertex-2023-10-16"
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_CACHE_CONTROL: Final = {"type": "ephemeral"}
_MARK: Final = b',"cache_control":%b}' % encode_json(_CACHE_CONTROL)
_MARKED: Final = 2  # messages: the last one, and the one that was last a request ago
OPEN_TURNS: Final = 3  # those two, and the answer between them
_USER: Final = Group(b'{"role":"user","content":[')  # the results of all calls belong together
_ASSISTANT: Final = Group(b'{"role":"assistant","content":[')
_THOUGHTS: Final = ("thinking", "redacted_thinking")
_TOOL_CHOICES: Final = {"auto": "auto", "none": "none", "required": "any"}


def prepare(request: ModelRequest) -> WireRequest:
    endpoint = request.endpoint
    key = {"x-api-key": endpoint.secret} if endpoint.secret else {}
    parameters, messages = _parameters(request) | container_of(request.messages), request.messages
    if refuses_thoughts(parameters):
        messages = without_thoughts(request)
    messages = resumable(messages)
    betas = ",".join(beta_names(parameters, request.options))
    if on_vertex := endpoint.provider == VERTEX:  # the address names the model there
        parameters = {name: value for name, value in parameters.items() if name != "model"}
        parameters["anthropic_version"] = _VERTEX_VERSION
        parameters |= {"anthropic_beta": betas.split(",")} if betas else {}
    known, last = request.encoder.turns(messages, Wire.ANTHROPIC, _encode, open_turns=OPEN_TURNS)
    _mark_cache_points(last)
    return WireRequest(
        _vertex_url(endpoint) if on_vertex else _url(endpoint),
        {**key, **({} if on_vertex else _VERSION), **({"anthropic-beta": betas} if betas else {}), **endpoint.headers},
        encode_body("messages", (*known, *(turn.json for turn in last)), parameters),
    )


def _url(endpoint: Endpoint) -> str:
    return f"{endpoint.base_url or _ADDRESS}/v1/messages"


def _vertex_url(endpoint: Endpoint) -> str:
    return f"{endpoint.base_url}/{quote(endpoint.name, safe='@')}:streamRawPredict"


def _mark_cache_points(turns: list[EncodedTurn]) -> None:
    """Anthropic looks back 20 blocks from a mark, and a step may add more: so the mark before stays."""
    for turn in [turn for turn in turns if turn.group == _USER][-_MARKED:]:
        turn.contents[-1] = turn.contents[-1][:-1] + _MARK


def _parameters(request: ModelRequest) -> JsonDict:
    block = {"type": "text", "text": utf8_safe(request.system), "cache_control": _CACHE_CONTROL}
    parameters: dict[str, Any] = {
        "system": [block] if request.system.strip() else None,
        "tools": encode_tools(request, _tool),
        "tool_choice": {"type": _TOOL_CHOICES[request.tool_choice]} if request.tools and request.tool_choice else None,
        "temperature": request.temperature,
        "max_tokens": request.max_output or DEFAULT_OUTPUT_LIMIT,
    }
    form = {name: value for name, value in parameters.items() if value is not None}
    form |= {"model": request.endpoint.name, "stream": True}
    if request.format is not None:
        form["output_config"] = {"format": {"type": "json_schema", "schema": request.format}}
    silent = bool(request.options) and began_without_thought(request.messages, _is_thought)
    return merge_message_options(form, request.options, began_without_thought=silent)


def _tool(tool: ToolOffer) -> JsonDict:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _encode(message: InputMessage) -> Encoded:
    return _ASSISTANT if isinstance(message, AssistantInput) else _USER, b",".join(map(encode_json, _blocks(message)))


def _blocks(message: InputMessage) -> Iterable[JsonDict]:
    match message:
        case UserInput(content=str(text)):
            return [_text(text)] if text.strip() else []
        case UserInput(content=pieces):
            return [_piece(piece) for piece in pieces if not isinstance(piece, str)]
        case ToolResultInput():
            result = {"type": "tool_result", "tool_use_id": sendable_id(message.call, _ID), "content": message.content}
            failed = message.failed and message.content.strip()  # an error may not be empty
            return [{**result, "is_error": True} if failed else result]
        case AssistantInput():
            return _answer(message.parts)
    return []


def _answer(parts: Iterable[AnswerPart]) -> list[JsonDict]:
    """The answer's blocks in order; a thought may not be the last one."""
    blocks = [block for part in parts for block in _part(part)]
    while blocks and blocks[-1]["type"] in _THOUGHTS:
        blocks.pop()
    return blocks


def _part(part: AnswerPart) -> Iterator[JsonDict]:
    match part:
        case ReasoningPart(details=details):
            yield from (block for block in details if _is_thought(block) or is_sent(block))
        case TextPart(text=text):
            yield _text(text)
        case RequestedCall():
            yield {
                "type": "tool_use",
                "id": sendable_id(part.id, _ID),
                "name": part.name,
                "input": parse_arguments(part.arguments),
            }


def _is_thought(block: JsonDict) -> bool:
    return block.get("type") in _THOUGHTS


def _piece(piece: Piece) -> JsonDict:
    match piece:
        case TextPiece(text=text):
            return _text(text)
        case ImagePiece():
            return {"type": "image", "source": _source(piece.content)}
        case FilePiece():
            return {"type": "document", "source": _source(piece.content), "title": piece.name}


def _text(text: str) -> JsonDict:
    return {"type": "text", "text": text}


def _source(content: tuple[str, str]) -> JsonDict:
    kind, data = content
    return {"type": "base64", "media_type": kind, "data": data}
