"""Ollama's chat API as agents use it, from the types of Ollama's package and the rules below.

It refuses, in the server's words, members of another type, roles that it does not know, and models that are not there
or cannot do what is asked. It answers in lines of JSON.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

from aiohttp import web
from ollama import ChatResponse, ShowResponse
from ollama._types import ChatRequest, Options
from pydantic import TypeAdapter

from tests.providers.double_outputs import Answer, Call, Rule, Text, Thought, cut_text
from tests.providers.provider_double import Disconnect, ProviderDouble, RefusedRequest, StreamPause, StreamPlan

KIND: Final = "application/x-ndjson"
CAPABILITIES: Final[Mapping[str, tuple[str, ...]]] = {
    "qwen3": ("completion", "tools", "thinking"),
    "llava": ("completion", "tools", "vision"),
    "gemma": ("completion",),
}
_CHAT: Final[TypeAdapter[Any]] = TypeAdapter(ChatResponse)
_SHOW: Final[TypeAdapter[Any]] = TypeAdapter(ShowResponse)
_GO: Final = "json: cannot unmarshal {} into Go struct field ChatRequest.{} of type {}"
_MEMBERS: Final[Mapping[str, tuple[type, str]]] = {
    "model": (str, "string"),
    "messages": (list, "[]api.Message"),
    "stream": (bool, "bool"),
    "tools": (list, "api.Tools"),
    "options": (dict, "map[string]interface {}"),
}
_OF_MESSAGE: Final[Mapping[str, tuple[type, str]]] = {
    "role": (str, "string"),
    "content": (str, "string"),
    "thinking": (str, "string"),
    "images": (list, "[]api.ImageData"),
    "tool_calls": (list, "[]api.ToolCall"),
    "tool_name": (str, "string"),
    "tool_call_id": (str, "string"),
}
_ROLES: Final = ("system", "user", "assistant", "tool")
_GO_TYPES: Final = {str: "string", list: "array", dict: "object", bool: "bool", int: "number", float: "number"}

_SERVER: Final = "Ollama's server, server/routes.go"
_CODEC: Final = "Ollama's server, api/types.go"
RULES: Final[Mapping[str, Rule]] = {
    "type": Rule(_GO, _CODEC),
    "arguments": Rule(
        _GO.format("{}", "messages.tool_calls.function.arguments", "api.ToolCallFunctionArguments"), _CODEC
    ),
    "role": Rule("invalid role: {}, must be one of [system, user, assistant, tool]", _CODEC),
    "image": Rule("illegal base64 data at input byte 0", _CODEC),
    "name": Rule("model is required", _SERVER),
    "model": Rule("model '{}' not found", _SERVER),
    "tools": Rule("registry.ollama.ai/library/{} does not support tools", _SERVER),
    "thinking": Rule('"{}" does not support thinking', _SERVER),
    "vision": Rule(
        "this model is missing data required for image input", "reports of what the server answers", believed=True
    ),
}
_STATUSES: Final = {"model": 404}


def line(**data: Any) -> bytes:
    """A line of an answer."""
    return (json.dumps(data, ensure_ascii=False) + "\n").encode()


def error_line(message: str) -> bytes:
    """A failure in the middle of an answer, which it ends."""
    return line(error=message)


class Ollama:
    """The server. `ids`: newer versions name calls. `ignored`: what it was sent and does not read."""

    def __init__(self, *answers: Answer, ids: bool = False) -> None:
        self.answers = list(answers)
        self.ids = ids
        self.ignored: set[str] = set()
        self.numbers = count(1)
        self.double = ProviderDouble(self.check, kind=KIND)

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The requests for answers."""
        requests = zip(self.double.paths, self.double.asked, strict=True)
        return [body for path, body in requests if path == "/api/chat"]

    def check(self, request: web.Request, body: dict[str, Any]) -> StreamPlan:
        if request.path == "/api/show":
            return [_show(body.get("model") or body.get("name") or "")]
        if request.path != "/api/chat":
            raise RefusedRequest(404, {"error": "404 page not found"})
        _types(body)
        self.ignored |= body.keys() - ChatRequest.model_fields.keys()
        self.ignored |= (body.get("options") or {}).keys() - Options.model_fields.keys()
        model = body.get("model") or ""
        able = _capabilities(model)
        if body.get("tools") and "tools" not in able:
            raise _broken("tools", model)
        if body.get("think") and "thinking" not in able:
            raise _broken("thinking", model)
        if any(message.get("images") for message in body["messages"]) and "vision" not in able:
            raise _broken("vision")
        return list(self._play(model, self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]))

    def _play(self, model: str, answer: Answer) -> Iterator[bytes | StreamPause | Disconnect]:
        def said(done: bool = False, end: Mapping[str, Any] | None = None, **message: Any) -> bytes:
            whole = {"model": model, "created_at": "2026-01-01T00:00:00.000001Z", "done": done, **(end or {})}
            whole["message"] = {"role": "assistant", "content": "", **message}
            _CHAT.validate_python(whole)
            return line(**whole)

        for each in answer.output:
            match each:
                case Thought(text):
                    yield from (said(thinking=piece) for piece in cut_text(text))
                case Text(text):
                    yield from (said(content=piece) for piece in cut_text(text))
                case Call(name, arguments):
                    yield said(tool_calls=[self._call(name, json.loads(arguments))])
                case _:
                    yield each
        yield said(done=True, end={"done_reason": answer.stop_reason or "stop", **USAGE})

    def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        number = next(self.numbers)
        call: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
        if self.ids:
            call = {"id": f"call_{number:08}", "function": {"index": number - 1, **call["function"]}}
        return call


USAGE: Final = {
    "total_duration": 7,
    "load_duration": 1,
    "prompt_eval_count": 100,
    "prompt_eval_duration": 2,
    "eval_count": 30,
    "eval_duration": 4,
}


def _broken(rule: str, *details: object) -> RefusedRequest:
    return RefusedRequest(_STATUSES.get(rule, 400), {"error": RULES[rule].words.format(*details)})


def _capabilities(model: str) -> tuple[str, ...]:
    if not model:
        raise _broken("name")
    if model not in CAPABILITIES:
        raise _broken("model", model)
    return CAPABILITIES[model]


def _show(model: str) -> bytes:
    answer = {
        "capabilities": list(_capabilities(model)),
        "details": {"format": "gguf", "family": "qwen3", "parameter_size": "8.2B", "quantization_level": "Q4_K_M"},
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960},
        "template": "{{ if .Tools }}{{ .Tools }}{{ end }}{{ .Prompt }}",
    }
    _SHOW.validate_python(answer)
    return line(**answer)


def _types(body: dict[str, Any]) -> None:
    _members(body, _MEMBERS, "")
    for message in body.get("messages") or ():
        _members(message, _OF_MESSAGE, "messages.")
        if message["role"] not in _ROLES:
            raise _broken("role", message["role"])
        for call in message.get("tool_calls") or ():
            arguments = call["function"].get("arguments", {})
            if not isinstance(arguments, dict):
                raise _broken("arguments", _GO_TYPES[type(arguments)])
        for image in message.get("images") or ():
            _image(image)


def _members(value: dict[str, Any], members: Mapping[str, tuple[type, str]], place: str) -> None:
    for name, (kind, named) in members.items():
        if value.get(name) is not None and not isinstance(value[name], kind):
            raise _broken("type", _GO_TYPES[type(value[name])], f"{place}{name}", named)


def _image(image: str) -> None:
    try:
        base64.b64decode(image, validate=True)
    except binascii.Error as error:
        raise _broken("image") from error
