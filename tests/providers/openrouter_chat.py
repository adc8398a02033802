"""OpenRouter's chat completions as agents use them, from the types of OpenRouter's package.

It streams as recorded (charmbracelet/fantasy, providertests/testdata/TestOpenRouterCommon and TestOpenRouterThinking).
Parameters that it does not know are ignored, as it documents. What a model's company refuses, it passes on.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

from aiohttp import web
from openrouter.components import ChatRequest, ChatStreamChunk
from pydantic import ValidationError

from tests.providers.double_outputs import Answer, Call, Rule, Text, Thought, cut_text
from tests.providers.prompt_cache import Usage
from tests.providers.provider_double import Disconnect, ProviderDouble, RefusedRequest, StreamPause, StreamPlan, event

KEY: Final = "sk-or-local"
NEWEST_CLAUDE: Final = "anthropic/claude-opus-5.5"
MODELS: Final = ("anthropic/claude-sonnet-4.5", "openai/gpt-5.4", "google/gemini-3.1-pro-preview", "z-ai/glm-5")
PROCESSING: Final = b": OPENROUTER PROCESSING\n\n"
DONE: Final = b"data: [DONE]\n\n"
_ERRORS: Final = "openrouter.ai/docs/api/reference/errors-and-debugging"
_TYPES: Final = "the types of openrouter"
RULES: Final[Mapping[str, Rule]] = {
    "address": Rule("Not Found", _ERRORS),
    "key": Rule("No auth credentials found", _ERRORS),
    "model": Rule("{} is not a valid model ID", "reports of what the service answers: cline 1430", believed=True),
    "type": Rule("{}", _TYPES),
    "cache control": Rule("Invalid cache_control", f"{_TYPES}; its words are not published", believed=True),
    "marks": Rule("A maximum of 4 blocks with cache_control may be provided. Found {}.", "Anthropic's prompt caching"),
    "unanswered": Rule("`tool_use` ids were found without `tool_result` blocks immediately after: {}", "Anthropic"),
    "no call": Rule("unexpected `tool_use_id` found in `tool_result` blocks: {}", "Anthropic"),
    "missing": Rule(
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`", "Anthropic's extended thinking"
    ),
    "changed": Rule(
        "`thinking` blocks in the latest assistant message cannot be modified",
        "openrouter.ai/docs/guides/best-practices/reasoning-tokens: the sequence must match what the model sent",
    ),
    "signature": Rule("Invalid `signature` in `thinking` block", "OpenRouterTeam/ai-sdk-provider 423"),
    "fragments": Rule("Invalid `reasoning_details`", "reported by langchain-ai/langchain 36400", believed=True),
    "thought signature": Rule("Function call is missing a thought_signature", "ai.google.dev, thought signatures"),
}
_FORMATS: Final = {"anthropic": "anthropic-claude-v1", "openai": "openai-responses-v1", "google": "google-gemini-v1"}
_COMPANIES: Final = {"anthropic": "Anthropic", "openai": "OpenAI", "google": "Google AI Studio"}
_NATIVE: Final = {"anthropic": ("end_turn", "tool_use"), "openai": ("completed",) * 2, "google": ("STOP",) * 2}
USAGE: Final = {
    "prompt_tokens": 100,
    "completion_tokens": 30,
    "total_tokens": 130,
    "cost": 0.001174,
    "is_byok": False,
    "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 0, "audio_tokens": 0},
    "cost_details": {
        "upstream_inference_cost": 0.001174,
        "upstream_inference_prompt_cost": 0.000764,
        "upstream_inference_completions_cost": 0.00041,
    },
    "completion_tokens_details": {"reasoning_tokens": 10},
}


def error_body(message: str, code: int, **metadata: Any) -> dict[str, Any]:
    """An error of OpenRouter; `metadata` is what it adds."""
    return {"error": {"message": message, "code": code, **({"metadata": metadata} if metadata else {})}}


def passed_on(company: str, raw: Any, code: int = 400) -> dict[str, Any]:
    """What the company that serves a model answered."""
    return error_body("Provider returned error", code, raw=json.dumps(raw), provider_name=company)


def error_chunk(code: int, message: str) -> bytes:
    """An error in the middle of an answer."""
    whole = {"id": "gen-1", "object": "chat.completion.chunk", "created": 1, "model": MODELS[0]}
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error", "native_finish_reason": "error"}
    failed = {**whole, "provider": "Anthropic", "error": {"code": code, "message": message}, "choices": [choice]}
    ChatStreamChunk.model_validate(failed)
    return event(failed)


def merged(details: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Pieces of one kind and index, one behind the other, as one."""
    whole: list[dict[str, Any]] = []
    for piece in details:
        if whole and all(whole[-1].get(name) == piece.get(name) for name in ("type", "index")):
            texts = {name: whole[-1].get(name, "") + piece[name] for name in ("text", "summary") if name in piece}
            whole[-1] |= {**piece, **texts}
        else:
            whole.append(dict(piece))
    return whole


