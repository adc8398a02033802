"""OpenAI's chat completions as agents use them, from the types of OpenAI's package.

It refuses, in the service's words, unknown parameters, calls without results, results without calls, ids that are too
long, and messages of another form.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar, Final, TypeAlias

from aiohttp import web
from openai.types import chat
from openai.types.chat.chat_completion_content_part_param import File
from openai.types.chat.chat_completion_message_function_tool_call_param import Function
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.shared_params import FunctionDefinition
from pydantic import BaseModel

from tests.providers import schema_refusals
from tests.providers.chat_forms import ChatForms, Misfit
from tests.providers.prompt_cache import Usage
from tests.providers.provider_double import Disconnect, ProviderDouble, RefusedRequest, StreamPause, StreamPlan, event

KEY: Final = "sk-local"
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONGEST_ID: Final = 40
_NO_TOOLS: Final = re.compile(r"gpt-(5\.[4-9]|6)")  # models that get tools by Responses only
FORMS: Final = ChatForms(
    body=CompletionCreateParamsStreaming,
    messages={
        "system": chat.ChatCompletionSystemMessageParam,
        "developer": chat.ChatCompletionDeveloperMessageParam,
        "user": chat.ChatCompletionUserMessageParam,
        "assistant": chat.ChatCompletionAssistantMessageParam,
        "tool": chat.ChatCompletionToolMessageParam,
    },
    pieces={
        "text": chat.ChatCompletionContentPartTextParam,
        "image_url": chat.ChatCompletionContentPartImageParam,
        "file": File,
    },
    call=chat.ChatCompletionMessageFunctionToolCallParam,
    call_function=Function,
    tool=chat.ChatCompletionFunctionToolParam,
    tool_function=FunctionDefinition,
)
USAGE: Final = {
    "prompt_tokens": 100,
    "completion_tokens": 30,
    "total_tokens": 130,
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens_details": {"reasoning_tokens": 10},
}


@dataclass(frozen=True)
class Thought:
    """OpenAI shows none here; other services of this protocol do."""

    text: str


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


Output: TypeAlias = Thought | Text | Refusal | Call | StreamPause | Disconnect | bytes


@dataclass(frozen=True)
class Answer:
    output: Sequence[Output]
    finish: str | None = None


class OpenAIChat:
    """The service. Others differ in what follows; `reasoning` is the member that shows thoughts."""

    path: ClassVar[str] = "/v1/chat/completions"
    forms: ChatForms = FORMS
    piece: ClassVar[type[BaseModel]] = chat.ChatCompletionChunk
    reasoning: ClassVar[str | None] = None

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.numbers = count(1)
        self.usage: Usage = lambda *_: USAGE
        self.double = ProviderDouble(self.check)

    def check(self, request: web.Request, body: dict[str, Any]) -> StreamPlan:
        self.admit(request, body)
        self.validate(body)
        return list(self._play(body, self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]))

    def validate(self, body: dict[str, Any]) -> None:
        """Refuse what is no request of the protocol."""
        for name in ("model", "messages"):
            if not body.get(name):
                raise RefusedRequest(400, error_body(f"Missing required parameter: '{name}'.", name))
        for misfit in self.forms.misfits(body):
            raise self.misfit(misfit, body)
        if body.get("tools") and _NO_TOOLS.match(body["model"]) and body.get("reasoning_effort") != "none":
            said = (
                f"Function tools with reasoning_effort are not supported for {body['model']} in /v1/chat/completions."
            )
            raise RefusedRequest(400, error_body(f"{said} Please use /v1/responses instead.", "reasoning_effort"))
        _check_tools(body)
        _check_calls(body["messages"])

    def admit(self, request: web.Request, body: dict[str, Any]) -> None:
        """Refuse a wrong address or key."""
        if request.path != self.path:
            raise RefusedRequest(404, error_body(f"Invalid URL (POST {request.path})"))
        if request.headers.get("authorization") != f"Bearer {KEY}":
            raise RefusedRequest(401, error_body("Incorrect API key provided.", code="invalid_api_key"))

    def misfit(self, misfit: Misfit, body: dict[str, Any]) -> RefusedRequest:
        """The refusal of what does not fit the service's types."""
        if misfit.reason:
            return RefusedRequest(400, error_body(f"Invalid type for '{misfit.path}': {misfit.reason}", misfit.path))
        if len(misfit.place) == 1:
            return RefusedRequest(400, error_body(f"Unrecognized request argument supplied: {misfit.path}"))
        return RefusedRequest(400, error_body(f"Unknown parameter: '{misfit.path}'.", misfit.path))

    def chunk(self, body: dict[str, Any], choices: list[dict[str, Any]], **more: Any) -> bytes:
        """A piece of the stream."""
        whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        self.piece.model_validate({**whole, "choices": choices, **more})
        return event({**whole, "choices": choices, **more})

    def _play(self, body: dict[str, Any], answer: Answer) -> Iterator[bytes | StreamPause | Disconnect]:
        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            return self.chunk(body, [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}])

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
            yield self.chunk(body, [], usage=self.usage(body, answer.output))
        yield b"data: [DONE]\n\n"

    def _deltas(self, output: Thought | Text | Refusal | Call, index: int) -> Iterator[dict[str, Any]]:
        match output:
            case Thought(text) if self.reasoning:
                yield from ({self.reasoning: piece} for piece in _halves(text))
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


def _check_tools(body: dict[str, Any]) -> None:
    for number, tool in enumerate(body.get("tools", ())):
        name = tool["function"]["name"]
        if not _NAME.fullmatch(name):
            raise RefusedRequest(400, error_body(f"Invalid 'tools[{number}].function.name'"))
        if refused := schema_refusals.openai(tool["function"]["parameters"]):
            raise RefusedRequest(400, error_body(f"Invalid schema for function '{name}': {refused}"))
    if "tool_choice" in body and not body.get("tools"):
        raise RefusedRequest(400, error_body("'tool_choice' is only allowed when 'tools' are specified."))


def _check_calls(messages: list[dict[str, Any]]) -> None:
    """Each call has its result at once, and each result its call."""
    open_calls: set[str] = set()
    for number, message in enumerate(messages):
        place, role = f"messages[{number}]", message["role"]
        if role == "tool" and message["tool_call_id"] not in open_calls:
            said = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
            raise RefusedRequest(400, error_body(f"Invalid parameter: {said}", place))
        if role != "tool" and open_calls:
            raise RefusedRequest(400, _unanswered(open_calls))
        if role == "tool":
            open_calls.discard(message["tool_call_id"])
        for call in message.get("tool_calls") or ():
            if len(call["id"]) > _LONGEST_ID:
                raise RefusedRequest(400, error_body(f"Invalid '{place}.tool_calls.id': string too long."))
            open_calls.add(call["id"])
        if role == "assistant" and not (message.get("content") or message.get("tool_calls")):
            raise RefusedRequest(400, error_body("Invalid value for 'content': expected a string, got null.", place))
    if open_calls:
        raise RefusedRequest(400, _unanswered(open_calls))


def _unanswered(calls: set[str]) -> dict[str, Any]:
    said = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    return error_body(f"{said} The following tool_call_ids did not have response messages: {', '.join(sorted(calls))}")


def error_body(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """A refusal of the service."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}
