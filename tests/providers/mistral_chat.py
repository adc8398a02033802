"""Mistral's chat completions as agents use them, from the types of Mistral's package and the rules below.

It refuses, in the service's words, unknown members, ids of another form, roles in another order, and calls without
results.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import count, groupby
from typing import Any, Final

from aiohttp import web
from mistralai.client import models
from pydantic import BaseModel, TypeAdapter, ValidationError

from tests.providers.double_outputs import Answer, Call, Output, Rule, Text, Thought, cut_text
from tests.providers.prompt_cache import Usage
from tests.providers.provider_double import Disconnect, ProviderDouble, RefusedRequest, StreamPause, StreamPlan, event

KEY: Final = "mistral-local"
MODELS: Final = ("mistral-large-latest", "magistral-medium-latest", "devstral-medium-latest")
_REQUEST: Final[TypeAdapter[Any]] = TypeAdapter(models.ChatCompletionStreamRequest)
_CHUNK: Final[TypeAdapter[Any]] = TypeAdapter(models.CompletionChunk)
_MESSAGES: Final[Mapping[str, type[BaseModel]]] = {
    "system": models.SystemMessage,
    "user": models.UserMessage,
    "assistant": models.AssistantMessage,
    "tool": models.ToolMessage,
}
_CHUNKS: Final[Mapping[str, type[BaseModel]]] = {
    "text": models.TextChunk,
    "image_url": models.ImageURLChunk,
    "document_url": models.DocumentURLChunk,
    "reference": models.ReferenceChunk,
    "thinking": models.ThinkChunk,
    "file": models.FileChunk,
}
_FOLLOWS: Final[Mapping[str, frozenset[str]]] = {
    "system": frozenset({"user", "assistant", "system"}),
    "user": frozenset({"assistant", "system", "user"}),
    "assistant": frozenset({"assistant", "user", "tool"}),
    "tool": frozenset({"assistant", "tool"}),
}
_CHOICES: Final = ("auto", "none", "any", "required")
_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")

_TYPES: Final = "the types of mistralai"
_VALIDATOR: Final = "mistral-common, protocol/instruct/validator.py"
RULES: Final[Mapping[str, Rule]] = {
    "key": Rule("Unauthorized", "reports of what the service answers: OmniRoute 7638", believed=True),
    "model": Rule("Invalid model: {}", "reports of what the service answers: every SDK", believed=True),
    "type": Rule("{}", _TYPES),
    "member": Rule("Extra inputs are not permitted", "reports of what the service answers: crush 1590", believed=True),
    "tool choice": Rule("Input should be 'auto', 'none', 'any' or 'required'", _TYPES),
    "empty": Rule("Conversation must have at least one message", _VALIDATOR),
    "first": Rule("Conversation must start with a user message or system message", _VALIDATOR),
    "last": Rule(
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant", _VALIDATOR
    ),
    "order": Rule("Unexpected role '{}' after role '{}'", _VALIDATOR),
    "results": Rule("Not the same number of function calls and responses", _VALIDATOR),
    "unexpected result": Rule("Unexpected tool call id {} in tool results", _VALIDATOR),
    "duplicates": Rule("Duplicate tool call id {} in assistant message", _VALIDATOR),
    "nothing": Rule("Assistant message must have either content or tool_calls, but not none.", _VALIDATOR),
    "no id": Rule("Tool call id has to be defined.", _VALIDATOR),
    "id": Rule("Tool call id was {} but must be a-z, A-Z, 0-9, with a length of 9.", _VALIDATOR),
    "name": Rule(
        "Function name was {} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of "
        "64.",
        _VALIDATOR,
    ),
}
_KINDS: Final = {  # rule → the service's type and code of the error; all others are of the order of messages
    "model": ("invalid_model", "1500"),
    "id": ("invalid_function_call", "3280"),
    "no id": ("invalid_function_call", "3280"),
    "name": ("invalid_function_call", "3280"),
    "nothing": ("invalid_assistant_message", "3240"),
}
USAGE: Final = {
    "prompt_tokens": 100,
    "completion_tokens": 30,
    "total_tokens": 130,
    "prompt_tokens_details": {"cached_tokens": 60},  # believed: Mistral's package has no type for it
}
DONE: Final = b"data: [DONE]\n\n"


def error_body(message: Any, kind: str = "invalid_request_message_order", code: str | None = "3230") -> dict[str, Any]:
    """An error of the service."""
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


class Mistral:
    """The service. It sends the calls of an answer whole, in one piece."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.numbers = count(1)
        self.usage: Usage = lambda *_: USAGE
        self.double = ProviderDouble(self.check)

    def check(self, request: web.Request, body: dict[str, Any]) -> StreamPlan:
        if request.path != "/v1/chat/completions":
            raise RefusedRequest(404, {"detail": "Not Found"})
        if request.headers.get("authorization") != f"Bearer {KEY}":
            raise RefusedRequest(401, {"detail": RULES["key"].words})
        _types(body)
        if body["model"] not in MODELS:
            raise _broken("model", body["model"])
        _structure(body["messages"])
        _results(body["messages"])
        _ids(body["messages"])
        return list(self._play(body, self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]))

    def _play(self, body: dict[str, Any], answer: Answer) -> Iterator[bytes | StreamPause | Disconnect]:
        def piece(delta: dict[str, Any], **more: Any) -> bytes:
            usage = {"usage": more.pop("usage")} if "usage" in more else {}
            choice = {"index": 0, "delta": delta, "finish_reason": None, **more}
            whole = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": body["model"], **usage}
            _CHUNK.validate_python({**whole, "choices": [choice]})
            return event({**whole, "choices": [choice]})

        calls = any(isinstance(each, Call) for each in answer.output)
        end = {
            "finish_reason": answer.stop_reason or ("tool_calls" if calls else "stop"),
            "usage": self.usage(body, answer.output),
        }
        yield piece({"role": "assistant", "content": ""})
        last: dict[str, Any] | None = None
        for kind, group in groupby(answer.output, type):
            for played in self._deltas(kind, list(group)):
                if last is not None:
                    yield piece(last)
                last = played if isinstance(played, dict) else None
                if not isinstance(played, dict):
                    yield played
        if last and not calls:
            yield piece(last)
        yield piece(last if last and calls else {"content": ""}, **end)
        yield DONE

    def _deltas(self, kind: type[Output], group: Sequence[Any]) -> Iterator[Any]:
        if kind is Call:
            yield self._calls(group)
            return
        for each in group:
            match each:
                case Thought(text):
                    for part in cut_text(text):
                        thinking = [{"type": "text", "text": part}]
                        yield {"content": [{"type": "thinking", "thinking": thinking, "closed": False}]}
                case Text(text):
                    first, *others = cut_text(text)
                    yield {"content": [{"type": "text", "text": first}]}  # either form may come
                    yield from ({"content": part} for part in others)
                case _:
                    yield each

    def _calls(self, calls: Sequence[Call]) -> dict[str, Any]:
        made = [
            {"id": self._id(), "function": {"name": call.name, "arguments": call.arguments}, "index": place}
            for place, call in enumerate(calls)
        ]
        return {"content": "", "tool_calls": made}

    def _id(self) -> str:
        return sha256(str(next(self.numbers)).encode()).hexdigest()[:9]