class OpenRouter:
    """The service; it knows the reasoning that it sent, by the calls or the text behind it."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.sent: dict[str, list[dict[str, Any]]] = {}
        self.numbers = count(1)
        self.usage: Usage = lambda *_: USAGE
        self.double = ProviderDouble(self.check)

    def check(self, request: web.Request, body: dict[str, Any]) -> StreamPlan:
        if request.path != "/api/v1/chat/completions":
            raise _refused("address", 404)
        if request.headers.get("authorization") != f"Bearer {KEY}":
            raise _refused("key", 401)
        if body.get("model") not in (*MODELS, NEWEST_CLAUDE):
            raise _refused("model", 400, str(body.get("model")))
        _check_types(body)
        author = body["model"].partition("/")[0]
        _check_marks(body["messages"], author)
        _check_calls(body["messages"], author)
        self._check_reasoning(body, author)
        return list(self._play(body, author, self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]))

    def _check_reasoning(self, body: dict[str, Any], author: str) -> None:
        """Reasoning comes back as it was sent, to the model that made it; within the turn, it must."""
        messages = body["messages"]
        turn = max(number for number, message in enumerate(messages) if message["role"] in ("user", "system"))
        for number, message in enumerate(messages):
            if message["role"] != "assistant":
                continue
            given = message.get("reasoning_details") or []
            sent = self.sent.get(_key(message), [])
            if any("text" in piece for piece in given) and len(merged(given)) < len(given):
                raise _refused("fragments", 400)
            if not given and body["model"] == NEWEST_CLAUDE:
                continue  # which may begin a turn without a thought
            if given and _returned(given, author) != _returned(sent, author):
                raise _refusal_of(author, "changed" if sent else "signature")
            if author == "anthropic" and message.get("reasoning") and not given:
                raise _refusal_of(author, "signature")
            if not given and sent and number > turn and message.get("tool_calls"):
                if author == "google":
                    raise _refusal_of(author, "thought signature")
                if author == "anthropic" and body.get("reasoning"):
                    raise _refusal_of(author, "missing")

    def _play(self, body: dict[str, Any], author: str, answer: Answer) -> Iterator[bytes | StreamPause | Disconnect]:
        ids = [f"call_{next(self.numbers)}" for each in answer.output if isinstance(each, Call)]
        finish = answer.stop_reason or ("tool_calls" if ids else "stop")
        native = finish if answer.stop_reason else _NATIVE.get(author, ("stop", "tool_calls"))[bool(ids)]
        details: list[dict[str, Any]] = []

        def chunk(delta: dict[str, Any], **more: Any) -> bytes:
            shown = {"role": "assistant", "content": "", **delta}
            ended = {"finish_reason": more.pop("finish", None), "native_finish_reason": more.pop("native", None)}
            whole = {"id": "gen-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
            choices = [{"index": 0, "delta": shown, **ended}]
            played = {**whole, "provider": _COMPANIES.get(author, "Z.AI"), "choices": choices, **more}
            ChatStreamChunk.model_validate(played)
            return event(played)

        yield from (PROCESSING, PROCESSING)
        begun, thoughts = 0, count()
        for each in answer.output:
            match each:
                case Thought():
                    pieces = self._details(each, author, next(thoughts), ids[begun : begun + 1])
                    details.extend(pieces)
                    yield from (chunk({"reasoning": _shown(piece), "reasoning_details": [piece]}) for piece in pieces)
                case Text(words):
                    yield from (chunk({"content": part}) for part in cut_text(words))
                case Call():
                    yield from (chunk({"content": None, "tool_calls": [piece]}) for piece in _pieces(each, begun, ids))
                    begun += 1
                case _:
                    yield each
        text = "".join(each.text for each in answer.output if isinstance(each, Text))
        self.sent[ids[0] if ids else text] = merged(details)
        yield chunk({}, finish=finish, native=native)
        yield chunk({}, finish=finish, native=native, usage=self.usage(body, answer.output))
        yield DONE

    def _details(self, thought: Thought, author: str, index: int, calls: Sequence[str]) -> list[dict[str, Any]]:
        """A thought's pieces, in the form of the model's company; `calls`: those behind it."""
        shared = {"format": _FORMATS.get(author, "unknown"), "index": index}
        secret = f"secret-{next(self.numbers)}"
        texts: list[dict[str, Any]] = [{"type": "reasoning.text", "text": part} for part in cut_text(thought.text)]
        encrypted: dict[str, Any] = {"type": "reasoning.encrypted", "data": secret}
        match author:
            case "anthropic":
                pieces = [encrypted] if thought.redacted else [*texts, {"type": "reasoning.text", "signature": secret}]
            case "openai":
                summary = [{"type": "reasoning.summary", "summary": part} for part in cut_text(thought.text)]
                pieces = [*summary, {**encrypted, "id": f"rs_{secret}"}]
            case "google":
                pieces = [*texts, {**encrypted, **({"id": calls[0]} if calls else {})}]
            case _:
                pieces = texts
        return [{**piece, **shared} for piece in pieces]


def _shown(piece: Mapping[str, Any]) -> str | None:
    shown: str | None = piece.get("text") or piece.get("summary")
    return shown


def _pieces(call: Call, index: int, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    yield {"index": index, "id": ids[index], "type": "function", "function": {"name": call.name, "arguments": ""}}
    yield from ({"index": index, "function": {"arguments": part}} for part in cut_text(call.arguments))


def _key(message: Mapping[str, Any]) -> str:
    calls, content = message.get("tool_calls"), message.get("content") or ""
    text = content if isinstance(content, str) else "".join(piece["text"] for piece in content)
    return str(calls[0]["id"] if calls else text)


def _returned(details: Sequence[Mapping[str, Any]], author: str) -> list[dict[str, Any]]:
    """Text that was not signed may be left out: OpenRouter's own package for the AI SDK does so."""
    kept = merged(details)
    if author in ("anthropic", "google"):
        return [piece for piece in kept if piece["type"] != "reasoning.text" or "signature" in piece]
    return kept


