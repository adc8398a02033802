"""Requests for Google's Gemini."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
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
_ROLES: Final = {"user": "user", "assistant": "model", "tool": "user"}
_TOOL_CHOICES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


@dataclass(frozen=True)
class _Content:
    """A message as sent: its parts, encoded. Results stand alone."""

    role: str
    results: bool
    parts: list[bytes] = field(default_factory=list)

    def encode(self) -> bytes:
        return b'{"role":"%b","parts":[%b]}' % (self.role.encode(), b",".join(self.parts))


class GeminiRequestBuilder:
    """Writes requests; encodes only what a conversation has gained since its last request."""

    def __init__(self) -> None:
        self._encoded: IdentityCache[InputMessage, tuple[bytes, ...]] = IdentityCache()

    def prepare(self, request: ModelRequest) -> WireRequest:
        endpoint = request.endpoint
        key = {"x-goog-api-key": endpoint.secret} if endpoint.secret else {}
        contents = [content.encode() for content in self._contents(request) if content.parts]
        return WireRequest(
            _url(endpoint), {**key, **endpoint.headers}, encode_body("contents", contents, _parameters(request))
        )

    def _contents(self, request: ModelRequest) -> list[_Content]:
        signs, names = signs_calls(request.endpoint.name), dict[str, str]()
        contents: list[_Content] = []
        for message in request.messages:
            if message.role == "system":
                continue
            if message.role == "assistant":
                names = {call.id: call.name for call in message.calls}
            kind = _ROLES[message.role], message.role == "tool"
            if not contents or (contents[-1].role, contents[-1].results) != kind:
                contents.append(_Content(*kind))
            name = names.get(message.call, "") if message.role == "tool" else ""
            contents[-1].parts.extend(self._encode(message, signs, name))
        return contents

    def _encode(self, message: InputMessage, signs: bool, name: str) -> tuple[bytes, ...]:
        def encode(message: InputMessage) -> tuple[bytes, ...]:
            return tuple(map(encode_json, _parts(message, signs, name)))

        return self._encoded.get(message, (signs, name), encode)


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
