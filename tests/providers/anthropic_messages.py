"""Anthropic's Messages API as agents use it, from its published reference.

It refuses, in the service's words, unknown members, calls without results and results without calls, ids of another
form, empty texts, changed, moved or missing thoughts, work of its own that was changed or lost its results, what a
model does not take, limits that do not fit, and too many cache marks.

On Vertex AI its address names the model, the body its version, and tokens of Google's sign in.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, TypeAlias

from aiohttp import web
from anthropic.types import JSONOutputFormatParam
from pydantic import TypeAdapter

from tests.providers import schema_refusals
from tests.providers.prompt_cache import Usage
from tests.providers.provider_double import Disconnect, ProviderDouble, RefusedRequest, StreamPause, StreamPlan, event

KEY: Final = "sk-ant-local"
TOKEN: Final = "ya29.local"
VERTEX_MODELS: Final = "/v1/projects/some-project/locations/global/publishers/anthropic/models"
_VERTEX_VERSIONS: Final = ("vertex-2023-10-16", "2026-10-21")  # Google's documents; Anthropic's client
_VERTEX_PATH: Final = re.compile(rf"{VERTEX_MODELS}/([^/:]+):streamRawPredict")
_MEMBERS: Final = frozenset(
    [
        "model",
        "messages",
        "max_tokens",
        "system",
        "tools",
        "tool_choice",
        "stream",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "metadata",
        "thinking",
        "output_config",
        "service_tier",
        "container",
        "context_management",
    ]
)
_BLOCKS: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"text"}),
    "image": frozenset({"source"}),
    "document": frozenset({"source", "title", "context"}),
    "thinking": frozenset({"thinking", "signature"}),
    "redacted_thinking": frozenset({"data"}),
    "tool_use": frozenset({"id", "name", "input"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error"}),
    "server_tool_use": frozenset({"id", "name", "input"}),
    "web_search_tool_result": frozenset({"tool_use_id", "content"}),
    "compaction": frozenset({"content"}),
}
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_MARKS: Final = 4
_THOUGHTS: Final = ("thinking", "redacted_thinking")
_ADAPTIVE: Final = re.compile(r"claude-(opus|sonnet|haiku|fable|mythos)-([5-9]|4-[7-9])")
_ALWAYS_THINKS: Final = re.compile(r"claude-(opus-5-5|sonnet-5-5|fable|mythos)")  # "Thinking can't be disabled"
_BETWEEN_CALLS: Final = re.compile(r"claude-sonnet-5-5")  # `between_tools`, at an effort of high or less
_TAKES_BOTH: Final = re.compile(r"claude-(opus|sonnet)-4-6")  # "Adaptive thinking": a budget works too, deprecated
_CAPS: Final = {"claude-sonnet-4-5": 64_000}  # of an answer
USAGE: Final = {
    "input_tokens": 10,
    "cache_read_input_tokens": 80,
    "cache_creation_input_tokens": 20,
    "output_tokens": 1,
}


@dataclass(frozen=True)
class Thought:
    text: str = ""


@dataclass(frozen=True)
class Redacted:
    """A thought that only the service can read."""


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Call:
    name: str
    arguments: str


@dataclass(frozen=True)
class Search:
    """A call that the service carries out."""

    query: str


@dataclass(frozen=True)
class Found:
    """What the newest search has found."""


@dataclass(frozen=True)
class Compaction:
    """The service's own summary of what came before."""

    text: str


Spoken: TypeAlias = Thought | Redacted | Text | Call | Search | Found | Compaction
Output: TypeAlias = Spoken | StreamPause | Disconnect | bytes
PING: Final = event({"type": "ping"}, "ping")
OVERLOADED: Final = event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error")


@dataclass(frozen=True)
class Answer:
    """`end`: what is said besides the reason."""

    output: Sequence[Output]
    stop_reason: str | None = None
    end: Mapping[str, Any] = field(default_factory=dict)


_FORMAT: Final = TypeAdapter(JSONOutputFormatParam)


def _format(format: dict[str, Any]) -> None:
    """By the package's type; "Structured outputs": an object must be closed."""
    _FORMAT.validate_python(format)
    if format.keys() != {"type", "schema"} or format["type"] != "json_schema":
        raise _refused("output_config.format: Extra inputs are not permitted")
    if format["schema"].get("type") == "object" and format["schema"].get("additionalProperties") is not False:
        message = "For 'object' type, 'additionalProperties' must be explicitly set to false"
        raise _refused(f"output_config.format.schema: {message}")


