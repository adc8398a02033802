"""Requests for Bedrock's ConverseStream."""

import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote

from activities.model.bedrock_regions import DEFAULT_REGION, regional_address
from activities.model.chat_format import closing_results
from activities.model.claude_thoughts import began_without_thought, without_thoughts
from activities.model.encoded_messages import Encoded, Group
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
from activities.model.wires.anthropic_options import refuses_thoughts
from activities.model.wires.anthropic_request import OPEN_TURNS
from activities.model.wires.bedrock import REASONING
from activities.model.wires.bedrock_options import OTHERS, Family, converse_parameters, family_of, settle_options
from activities.model.wires.wire_request import WireRequest
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart

_KIND: Final = {"accept": "application/vnd.amazon.eventstream"}
_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SHORT_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")  # Mistral's
_UNNAMED: Final = re.compile(r"[^a-zA-Z0-9_-]")  # what no tool's name holds
_UNTITLED: Final = re.compile(r"[^a-zA-Z0-9()\[\]-]+")  # what no document's name holds, or not twice in a row
_LONGEST: Final = {"tool": 64, "document": 200}  # characters of a name
_MARK: Final = {"cachePoint": {"type": "default"}}
_MARKED: Final = 2  # messages: the last one, and the one that was last a request ago
_USER: Final = Group(b'{"role":"user","content":[')  # the results of all calls belong together
_ASSISTANT: Final = Group(b'{"role":"assistant","content":[')
_NO_OUTPUT: Final = "(no output)"  # a blank text is refused
_TOOL_CHOICES: Final = {"auto": "auto", "required": "any"}  # there is none for none


def prepare(request: ModelRequest) -> WireRequest:
    endpoint, messages = request.endpoint, request.messages
    family, form = family_of(_names(endpoint)), _form(request)
    if family.claude and refuses_thoughts(form):
        messages = without_thoughts(request)
    if family.closes:
        messages = tuple(closing_results(messages))
    known, last = request.encoder.turns(
        messages, (Wire.BEDROCK, family), lambda each: _encode(each, family), OPEN_TURNS
    )
    if family.caches:
        # the service looks back 20 blocks from a mark, and a step may add more: so the mark before stays
        for turn in [turn for turn in last if turn.group == _USER][-_MARKED:]:
            turn.contents.append(encode_json(_MARK))
    return WireRequest(
        _url(endpoint),
        {**_KIND, **endpoint.authorization, **endpoint.headers},
        encode_body("messages", (*known, *(turn.json for turn in last)), _parameters(request, family, form)),
    )


def _url(endpoint: Endpoint) -> str:
    address = endpoint.base_url or regional_address(endpoint.aws.region if endpoint.aws else DEFAULT_REGION)
    return f"{address}/model/{quote(endpoint.name, safe='')}/converse-stream"


def _names(endpoint: Endpoint) -> str:
    """The provider's name of the model and its own: either tells its family."""
    return f"{endpoint.name} {endpoint.behind}"


def _form(request: ModelRequest) -> JsonDict:
    form: JsonDict = {"model": _names(request.endpoint), "max_tokens": request.max_output or DEFAULT_OUTPUT_LIMIT}
    form |= {} if request.temperature is None else {"temperature": request.temperature}
    form |= {"tools": True} if request.tools else {}
    silent = bool(request.options) and began_without_thought(request.messages, lambda block: REASONING in block)
    return settle_options(form, request.options, began_without_thought=silent)


def _parameters(request: ModelRequest, family: Family, form: JsonDict) -> JsonDict:
    parameters = converse_parameters(form, request.options)
    if request.system.strip():
        parameters["system"] = [{"text": utf8_safe(request.system)}, *([_MARK] if family.caches else [])]
    if request.format is not None and "output_config" not in parameters.get(OTHERS, {}):  # which has one of these, too
        schema = {"name": "result", "schema": encode_json(request.format).decode()}
        structure = {"type": "json_schema", "structure": {"jsonSchema": schema}}
        parameters["outputConfig"] = {"textFormat": structure}
    if tools := _tools(request):
        choice = _TOOL_CHOICES.get(request.tool_choice or "")
        parameters["toolConfig"] = {"tools": tools} | ({"toolChoice": {choice: {}}} if choice else {})
    return parameters


def _tools(request: ModelRequest) -> list[JsonDict]:
    """The offered ones; else those that were called, as calls without tools are refused."""
    offered = [(tool.name, tool.description, tool.parameters) for tool in request.tools]
    if not offered:
        called = (call.name for each in request.messages if isinstance(each, AssistantInput) for call in each.calls)
        offered = [(_tool_name(name), "", {"type": "object"}) for name in dict.fromkeys(called)]
    return [
        {"toolSpec": {"name": name, "inputSchema": {"json": schema}} | ({"description": text} if text.strip() else {})}
        for name, text, schema in offered
    ]


def _encode(message: InputMessage, family: Family) -> Encoded:
    blocks = b",".join(map(encode_json, _blocks(message, family)))
    return _ASSISTANT if isinstance(message, AssistantInput) else _USER, blocks


def _blocks(message: InputMessage, family: Family) -> Iterable[JsonDict]:
    match message:
        case UserInput(content=str(text)):
            return [_text(text)] if text.strip() else []
        case UserInput(content=pieces):
            blocks = [_piece(piece) for piece in pieces if not isinstance(piece, str)]
            return blocks if any("text" in block for block in blocks) else [_text("Attached:"), *blocks]
        case ToolResultInput():
            content = message.content if message.content.strip() else _NO_OUTPUT
            status = {"status": "error"} if message.failed and family.statuses else {}
            return [{"toolResult": {"toolUseId": _id(message.call, family), "content": [_text(content)], **status}}]
        case AssistantInput():
            return _answer(message.parts, family)
    return []


def _answer(parts: Iterable[AnswerPart], family: Family) -> list[JsonDict]:
    """The answer's blocks in order; a thought may not be the last one."""
    blocks = [block for part in parts for block in _part(part, family)]
    while blocks and REASONING in blocks[-1]:
        blocks.pop()
    return blocks


def _part(part: AnswerPart, family: Family) -> Iterator[JsonDict]:
    match part:
        case ReasoningPart(details=details) if family.claude:  # other models refuse it
            yield from (block for block in details if REASONING in block)
        case TextPart(text=text):
            yield _text(text)
        case RequestedCall():
            id, arguments = _id(part.id, family), parse_arguments(part.arguments)
            yield {"toolUse": {"toolUseId": id, "name": _tool_name(part.name), "input": arguments}}


def _id(id: str, family: Family) -> str:
    return sendable_id(id, _SHORT_ID)[:9] if family.short_ids else sendable_id(id, _ID)


def _tool_name(name: str) -> str:
    """A model may have invented it."""
    return _UNNAMED.sub("_", name)[: _LONGEST["tool"]] or "_"


def _piece(piece: Piece) -> JsonDict:
    match piece:
        case TextPiece(text=text):
            return _text(text)
        case ImagePiece():
            return {"image": _media(piece.content)}
        case FilePiece():
            name = _UNTITLED.sub(" ", piece.name.rpartition(".")[0] or piece.name)[: _LONGEST["document"]].strip()
            return {"document": {"name": name or "document", **_media(piece.content)}}


def _media(content: tuple[str, str]) -> JsonDict:
    kind, data = content
    return {"format": kind.rpartition("/")[2], "source": {"bytes": data}}


def _text(text: str) -> JsonDict:
    return {"text": text}
