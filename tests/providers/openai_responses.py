"""OpenAI's Responses API as agents use it, from the types of OpenAI's package.

It refuses, in the service's words, unknown parameters, calls without outputs, outputs without calls, items that are not
its own or were changed, and what a model does not take.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import count
from typing import Any, ClassVar, Final, TypeAlias

from aiohttp import web
from openai.types.responses import (
    EasyInputMessageParam,
    FunctionToolParam,
    ResponseFunctionToolCallParam,
    ResponseReasoningItemParam,
    ResponseStreamEvent,
)
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from openai.types.responses.response_input_param import FunctionCallOutput
from pydantic import TypeAdapter, ValidationError

from tests.providers import schema_refusals
from tests.providers.prompt_cache import Usage
from tests.providers.provider_double import Disconnect, ProviderDouble, RefusedRequest, StreamPause, StreamPlan, event

KEY: Final = "sk-local"
_THINKING: Final = re.compile(r"gpt-[5-9]|o\d|codex")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_EVENT: Final[TypeAdapter[Any]] = TypeAdapter(ResponseStreamEvent)
_ITEMS: Final[Mapping[str, Any]] = {
    "message": EasyInputMessageParam,
    "function_call": ResponseFunctionToolCallParam,
    "function_call_output": FunctionCallOutput,
    "reasoning": ResponseReasoningItemParam,
}


@dataclass(frozen=True)
class Thought:
    summary: Sequence[str] = ()


@dataclass(frozen=True)
class Text:
    text: str
    pieces: int = 3
    phase: str | None = None


@dataclass(frozen=True)
class Refusal:
    text: str


@dataclass(frozen=True)
class Call:
    name: str
    arguments: str


Output: TypeAlias = Thought | Text | Refusal | Call | StreamPause | Disconnect | bytes


class Form(StrEnum):
    """How much of each item the stream says, besides the items themselves in its last event."""

    ALL = "each piece, and the whole behind them"
    WHOLE = "texts and arguments whole, behind their beginnings"  # gpt-5.3-codex-spark: BerriAI/litellm 27144
    ITEMS = "items as they begin and as they end"
    BEGUN = "calls whole as they begin"
    ENDED = "items as they end"
    NONE = "no item"


_DELTA: Final = r"\.delta$"
_LEFT_OUT: Final = {  # kinds of events
    Form.ALL: r"^$",
    Form.WHOLE: _DELTA,
    Form.ITEMS: rf"{_DELTA}|(text|refusal|arguments|part)\.done$",
    Form.BEGUN: r"arguments\.(delta|done)$",
    Form.ENDED: rf"{_DELTA}|(text|refusal|arguments|part)\.done$|\.added$",
    Form.NONE: rf"{_DELTA}|(text|refusal|arguments|part|item)\.done$|\.added$",
}


@dataclass(frozen=True)
class Answer:
    """The model's answer; `incomplete` and `failed` are the service's reasons and codes."""

    output: Sequence[Output]
    incomplete: str | None = None
    failed: tuple[str, str] | None = None
    form: Form = Form.ALL


class OpenAI:
    """The service; it knows its items and their encrypted contents. `members`: further ones of each response."""

    members: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.made: dict[str, str] = {}
        self.followed: dict[str, str] = {}  # each thought's id, and what it led to
        self.numbers = count(1)
        self.usage: Usage = lambda *_: USAGE
        self.double = ProviderDouble(self.check)

    def check(self, request: web.Request, body: dict[str, Any]) -> StreamPlan:
        self.admit(request, body)
        self._parameters(body)
        self._input(body["input"])
        return list(self._play(body, self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]))

    def admit(self, request: web.Request, body: dict[str, Any]) -> None:
        """Refuse a wrong address or key."""
        if request.path != "/v1/responses":
            raise RefusedRequest(404, _error(f"Invalid URL (POST {request.path})"))
        if request.headers.get("authorization") != f"Bearer {KEY}":
            raise RefusedRequest(401, _error("Incorrect API key provided.", code="invalid_api_key"))

    def _parameters(self, body: dict[str, Any]) -> None:
        for name in body:
            if name not in _members(ResponseCreateParamsStreaming):
                raise RefusedRequest(400, _error(f"Unknown parameter: '{name}'.", name, "unknown_parameter"))
        for name in ("model", "input"):
            if not body.get(name):
                raise RefusedRequest(
                    400, _error(f"Missing required parameter: '{name}'.", name, "missing_required_parameter")
                )
        for number, tool in enumerate(body.get("tools", ())):
            _valid(f"tools[{number}]", FunctionToolParam, tool)
            if not _NAME.fullmatch(tool["name"]):
                raise RefusedRequest(400, _error(f"Invalid 'tools[{number}].name'", code="invalid_value"))
            if refused := schema_refusals.openai(tool["parameters"]):
                said = f"Invalid schema for function '{tool['name']}': {refused}"
                raise RefusedRequest(400, _error(said, f"tools[{number}].parameters", "invalid_function_parameters"))
        thinks = bool(_THINKING.match(body["model"]))
        wrong = [name for name in (("temperature", "top_p") if thinks else ("reasoning",)) if name in body]
        if wrong:
            said = f"Unsupported parameter: '{wrong[0]}' is not supported with this model."
            raise RefusedRequest(400, _error(said, wrong[0]))
        if not thinks and body.get("include"):
            raise RefusedRequest(400, _error("Encrypted content is not supported with this model.", "include"))

    def _input(self, items: Any) -> None:
        calls: set[str] = set()
        for number, item in enumerate(items if isinstance(items, list) else ()):
            place = f"input[{number}]"
            kind = item.get("type", "message")
            if kind not in _ITEMS:
                raise RefusedRequest(400, _error(f"Invalid value: '{kind}'.", place, "invalid_value"))
            _valid(place, _ITEMS[kind], item)
            if len(item.get("call_id", "")) > 64:
                said = f"Invalid '{place}.call_id': string too long. Expected a string with maximum length 64."
                raise RefusedRequest(400, _error(said, place, "string_above_max_length"))
            if kind == "function_call":
                calls.add(item["call_id"])
            elif kind == "function_call_output":
                if item["call_id"] not in calls:
                    said = f"No tool call found for function call output with call_id {item['call_id']}."
                    raise RefusedRequest(400, _error(said, "input"))
                calls.discard(item["call_id"])
            elif kind == "reasoning":
                self._reasoning(item, items[number + 1 : number + 2])
        if calls:
            raise RefusedRequest(400, _error(f"No tool output found for function call {calls.pop()}.", "input"))

    def _reasoning(self, item: dict[str, Any], following: list[dict[str, Any]]) -> None:
        id = item["id"]
        if "encrypted_content" not in item or id not in self.made:
            said = f"Item with id '{id}' not found. Items are not persisted when `store` is set to false."
            raise RefusedRequest(404, _error(said, "input"))
        if item["encrypted_content"] != self.made[id]:
            said = "The encrypted content could not be verified."
            raise RefusedRequest(400, _error(said, code="invalid_encrypted_content"))
        if [*map(_identity, following)] != [self.followed.get(id)]:
            said = f"Item '{id}' of type 'reasoning' was provided without its required following item."
            raise RefusedRequest(400, _error(said, "input"))

    def _play(self, body: dict[str, Any], answer: Answer) -> Iterator[bytes | StreamPause | Disconnect]:
        numbers = count()
        output: list[dict[str, Any]] = []

        def said(kind: str, **data: Any) -> bytes:
            whole = {"type": kind, "sequence_number": next(numbers), **data}
            _EVENT.validate_python(whole)
            return event(whole, kind)

        def response(status: str, **more: Any) -> dict[str, Any]:
            return {
                **_RESPONSE,
                **self.members,
                "model": body["model"],
                "status": status,
                "output": list(output),
                **more,
            }

        yield said("response.created", response=response("in_progress"))
        yield said("response.in_progress", response=response("in_progress"))
        for each in answer.output:
            if isinstance(each, StreamPause | Disconnect | bytes):
                yield each
                continue
            index = len(output)
            item, begun, pieces = self._item(each, body)
            begun = item if answer.form is Form.BEGUN and isinstance(each, Call) else begun
            for kind, data in _streamed(answer.form, item, begun, pieces):
                yield said(kind, output_index=index, **data)
            if output and output[-1]["type"] == "reasoning":
                self.followed[output[-1]["id"]] = _identity(item)
            output.append(item)
        if answer.failed:
            code, message = answer.failed
            yield said("response.failed", response=response("failed", error={"code": code, "message": message}))
        elif answer.incomplete:
            details = {"reason": answer.incomplete}
            cut = response("incomplete", incomplete_details=details, usage=self.usage(body, answer.output))
            yield said("response.incomplete", response=cut)
        else:
            usage = self.usage(body, answer.output)
            yield said("response.completed", response=response("completed", usage=usage))

    def _item(
        self, output: Thought | Text | Refusal | Call, body: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any], list[tuple[str, dict[str, Any]]]]:
        """An output item as it begins, and the events in between."""
        number = next(self.numbers)
        match output:
            case Thought(summary):
                id, secret = f"rs_{number}", f"secret-{number}"
                self.made[id] = secret
                shared: dict[str, Any] = {"type": "reasoning", "id": id}
                if "reasoning.encrypted_content" in body.get("include", ()):
                    shared["encrypted_content"] = secret
                parts = [{"type": "summary_text", "text": text} for text in summary]
                pieces = [each for place, text in enumerate(summary) for each in _summary(place, text)]
                return {**shared, "summary": parts}, {**shared, "summary": []}, pieces
            case Text(text, how_many, phase):
                part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
                deltas = [
                    ("response.output_text.delta", {"content_index": 0, "delta": piece, "logprobs": []})
                    for piece in _cut(text, how_many)
                ]
                done = ("response.output_text.done", {"content_index": 0, "text": text, "logprobs": []})
                return _message(number, part, [*deltas, done], phase)
            case Refusal(text):
                part = {"type": "refusal", "refusal": text}
                delta = ("response.refusal.delta", {"content_index": 0, "delta": text})
                return _message(number, part, [delta, ("response.refusal.done", {"content_index": 0, "refusal": text})])
            case Call(name, arguments):
                call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
                done = ("response.function_call_arguments.done", {"arguments": arguments, "name": name})
                pieces = [("response.function_call_arguments.delta", {"delta": each}) for each in _cut(arguments, 2)]
                return (
                    {**call, "arguments": arguments, "status": "completed"},
                    {**call, "arguments": "", "status": "in_progress"},
                    [*pieces, done],
                )


def _streamed(
    form: Form, item: dict[str, Any], begun: dict[str, Any], pieces: list[tuple[str, dict[str, Any]]]
) -> list[tuple[str, dict[str, Any]]]:
    """The events of an item."""
    between = [(kind, {"item_id": item["id"], **data}) for kind, data in pieces]
    added, done = ("response.output_item.added", {"item": begun}), ("response.output_item.done", {"item": item})
    return [event for event in (added, *between, done) if not re.search(_LEFT_OUT[form], event[0])]


def _summary(place: int, text: str) -> list[tuple[str, dict[str, Any]]]:
    part = {"type": "summary_text", "text": ""}
    return [
        ("response.reasoning_summary_part.added", {"summary_index": place, "part": part}),
        *(("response.reasoning_summary_text.delta", {"summary_index": place, "delta": p}) for p in _cut(text, 2)),
        ("response.reasoning_summary_text.done", {"summary_index": place, "text": text}),
    ]


def _message(
    number: int, part: dict[str, Any], pieces: list[tuple[str, dict[str, Any]]], phase: str | None = None
) -> tuple[dict[str, Any], dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    message = {"type": "message", "id": f"msg_{number}", "role": "assistant", **({"phase": phase} if phase else {})}
    added = ("response.content_part.added", {"content_index": 0, "part": {**part, **_EMPTY[part["type"]]}})
    return (
        {**message, "status": "completed", "content": [part]},
        {**message, "status": "in_progress", "content": []},
        [added, *pieces, ("response.content_part.done", {"content_index": 0, "part": part})],
    )


_EMPTY: Final = {"output_text": {"text": ""}, "refusal": {"refusal": ""}}
USAGE: Final = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 0},
    "output_tokens": 30,
    "output_tokens_details": {"reasoning_tokens": 10},
    "total_tokens": 130,
}
_RESPONSE: Final[dict[str, Any]] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": 1.0,
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
}


def _identity(item: dict[str, Any]) -> str:
    kind = item.get("type", "message")
    return str(item["id"] if kind == "reasoning" else item.get("call_id", kind))


def _cut(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _members(form: Any) -> frozenset[str]:
    return frozenset(name for base in form.__mro__ for name in getattr(base, "__annotations__", ())) | frozenset(
        form.__required_keys__ | form.__optional_keys__
    )


@cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    return TypeAdapter(form)


def _valid(place: str, form: Any, value: dict[str, Any]) -> None:
    for name in value:
        if name not in _members(form):
            raise RefusedRequest(400, _error(f"Unknown parameter: '{place}.{name}'.", place, "unknown_parameter"))
    try:
        _adapter(form).validate_python(value)
    except ValidationError as error:
        raise RefusedRequest(400, _error(f"Invalid '{place}': {error}", place, "invalid_type")) from error


def _error(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}