def _broken(rule: str, *details: object) -> RefusedRequest:
    words = RULES[rule].words.format(*details)
    return RefusedRequest(400, error_body(words, *_KINDS.get(rule, ())))


def _invalid(kind: str, place: Sequence[str | int], message: str) -> RefusedRequest:
    detail = [{"type": kind, "loc": ["body", *place], "msg": message, "input": None}]
    return RefusedRequest(422, error_body({"detail": detail}, "invalid_request_error", None))


def _types(body: dict[str, Any]) -> None:
    try:
        _REQUEST.validate_python(body)
    except ValidationError as error:
        first = error.errors()[0]
        raise _invalid(first["type"], first["loc"], first["msg"]) from error
    _members(models.ChatCompletionStreamRequest, body, ())
    choice = body.get("tool_choice", "auto")
    if isinstance(choice, str) and choice not in _CHOICES:
        raise _invalid("enum", ("tool_choice",), RULES["tool choice"].words)
    for number, tool in enumerate(body.get("tools") or ()):
        _members(models.Tool, tool, ("tools", number))
        _members(models.Function, tool["function"], ("tools", number, "function"))
        _name(tool["function"]["name"])
    for number, message in enumerate(body["messages"]):
        _message(message, ("messages", number, message["role"]))


def _message(message: dict[str, Any], place: tuple[str | int, ...]) -> None:
    _members(_MESSAGES[message["role"]], message, place)
    for number, call in enumerate(message.get("tool_calls") or ()):
        _members(models.ToolCall, call, (*place, "tool_calls", number))
        _members(models.FunctionCall, call["function"], (*place, "tool_calls", number, "function"))
    if isinstance(message.get("content"), list):
        for number, chunk in enumerate(message["content"]):
            if chunk.get("type") not in _CHUNKS:
                raise _invalid("union_tag_invalid", (*place, "content", number), "Input tag is unknown")
            _members(_CHUNKS[chunk["type"]], chunk, (*place, "content", number))


def _members(form: type[BaseModel], value: Mapping[str, Any], place: tuple[str | int, ...]) -> None:
    for name in value:
        if name not in form.model_fields:
            raise _invalid("extra_forbidden", (*place, name), RULES["member"].words)


def _structure(messages: list[dict[str, Any]]) -> None:
    if not messages:
        raise _broken("empty")
    if len(messages) == 1 and messages[0]["role"] not in ("user", "system"):
        raise _broken("first")
    for before, message in zip(messages, messages[1:], strict=False):
        if message["role"] not in _FOLLOWS[before["role"]]:
            raise _broken("order", message["role"], before["role"])
    if messages[-1]["role"] == "assistant" and not messages[-1].get("prefix"):
        raise _broken("last")


def _results(messages: list[dict[str, Any]]) -> None:
    waiting: list[str] = []
    for message in [*messages, {"role": "assistant"}]:
        if message["role"] == "assistant":
            if waiting:
                raise _broken("results")
            waiting = [call.get("id", "null") for call in message.get("tool_calls") or ()]
            if len(set(waiting)) < len(waiting):
                raise _broken("duplicates", waiting[0])
        elif message["role"] == "tool" and message.get("tool_call_id"):
            if message["tool_call_id"] not in waiting:
                raise _broken("unexpected result", message["tool_call_id"])
            waiting.remove(message["tool_call_id"])


def _ids(messages: list[dict[str, Any]]) -> None:
    for message in messages:
        if message["role"] == "assistant" and not message.get("content") and not message.get("tool_calls"):
            raise _broken("nothing")
        if message["role"] == "tool":
            _id(message.get("tool_call_id"))
        for call in message.get("tool_calls") or ():
            _name(call["function"]["name"])
            _id(call.get("id"))


def _id(id: str | None) -> None:
    if id in (None, "", "null"):
        raise _broken("no id")
    if not _ID.fullmatch(str(id)):
        raise _broken("id", id)


def _name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise _broken("name", name)
