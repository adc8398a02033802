"""Requests for Google's Gemini."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from pydantic import JsonValue

from activities.model.encoded_messages import Encoded, Group
from activities.model.endpoint import Endpoint, Wire
from activities.model.model_families import GEMINI_MINIMAL, GEMINI_SIGNS, GEMINI_THINKS
from activities.model.output_limit import EFFORT_BUDGETS
from activities.model.port import (
    AnswerPart,
    AssistantInput,
    InputMessage,
    ModelRequest,
    Piece,
    TextPiece,
    ToolResultInput,
    UserInput,
)
from activities.model.request_json import (
    EncodedJson,
    JsonDict,
    encode_body,
    encode_json,
    merge_options,
    parse_arguments,
    utf8_safe,
)
from activities.model.vertex import VERTEX
from activities.model.wires.chat_options import OPENAI_ONLY, translatable
from activities.model.wires.gemini import SIGNATURE
from activities.model.wires.wire_request import CalledTools, WireRequest, encode_tools
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.tool_offer import ToolOffer

_ADDRESS: Final = "https://generativelanguage.googleapis.com/v1beta"
_UNSIGNED: Final = "skip_thought_signature_validator"  # Google's word for a call that another model made
_MODEL: Final = Group(b'{"role":"model","parts":[')
_USER: Final = Group(b'{"role":"user","parts":[')
_RESULTS: Final = _USER._replace(results=True)  # stand alone
_TOOL_CHOICES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_CONFIG: Final = "generationConfig"
_TOP: Final = ("safetySettings", "cachedContent", "toolConfig", "labels")
_NAMES: Final = {  # of the chat protocol → here; all others go out as they are
    "top_p": "topP",
    "top_k": "topK",
    "stop": "stopSequences",
    "max_completion_tokens": "maxOutputTokens",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
}
_PATHS: Final = {name: (name,) for name in _TOP} | {name: (_CONFIG, ours) for name, ours in _NAMES.items()}
_OF_THINKING: Final = ("reasoning_effort", "thinking", "thinkingConfig")
_LEVELS: Final = {"none": "minimal", "xhigh": "high", "max": "high"}  # what no model has a level for


class _Form(NamedTuple):
    """The form of calls in messages: whether they are signed, and whether they have ids. On Vertex they have none."""

    signs: bool
    ids: bool


def prepare(request: ModelRequest) -> WireRequest:
    endpoint = request.endpoint
    key = {"x-goog-api-key": endpoint.secret} if endpoint.secret else {}
    signs = signs_calls(endpoint.name)
    form = _Form(signs, ids=signs and endpoint.provider != VERTEX)
    tools = CalledTools(request.messages)
    contents = request.encoder.encode(request.messages, (Wire.GEMINI, form), lambda each: _encode(each, form, tools))
    return WireRequest(
        _url(endpoint), {**key, **endpoint.headers}, encode_body("contents", contents, _parameters(request))
    )


def _encode(message: InputMessage, form: _Form, tools: CalledTools) -> Encoded:
    group, name = _MODEL if isinstance(message, AssistantInput) else _USER, ""
    if isinstance(message, ToolResultInput):
        group, name = _RESULTS, tools.of(message)
    return group, b",".join(map(encode_json, _parts(message, form, name)))


def _url(endpoint: Endpoint) -> str:
    return f"{endpoint.base_url or _ADDRESS}/models/{quote(endpoint.name)}:streamGenerateContent?alt=sse"


def _parameters(request: ModelRequest) -> JsonDict:
    declarations = encode_tools(request, _declaration)
    form: dict[str, Any] = {"generationConfig": {}}
    if request.system.strip():
        form["systemInstruction"] = {"parts": [{"text": utf8_safe(request.system)}]}
    if declarations:
        form["tools"] = EncodedJson(b'[{"functionDeclarations":%b}]' % declarations)
    if declarations and request.tool_choice:
        form["toolConfig"] = {"functionCallingConfig": {"mode": _TOOL_CHOICES[request.tool_choice]}}
    given = {
        "temperature": request.temperature,
        "maxOutputTokens": request.max_output,
        "responseMimeType": None if request.format is None else "application/json",
        "responseJsonSchema": request.format,
    }
    form["generationConfig"] |= {name: value for name, value in given.items() if value is not None}
    return _merge_generation_options(form, request.endpoint.name, request.options)


def _declaration(tool: ToolOffer) -> JsonDict:
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}


def _parts(message: InputMessage, form: _Form, name: str) -> Iterable[JsonDict]:
    match message:
        case UserInput(content=str(text)):
            return [{"text": text}] if text.strip() else []
        case UserInput(content=pieces):
            return [_piece(piece) for piece in pieces if not isinstance(piece, str)]
        case ToolResultInput():
            result = {"name": name, "response": {"error" if message.failed else "output": message.content}}
            return [{"functionResponse": {"id": message.call, **result} if form.ids else result}]
        case AssistantInput():
            return _answer(message.parts, form)
    return []


def _answer(parts: Iterable[AnswerPart], form: _Form) -> Iterator[JsonDict]:
    """A model that signs wants the first call of a message signed."""
    signature: Mapping[str, Any] = {SIGNATURE: _UNSIGNED} if form.signs else {}
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
                yield {"functionCall": {"id": part.id, **call} if form.ids else call, **signature}
                signature = {}


def _piece(piece: Piece) -> JsonDict:
    if isinstance(piece, TextPiece):
        return {"text": piece.text}
    kind, data = piece.content
    return {"inlineData": {"mimeType": kind, "data": data}}


def signs_calls(model: str) -> bool:
    """Whether the model wants the signatures of its calls back, and their ids."""
    return bool(GEMINI_SIGNS.match(model))


def _merge_generation_options(form: JsonDict, model: str, options: Mapping[str, JsonValue]) -> JsonDict:
    if thinking := _thinking(model, options):
        form[_CONFIG]["thinkingConfig"] = thinking
    others = translatable(options, ("user", *OPENAI_ONLY, *_OF_THINKING))
    return merge_options(form, others, _PATHS, default=(_CONFIG,))


def _thinking(model: str, options: Mapping[str, JsonValue]) -> dict[str, Any]:
    shown = {"includeThoughts": True} if GEMINI_THINKS.match(model) else {}
    own, written, effort = (options.get(name) for name in ("thinkingConfig", "thinking", "reasoning_effort"))
    if isinstance(own, dict):
        return {**shown, **own}
    if isinstance(effort, str):
        return {"includeThoughts": effort != "none", **_by_effort(model, effort)}
    if written is None:
        return shown
    if not isinstance(written, dict):
        raise ValueError(f"thinking is {written!r}")
    if written.get("type") == "disabled":
        return {"includeThoughts": False}
    budget = written.get("budget_tokens")
    return {"includeThoughts": True} | ({} if signs_calls(model) or budget is None else {"thinkingBudget": budget})


def _by_effort(model: str, effort: str) -> dict[str, Any]:
    if signs_calls(model):
        level = _LEVELS.get(effort, effort)
        return {"thinkingLevel": "low" if level == "minimal" and not GEMINI_MINIMAL.match(model) else level}
    return {"thinkingBudget": 0 if effort == "none" else EFFORT_BUDGETS[effort]}