def _refused(rule: str, status: int, *details: object) -> RefusedRequest:
    return RefusedRequest(status, error_body(RULES[rule].words.format(*details), status))


def _refusal_of(author: str, rule: str, *details: object) -> RefusedRequest:
    """By the company behind the model."""
    raw = {"type": "error", "error": {"type": "invalid_request_error", "message": RULES[rule].words.format(*details)}}
    return RefusedRequest(400, passed_on(_COMPANIES.get(author, "Z.AI"), raw))


def _check_types(body: dict[str, Any]) -> None:
    try:
        ChatRequest.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise _refused("type", 400, f"{place}: {first['msg']}") from error


def _check_marks(messages: Sequence[dict[str, Any]], author: str) -> None:
    """By the types an unknown mark is a piece of an unknown kind."""
    contents = [message["content"] for message in messages if isinstance(message.get("content"), list)]
    marks = [piece["cache_control"] for content in contents for piece in content if "cache_control" in piece]
    for mark in marks:
        if not isinstance(mark, dict) or mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in ("5m", "1h"):
            raise _refused("cache control", 400)
        if mark.keys() - {"type", "ttl"}:
            raise _refused("cache control", 400)
    if author == "anthropic" and len(marks) > 4:
        raise _refusal_of(author, "marks", len(marks))


def _check_calls(messages: Sequence[dict[str, Any]], author: str) -> None:
    waiting: list[str] = []
    for message in [*messages, {"role": "user"}]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                raise _refusal_of(author, "no call", message["tool_call_id"])
            waiting.remove(message["tool_call_id"])
        elif waiting:
            raise _refusal_of(author, "unanswered", waiting[0])
        waiting.extend(call["id"] for call in message.get("tool_calls") or ())
