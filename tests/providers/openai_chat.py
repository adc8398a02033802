"""OpenAI's chat completions as agents use them, from the types of OpenAI's package.

It refuses, in the service's words, unknown parameters, calls without results, results without calls, ids that are too
long, and messages of another form.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TypeAlias

from aiohttp import web
from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionChunk,
    ChatCompletionFunctionToolParam,
    ChatCompletionSystemMessageParam,
    ChatCompletionToolMessageParam,
    ChatCompletionUserMessageParam,
)
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError

from tests.providers.provider_double import Disconnect, ProviderDouble, RefusedRequest, StreamPause, StreamPlan, event

KEY: Final = "sk-local"
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONGEST_ID: Final = 40
_MESSAGES: Final[Mapping[str, Any]] = {
    "system": ChatCompletionSystemMessageParam,
    "user": ChatCompletionUserMessageParam,
    "assistant": ChatCompletionAssistantMessageParam,
    "tool": ChatCompletionToolMessageParam,
}
USAGE: Final = {
    "prompt_tokens": 100,
    "completion_tokens": 30,
    "total_tokens": 130,
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens_details": {"reasoning_tokens": 10},
}


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Refusal:
    text: str


@dataclass(frozen=True)
class Call:
    name: str
    arguments: str


Output: TypeAlias = Text | Refusal | Call | StreamPause | Disconnect | bytes


@dataclass(frozen=True)
class Answer:
    output: Sequence[Output]
    finish: str | None = None


class OpenAIChat:
    """The service."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.numbers = count(1)
        self.double = ProviderDouble(self.check)

    def check(self, request: web.Request, body: dict[str, Any]) -> StreamPlan:
        if request.path != "/v1/chat/completions":
            raise RefusedRequest(404, _error(f"Invalid URL (POST {request.path})"))
        if request.headers.get("authorization") != f"Bearer {KEY}":
            raise RefusedRequest(401, _error("Incorrect API key provided.", code="invalid_api_key"))
        for name in body:
            if name not in _members(CompletionCreateParamsStreaming):
                raise RefusedRequest(400, _error(f"Unrecognized request argument supplied: {name}"))
        for name in ("model", "messages"):
            if not body.get(name):
                raise RefusedRequest(400, _error(f"Missing required parameter: '{name}'.", name))
        for number, tool in enumerate(body.get("tools", ())):
            _valid(f"tools[{number}]", ChatCompletionFunctionToolParam, tool)
            if not _NAME.fullmatch(tool["function"]["name"]):
                raise RefusedRequest(400, _error(f"Invalid 'tools[{number}].function.name'"))
        if "tool_choice" in body and not body.get("tools"):
            raise RefusedRequest(400, _error("'tool_choice' is only allowed when 'tools' are specified."))
        self._messages(body["messages"])
        return list(self._play(body, self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]))

    def _messages(self, messages: list[dict[str, Any]]) -> None:
        open_calls: set[str] = set()
        for number, message in enumerate(messages):
            place, role = f"messages[{number}]", str(message.get("role"))
            if role not in _MESSAGES:
                raise RefusedRequest(400, _error(f"Invalid value: '{role}'.", f"{place}.role"))
            _valid(place, _MESSAGES[role], message)
            if role == "tool" and message["tool_call_id"] not in open_calls:
                said = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                raise RefusedRequest(400, _error(f"Invalid parameter: {said}", place))
            if role != "tool" and open_calls:
                raise RefusedRequest(400, _unanswered(open_calls))
            if role == "tool":
                open_calls.discard(message["tool_call_id"])
            for call in message.get("tool_calls") or ():
                if len(call["id"]) > _LONGEST_ID:
                    raise RefusedRequest(400, _error(f"Invalid '{place}.tool_calls.id': string too long."))
                open_calls.add(call["id"])
            if role == "assistant" and not (message.get("content") or message.get("tool_calls")):
                raise RefusedRequest(400, _error("Invalid value for 'content': expected a string, got null.", place))
        if open_calls:
            raise RefusedRequest(400, _unanswered(open_calls))

    def _play(self, body: dict[str, Any], answer: Answer) -> Iterator[bytes | StreamPause | Disconnect]:
        def chunk(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
            choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
            whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
            ChatCompletionChunk.model_validate({**whole, "choices": choices, **more})
            return event({**whole, "choices": choices, **more})

        yield chunk({"role": "assistant", "content": None, "refusal": None})
        calls = 0
        for each in answer.output:
            if isinstance(each, StreamPause | Disconnect | bytes):
                yield each
                continue
            for delta in self._deltas(each, calls):
                yield chunk(delta)
            calls += isinstance(each, Call)
        yield chunk({}, answer.finish or ("tool_calls" if calls else "stop"))
        if (body.get("stream_options") or {}).get("include_usage"):
            yield chunk(None, usage=USAGE)
        yield b"data: [DONE]\n\n"

    def _deltas(self, output: Text | Refusal | Call, index: int) -> Iterator[dict[str, Any]]:
        match output:
            case Text(text):
                yield from ({"content": piece} for piece in _halves(text))
            case Refusal(text):
                yield from ({"refusal": piece} for piece in _halves(text))
            case Call(name, arguments):
                begun = {"index": index, "id": f"call_{next(self.numbers)}", "type": "function"}
                yield {"tool_calls": [{**begun, "function": {"name": name, "arguments": ""}}]}
                for piece in _halves(arguments):
                    yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _halves(text: str) -> list[str]:
    return [piece for piece in (text[: len(text) // 2], text[len(text) // 2 :]) if piece]


def _unanswered(calls: set[str]) -> dict[str, Any]:
    said = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    return _error(f"{said} The following tool_call_ids did not have response messages: {', '.join(sorted(calls))}")


def _members(form: Any) -> frozenset[str]:
    return frozenset(form.__required_keys__ | form.__optional_keys__)


def _valid(place: str, form: Any, value: dict[str, Any]) -> None:
    for name in value:
        if name not in _members(form):
            raise RefusedRequest(400, _error(f"Unknown parameter: '{place}.{name}'.", place))
    try:
        TypeAdapter(form).validate_python(value)
    except ValidationError as error:
        raise RefusedRequest(400, _error(f"Invalid type for '{place}': {error}", place)) from error


def _error(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}
