"""Requests for Google's Gemini."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from activities.model.identity_cache import IdentityCache
from activities.model.port import (
    AnswerPart,
    AssistantInput,
    Endpoint,
    InputMessage,
    ModelRequest,
    Piece,
    SystemInput,
    TextPiece,
    ToolResultInput,
    UserInput,
)
from activities.model.request_json import JsonDict, encode_body, encode_json, parse_arguments, utf8_safe
from activities.model.wires.gemini import SIGNATURE
from activities.model.wires.gemini_options import merge_generation_options, signs_calls
from activities.model.wires.http_wire import WireRequest
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart

_ADDRESS: Final = "https://generativelanguage.googleapis.com/v1beta"
_UNSIGNED: Final = "skip_thought_signature_validator"  # Google's word for a call that another model made
_OPENING: Final = {role: b'{"role":"%b","parts":[' % role.encode() for role in ("user", "model")}
_TOOL_CHOICES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


_Encoded: TypeAlias = tuple[str, bool, bytes]  # a message's role, whether it is a result, and its parts in JSON


class GeminiRequestBuilder:
    """Writes requests; encodes only what a conversation has gained since its last request."""

    def __init__(self) -> None:
        self._encoded: IdentityCache[InputMessage, _Encoded] = IdentityCache()

    def prepare(self, request: ModelRequest) -> WireRequest:
        endpoint = request.endpoint
        key = {"x-goog-api-key": endpoint.secret} if endpoint.secret else {}
        signs = signs_calls(endpoint.name)
        tools = _CalledTools(request.messages)
        encoded = self._encoded.get_all(request.messages, signs, lambda each: _encode(each, signs, tools))
        contents = [_OPENING[role] + b",".join(parts) + b"]}" for role, parts in _merge_contents(encoded)]
        return WireRequest(
            _url(endpoint), {**key, **endpoint.headers}, encode_body("contents", contents, _parameters(request))
        )


def _merge_contents(encoded: Iterable[_Encoded]) -> list[tuple[str, list[bytes]]]:
    """Neighbours of one role are one content; results stand alone."""
    contents: list[tuple[str, list[bytes]]] = []
    newest: tuple[str, bool] | None = None
    for role, result, parts in encoded:
        if not parts:
            continue
        if (role, result) == newest:
            contents[-1][1].append(parts)
        else:
            contents.append((role, [parts]))
            newest = role, result
    return contents


class _CalledTools:
    """Names the called tool of each result; reads no more of the conversation than it takes."""

    def __init__(self, messages: Sequence[InputMessage]) -> None:
        self._unread = _called_tools(messages)
        self._found: dict[int, str] = {}  # by the result's identity

    def of(self, result: ToolResultInput) -> str:
        while id(result) not in self._found:
            each, name = next(self._unread)
            self._found[id(each)] = name
        return self._found[id(result)]


def _encode(message: InputMessage, signs: bool, tools: _CalledTools) -> _Encoded:
    role = "model" if isinstance(message, AssistantInput) else "user"
    name = tools.of(message) if isinstance(message, ToolResultInput) else ""
    parts = b",".join(map(encode_json, _parts(message, signs, name)))
    return role, isinstance(message, ToolResultInput), parts


def _called_tools(messages: Sequence[InputMessage]) -> Iterator[tuple[ToolResultInput, str]]:
    """The results, the newest first, and the names of the calls that they are of: Gemini wants them."""
    results: list[ToolResultInput] = []
    for message in reversed(messages):
        if isinstance(message, ToolResultInput):
            results.append(message)
        elif isinstance(message, AssistantInput):
            names = {call.id: call.name for call in message.calls}
            yield from ((result, names.get(result.call, "")) for result in results)
            results.clear()
    yield from ((result, "") for result in results)


def _url(endpoint: Endpoint) -> str:
    return f"{endpoint.base_url or _ADDRESS}/models/{quote(endpoint.name)}:streamGenerateContent?alt=sse"


def _parameters(request: ModelRequest) -> JsonDict:
    system = "\n".join(message.content for message in request.messages if isinstance(message, SystemInput))
    declarations = [
        {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
        for tool in request.tools
    ]
    form: dict[str, Any] = {"generationConfig": {}}
    if system.strip():
        form["systemInstruction"] = {"parts": [{"text": utf8_safe(system)}]}
    if declarations:
        form["tools"] = [{"functionDeclarations": declarations}]
    if declarations and request.tool_choice:
        form["toolConfig"] = {"functionCallingConfig": {"mode": _TOOL_CHOICES[request.tool_choice]}}
    limits = {"temperature": request.temperature, "maxOutputTokens": request.max_output}
    form["generationConfig"] |= {name: value for name, value in limits.items() if value is not None}
    return merge_generation_options(form, request.endpoint.name, request.options)


def _parts(message: InputMessage, signs: bool, name: str) -> Iterable[JsonDict]:
    match message:
        case UserInput(content=str(text)):
            return [{"text": text}] if text.strip() else []
        case UserInput(content=pieces):
            return [_piece(piece) for piece in pieces if not isinstance(piece, str)]
        case ToolResultInput():
            result = {"name": name, "response": {"output": message.content}}
            return [{"functionResponse": {"id": message.call, **result} if signs else result}]
        case AssistantInput():
            return _answer(message.parts, signs)
    return []


def _answer(parts: Iterable[AnswerPart], signs: bool) -> Iterator[JsonDict]:
    """A model that signs wants the first call of a message signed."""
    signature: Mapping[str, Any] = {SIGNATURE: _UNSIGNED} if signs else {}
    for part in parts:
        match part:
            case TextPart(text=text):
                yield {"text": text}
            case ReasoningPart(details=details):
                signed = [block for block in details if SIGNATURE in block]
                yield from (block for block in signed if "text" in block)
                signature = next((block for block in signed if "text" not in block), signature)
            case RequestedCall():
                call = {"name": part.name, "args": parse_arguments(part.arguments)}
                yield {"functionCall": {"id": part.id, **call} if signs else call, **signature}
                signature = {}


def _piece(piece: Piece) -> JsonDict:
    if isinstance(piece, TextPiece):
        return {"text": piece.text}
    kind, data = piece.content
    return {"inlineData": {"mimeType": kind, "data": data}}
