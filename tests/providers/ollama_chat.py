"""Ollama's chat API as agents use it, from the types of Ollama's package and the rules below.

It refuses, in the server's words, members of another type, roles that it does not know, models that are not there or
cannot do what is asked, and prompts longer than the window if these may not be cut. It answers in lines of JSON.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

from aiohttp import web
from ollama import ChatResponse
from ollama._types import ChatRequest, Options
from pydantic import TypeAdapter

from tests.providers.double_outputs import Answer, Call, Rule, Text, Thought, cut_text
from tests.providers.provider_double import Disconnect, ProviderDouble, RefusedRequest, StreamPause, StreamPlan

KIND: Final = "application/x-ndjson"
CAPABILITIES: Final[Mapping[str, tuple[str, ...]]] = {
    "gpt-oss": ("completion", "tools", "thinking"),
    "qwen3": ("completion", "tools", "thinking"),
    "qwen3-vl": ("completion", "tools", "thinking", "vision"),
    "llava": ("completion", "tools", "vision"),
    "gemma": ("completion",),
}
_CHAT: Final[TypeAdapter[Any]] = TypeAdapter(ChatResponse)
_GO: Final = "json: cannot unmarshal {} into Go struct field ChatRequest.{} of type {}"
_MEMBERS: Final[Mapping[str, tuple[type, str]]] = {
    "model": (str, "string"),
    "messages": (list, "[]api.Message"),
    "stream": (bool, "bool"),
    "tools": (list, "api.Tools"),
    "options": (dict, "map[string]interface {}"),
    "truncate": (bool, "bool"),
    "shift": (bool, "bool"),
}
_SERVERS_OWN: Final = {"truncate", "shift", "min_p"}  # in api/types.go of the server (v0.12.10), not in its package
_OPTION_TYPES: Final[Mapping[str, tuple[type | tuple[type, ...], str]]] = {
    **dict.fromkeys(("num_ctx", "num_predict", "num_keep", "seed", "top_k"), ((int, float), "integer")),
    **dict.fromkeys(("temperature", "top_p", "min_p", "presence_penalty"), ((int, float), "float32")),
    "stop": (list, "array"),
}
_LEVELS: Final = (True, False, "high", "medium", "low", "max")
WINDOW: Final = 4096  # tokens, of a server with little memory
_PER_TOKEN: Final = 4  # characters; the double's own guess
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
    "think": Rule('think must be a boolean or string ("high", "medium", "low", "max", true, or false)', _CODEC),
    "option": Rule('option "{}" must be of type {}', _CODEC),
    "window": Rule("the input length exceeds the context length", "Ollama's server, runner/ollamarunner/runner.go"),
    "name": Rule("model is required", _SERVER),
    "model": Rule("model '{}' not found", _SERVER),
    "tools": Rule("registry.ollama.ai/library/{} does not support tools", _SERVER),
    "thinking": Rule('"{}" does not support thinking', _SERVER),
    "vision": Rule(
        "this model is missing data required for image input", "reports of what the server answers", believed=True
    ),
}
_STATUSES: Final = {"model": 404, "option": 500}


def line(**data: Any) -> bytes:
    """A line of an answer."""
    return (json.dumps(data, ensure_ascii=False) + "\n").encode()


def error_line(message: str) -> bytes:
    """A failure in the middle of an answer, which it ends."""
    return line(error=message)


class Ollama:
    """The server. `ids`: newer versions name calls. `ignored`: what it was sent and does not read. `cut`: how many
    prompts it has cut."""

    def __init__(self, *answers: Answer, ids: bool = False) -> None:
        self.answers = list(answers)
        self.ids = ids
        self.ignored: set[str] = set()
        self.cut = 0
        self.numbers = count(1)
        self.double = ProviderDouble(self.check, kind=KIND)

    def check(self, request: web.Request, body: dict[str, Any]) -> StreamPlan:
        if request.path != "/api/chat":
            raise RefusedRequest(404, {"error": "404 page not found"})
        _types(body)
        self.ignored |= body.keys() - ChatRequest.model_fields.keys() - _SERVERS_OWN
        self.ignored |= (body.get("options") or {}).keys() - Options.model_fields.keys() - _SERVERS_OWN
        model = body.get("model") or ""
        able = _capabilities(model)
        if body.get("tools") and "tools" not in able:
            raise _broken("tools", model)
        if body.get("think") and "thinking" not in able:
            raise _broken("thinking", model)
        if any(message.get("images") for message in body["messages"]) and "vision" not in able:
            raise _broken("vision")
        self._fit(body)
        return list(self._play(model, self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]))

    def _fit(self, body: dict[str, Any]) -> None:
        """Pictures count apart."""
        texts = [{**message, "images": None} for message in body["messages"]]
        window = (body.get("options") or {}).get("num_ctx") or WINDOW
        if len(json.dumps([texts, body.get("tools")])) > window * _PER_TOKEN:
            if body.get("truncate") is False:
                raise _broken("window")
            self.cut += 1

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


def _types(body: dict[str, Any]) -> None:
    _members(body, _MEMBERS, "")
    if body.get("think") is not None and body["think"] not in _LEVELS:
        raise _broken("think")
    for name, value in (body.get("options") or {}).items():
        kinds, named = _OPTION_TYPES.get(name, (object, ""))
        if not isinstance(value, kinds):
            raise _broken("option", name, named)
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