class Anthropic:
    """The service; it knows the thoughts that it gave, and where they stood."""

    def __init__(self, *answers: Answer, vertex: bool = False) -> None:
        self.answers = list(answers)
        self.vertex = vertex
        self.signed: dict[str, str] = {}
        self.given: list[list[str]] = []  # of each answer: its thoughts and calls
        self.own: dict[str, dict[str, Any]] = {}  # what it has carried out itself: calls by their ids, and results
        self.numbers = count(1)
        self.usage: Usage = lambda *_: USAGE
        self.double = ProviderDouble(self.check)

    def check(self, request: web.Request, body: dict[str, Any]) -> StreamPlan:
        body = self._signed_in_at_vertex(request, body) if self.vertex else self._signed_in(request, body)
        self._members(body)
        self._messages(body)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        goes_on = body["messages"][-1]["role"] == "assistant"
        return list(self._play(answer, self.usage(body, answer.output), goes_on=goes_on))

    def _signed_in(self, request: web.Request, body: dict[str, Any]) -> dict[str, Any]:
        if request.path != "/v1/messages":
            raise _refused("Not Found", 404, "not_found_error")
        if request.headers.get("x-api-key") != KEY and f"Bearer {KEY}" != request.headers.get("authorization"):
            raise _refused("invalid x-api-key", 401, "authentication_error")
        if "anthropic-version" not in request.headers:
            raise _refused("anthropic-version: header is required")
        return body

    def _signed_in_at_vertex(self, request: web.Request, body: dict[str, Any]) -> dict[str, Any]:
        """The body as it were with Anthropic."""
        found = _VERTEX_PATH.fullmatch(request.path)
        if found is None:
            raise RefusedRequest(404, [{"error": {"code": 404, "message": "Not found.", "status": "NOT_FOUND"}}])
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            message = "Request had invalid authentication credentials."
            raise RefusedRequest(401, [{"error": {"code": 401, "message": message, "status": "UNAUTHENTICATED"}}])
        if body.get("anthropic_version") not in _VERTEX_VERSIONS:
            raise _refused("anthropic_version: Field required")
        if "model" in body:
            raise _refused("model: Extra inputs are not permitted")
        others = {name: value for name, value in body.items() if name not in ("anthropic_version", "anthropic_beta")}
        return {**others, "model": found[1]}

    def _members(self, body: dict[str, Any]) -> None:
        for name in body:
            if name not in _MEMBERS:
                raise _refused(f"{name}: Extra inputs are not permitted")
        for name in ("model", "messages", "max_tokens"):
            if name not in body:
                raise _refused(f"{name}: Field required")
        wanted, cap = body["max_tokens"], _CAPS.get(body["model"])
        if cap and wanted > cap:
            raise _refused(f"max_tokens: {wanted} > {cap}, which is the maximum allowed number of output tokens")
        for number, tool in enumerate(body.get("tools", ())):
            if wrong := schema_refusals.anthropic(tool["input_schema"]):
                raise _refused(f"tools.{number}.custom.{wrong}")
        if (format := body.get("output_config", {}).get("format")) is not None:
            _format(format)
        self._thinking(body)
        marks = str(body).count("'cache_control'")
        if marks > _MARKS:
            raise _refused(f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")

    def _thinking(self, body: dict[str, Any]) -> None:
        thinking, adapts = body.get("thinking") or {}, bool(_ADAPTIVE.match(body["model"]))
        if thinking.get("type") == "enabled":
            if not 1024 <= thinking["budget_tokens"] < body["max_tokens"]:
                raise _refused("`max_tokens` must be greater than `thinking.budget_tokens`")
            if adapts:
                raise _refused('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".')
        if thinking.get("type") == "disabled" and _ALWAYS_THINKS.match(body["model"]):
            raise _refused('"thinking.type.disabled" is not supported for this model.')
        if thinking.get("type") == "between_tools":
            deep = body.get("output_config", {}).get("effort") in ("xhigh", "max")
            if deep or not _BETWEEN_CALLS.match(body["model"]):
                raise _refused('"thinking.type.between_tools" is not supported for this model and effort.')
        if thinking.get("type") == "adaptive" and not (adapts or _TAKES_BOTH.match(body["model"])):
            raise _refused("adaptive thinking is not supported on this model")
        if thinking.get("type") in ("enabled", "adaptive") and body.get("temperature", 1) != 1:
            raise _refused("`temperature` may only be set to 1 when thinking is enabled")
        if adapts and {"temperature", "top_p", "top_k"} & body.keys():
            raise _refused("sampling parameters are not supported for this model")

    def _messages(self, body: dict[str, Any]) -> None:
        calls: set[str] = set()
        used = False
        for number, message in enumerate(body["messages"]):
            blocks = message["content"]
            if isinstance(blocks, str):
                blocks = [{"type": "text", "text": blocks}]
            for place, block in enumerate(blocks):
                self._block(f"messages.{number}.content.{place}", block)
            if number == 0 and message["role"] != "user":
                raise _refused('messages: first message must use the "user" role')
            results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
            if calls - results:
                raise _refused(f"messages.{number}: `tool_use` ids were found without `tool_result` blocks: {calls}")
            if results - calls:
                raise _refused(f"messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {results}")
            if any(block.get("is_error") and not block["content"].strip() for block in blocks):
                raise _refused(f"messages.{number}: content cannot be empty if `is_error` is true")
            self._own_work(f"messages.{number}", blocks, last=message is body["messages"][-1])
            calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
            used = used or bool(calls)
        if calls:
            raise _refused("messages: `tool_use` ids were found without `tool_result` blocks immediately after")
        if used and not body.get("tools"):
            raise _refused("Requests which include `tool_use` or `tool_result` blocks must define tools")
        self._thinks_on(body)

    def _own_work(self, place: str, blocks: list[dict[str, Any]], *, last: bool) -> None:
        """It comes back unchanged and whole; only what it has paused in may be the end of all."""
        calls = {block["id"]: block for block in blocks if block["type"] == "server_tool_use"}
        results = {block["tool_use_id"]: block for block in blocks if block["type"] == "web_search_tool_result"}
        if calls != {id: self.own.get(id) for id in calls}:
            raise _refused(f"{place}: `server_tool_use` blocks cannot be modified.")
        if results != {id: self.own.get(f"of {id}") for id in results}:
            raise _refused(f"{place}: Invalid `encrypted_content` in `search_result` block")
        if results.keys() - calls:
            raise _refused(f"{place}: unexpected `tool_use_id` found in `web_search_tool_result` blocks")
        pending = calls.keys() - results
        if pending and not (last and blocks[-1]["type"] == "server_tool_use"):
            raise _refused(f"{place}: `web_search` tool use with id `{pending.pop()}` was found without a result block")

    def _thinks_on(self, body: dict[str, Any]) -> None:
        """A turn thinks as a whole: it begins with a thought, or has none."""
        said = [message for message in body["messages"] if message["role"] == "assistant"]
        self._unmoved(said)
        turn = _kinds_of_turn(said)
        kind = (body.get("thinking") or {}).get("type")
        if kind == "enabled" and turn and turn[0] not in _THOUGHTS:
            raise _refused("Expected `thinking` or `redacted_thinking`, but found `tool_use`.")
        off = kind == "disabled" or (kind is None and not _ADAPTIVE.match(body["model"]))
        if off and not set(turn).isdisjoint(_THOUGHTS):
            raise _refused(
                "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."
            )

    def _unmoved(self, said: list[dict[str, Any]]) -> None:
        if any(message["content"][-1]["type"] in _THOUGHTS for message in said if isinstance(message["content"], list)):
            raise _refused("The final block in an assistant message cannot be `thinking`.")
        newest = said[-1]["content"] if said and isinstance(said[-1]["content"], list) else []
        kept = [_identity(block) for block in newest if block["type"] in (*_THOUGHTS, "tool_use")]
        if any(block["type"] in _THOUGHTS for block in newest) and kept not in self.given:
            raise _refused("`thinking` blocks in the latest assistant message cannot be modified.")

    def _block(self, place: str, block: dict[str, Any]) -> None:
        kind = block.get("type", "")
        if kind not in _BLOCKS:
            raise _refused(f"{place}: Input tag {kind!r} is unknown")
        for name in block.keys() - _BLOCKS[kind] - {"type", "cache_control"}:
            raise _refused(f"{place}.{kind}.{name}: Extra inputs are not permitted")
        match block:
            case {"type": "text", "text": text} if not text.strip():
                raise _refused(f"{place}: text content blocks must contain non-whitespace text")
            case {"type": "thinking", "thinking": thought, "signature": signature}:
                if self.signed.get(signature) != thought or "cache_control" in block:
                    raise _refused(f"{place}: Invalid `signature` in `thinking` block")
            case {"type": "tool_use", "id": id} | {"type": "tool_result", "tool_use_id": id}:
                if not _ID.fullmatch(id):
                    raise _refused(f"{place}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")

    def _play(
        self, answer: Answer, usage: dict[str, int], *, goes_on: bool
    ) -> Iterator[bytes | StreamPause | Disconnect]:
        def said(kind: str, **data: Any) -> bytes:
            return event({"type": kind, **data}, kind)

        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude"}
        yield said("message_start", message={**message, "stop_reason": None, "usage": usage})
        index = 0
        self.given.append(kept := [*self.given[-1]] if goes_on and self.given else [])
        whole = max((place for place, each in enumerate(answer.output) if isinstance(each, Text | Call)), default=-1)
        for place, each in enumerate(answer.output):
            if isinstance(each, StreamPause | Disconnect | bytes):
                yield each
                continue
            block, deltas = self._output(each)
            if isinstance(each, Thought | Redacted | Call) and place <= whole:
                kept.append(deltas[-1]["signature"] if isinstance(each, Thought) else _identity(block))
            yield said("content_block_start", index=index, content_block=block)
            for delta in deltas:
                yield said("content_block_delta", index=index, delta=delta)
            yield said("content_block_stop", index=index)
            index += 1
        calls = any(isinstance(each, Call) for each in answer.output)
        reason = answer.stop_reason or ("tool_use" if calls else "end_turn")
        written = {"output_tokens": max(15, usage["output_tokens"])}
        ended = {"stop_reason": reason, "stop_sequence": None, **answer.end}
        yield said("message_delta", delta=ended, usage=written)
        yield said("message_stop")

    def _output(self, output: Spoken) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        number = next(self.numbers)
        match output:
            case Thought(text):
                signature = f"sig+{number}/=="
                self.signed[signature] = text
                pieces = [{"type": "thinking_delta", "thinking": piece} for piece in _halves(text)]
                signed = {"type": "signature_delta", "signature": signature}
                return {"type": "thinking", "thinking": "", "signature": ""}, [*pieces, signed]
            case Redacted():
                return {"type": "redacted_thinking", "data": f"hidden+{number}/=="}, []
            case Text(text):
                return {"type": "text", "text": ""}, [{"type": "text_delta", "text": each} for each in _halves(text)]
            case Call(name, arguments):
                block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
                return block, _written(arguments)
            case Search(query):
                id = f"srvtoolu_{number}"
                search: dict[str, Any] = {"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}
                self.own[id] = {**search, "input": {"query": query}}
                return search, _written(json.dumps({"query": query}))
            case Found():
                page = {"type": "web_search_result", "url": "https://a", "encrypted_content": f"enc-{number}"}
                id = next(name for name in reversed(self.own) if name.startswith("srvtoolu_"))
                found = {"type": "web_search_tool_result", "tool_use_id": id, "content": [page]}
                self.own[f"of {id}"] = found
                return found, []
            case Compaction(text):
                pieces = [{"type": "compaction_delta", "content": each} for each in _halves(text)]
                return {"type": "compaction", "content": None}, pieces


def _written(arguments: str) -> list[dict[str, Any]]:
    return [{"type": "input_json_delta", "partial_json": piece} for piece in _halves(arguments)]


def _kinds_of_turn(said: list[dict[str, Any]]) -> list[str]:
    """The kinds of the blocks in the answers since the newest one without calls."""
    kinds: list[str] = []
    for message in reversed(said):
        blocks = [block["type"] for block in message["content"] if isinstance(block, dict)]
        if "tool_use" not in blocks:
            break
        kinds = blocks + kinds
    return kinds


def _identity(block: dict[str, Any]) -> str:
    return str(block.get("id") or block.get("signature") or block.get("data"))


def _halves(text: str) -> list[str]:
    return [piece for piece in (text[: len(text) // 2], text[len(text) // 2 :]) if piece]


def _refused(message: str, status: int = 400, kind: str = "invalid_request_error") -> RefusedRequest:
    return RefusedRequest(status, {"type": "error", "error": {"type": kind, "message": message}})
