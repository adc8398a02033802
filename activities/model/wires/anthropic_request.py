"""Requests as Anthropic's Messages."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from activities.model.identity_cache import IdentityCache
from activities.model.output_limit import DEFAULT_OUTPUT_LIMIT
from activities.model.port import (
    AnswerPart,
    AssistantInput,
    Endpoint,
    FilePiece,
    ImagePiece,
    InputMessage,
    ModelRequest,
    Piece,
    SystemInput,
    TextPiece,
    ToolResultInput,
    UserInput,
)
from activities.model.request_json import JsonDict, encode_body, encode_json, parse_arguments, sendable_id, utf8_safe
from activities.model.turn_thoughts import answers_of_turn, without_thoughts
from activities.model.wires.anthropic_options import merge_message_options, refuses_thoughts
from activities.model.wires.http_wire import WireRequest
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart

_ADDRESS: Final = "https://api.anthropic.com"
_VERSION: Final = {"anthropic-version": "2023-06-01"}
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_CACHE_CONTROL: Final = {"type": "ephemeral"}
_MARK: Final = b',"cache_control":%b}' % encode_json(_CACHE_CONTROL)
_MARKED: Final = 2  # messages: the last one, and the one that was last a request ago
_OPENING: Final = {role: b'{"role":"%b","content":[' % role.encode() for role in ("user", "assistant")}
_THOUGHTS: Final = ("thinking", "redacted_thinking")
_TOOL_CHOICES: Final = {"auto": "auto", "none": "none", "required": "any"}

_Encoded: TypeAlias = tuple[str, bytes]  # a message's role and its blocks, in JSON


class MessagesRequestBuilder:
    """Writes requests; encodes only what a conversation has gained since its last request."""

    def __init__(self) -> None:
        self._encoded: IdentityCache[InputMessage, _Encoded] = IdentityCache()

    def prepare(self, request: ModelRequest) -> WireRequest:
        endpoint = request.endpoint
        key = {"x-api-key": endpoint.secret} if endpoint.secret else {}
        parameters, messages = _parameters(request), request.messages
        if refuses_thoughts(parameters):
            messages = without_thoughts(messages, answers_of_turn(messages))
        turns = _merge_turns(self._encoded.get_all(messages, None, _encode))
        _mark_cache_points(turns)
        encoded = [_OPENING[role] + b",".join(blocks) + b"]}" for role, blocks in turns]
        return WireRequest(
            _url(endpoint),
            {**key, **_VERSION, **endpoint.headers},
            encode_body("messages", encoded, parameters),
        )


def _merge_turns(encoded: Iterable[_Encoded]) -> list[tuple[str, list[bytes]]]:
    """Neighbours of one role are one message: the results of all calls belong together."""
    turns: list[tuple[str, list[bytes]]] = []
    newest = ""
    for role, blocks in encoded:
        if not blocks:
            continue
        if role == newest:
            turns[-1][1].append(blocks)
        else:
            turns.append((role, [blocks]))
            newest = role
    return turns


def _url(endpoint: Endpoint) -> str:
    return f"{endpoint.base_url or _ADDRESS}/v1/messages"


def _mark_cache_points(turns: list[tuple[str, list[bytes]]]) -> None:
    """Anthropic looks back 20 blocks from a mark, and a step may add more: so the mark before stays."""
    for blocks in [blocks for role, blocks in turns if role == "user"][-_MARKED:]:
        blocks[-1] = blocks[-1][:-1] + _MARK


def _parameters(request: ModelRequest) -> JsonDict:
    system = "\n".join(message.content for message in request.messages if isinstance(message, SystemInput))
    block = {"type": "text", "text": utf8_safe(system), "cache_control": _CACHE_CONTROL}
    parameters: dict[str, Any] = {
        "system": [block] if system.strip() else None,
        "tools": [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        or None,
        "tool_choice": {"type": _TOOL_CHOICES[request.tool_choice]} if request.tools and request.tool_choice else None,
        "temperature": request.temperature,
        "max_tokens": request.max_output or DEFAULT_OUTPUT_LIMIT,
    }
    form = {name: value for name, value in parameters.items() if value is not None}
    form |= {"model": request.endpoint.name, "stream": True}
    silent = bool(request.options) and _began_without_thought(request.messages)
    return merge_message_options(form, request.options, began_without_thought=silent)


def _began_without_thought(messages: tuple[InputMessage, ...]) -> bool:
    answers = answers_of_turn(messages)
    # the first answer is the likeliest to think
    return bool(answers) and not any(_is_thought(block) for answer in reversed(answers) for block in answer.details)


def _encode(message: InputMessage) -> _Encoded:
    role = "assistant" if isinstance(message, AssistantInput) else "user"
    return role, b",".join(map(encode_json, _blocks(message)))


def _blocks(message: InputMessage) -> Iterable[JsonDict]:
    match message:
        case UserInput(content=str(text)):
            return [_text(text)] if text.strip() else []
        case UserInput(content=pieces):
            return [_piece(piece) for piece in pieces if not isinstance(piece, str)]
        case ToolResultInput():
            return [{"type": "tool_result", "tool_use_id": sendable_id(message.call, _ID), "content": message.content}]
        case AssistantInput():
            return _answer(message.parts)
    return []


def _answer(parts: Iterable[AnswerPart]) -> list[JsonDict]:
    """In order; a thought may not be the last block."""
    blocks = [block for part in parts for block in _part(part)]
    while blocks and blocks[-1]["type"] in _THOUGHTS:
        blocks.pop()
    return blocks


def _part(part: AnswerPart) -> Iterator[JsonDict]:
    match part:
        case ReasoningPart(details=details):
            yield from filter(_is_thought, details)
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
