"""Google's Gemini API as agents use it, from its published reference.

It refuses, in the service's words, unknown members, results without their calls, ids where there are none, and missing,
changed or moved thought signatures.

On Vertex AI it has another address, takes tokens for keys, and knows no ids; that it refuses them is believed, from the
Vercel AI SDK, which leaves them out there.
"""

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TypeAlias

from aiohttp import web

from tests.providers import schema_refusals
from tests.providers.prompt_cache import Usage
from tests.providers.provider_double import Disconnect, ProviderDouble, RefusedRequest, StreamPause, StreamPlan, event

KEY: Final = "AIza-local"
TOKEN: Final = "ya29.local"
_PATH: Final = re.compile(r"/v1beta/models/([^/:]+):streamGenerateContent")
_VERTEX_PATH: Final = re.compile(
    r"/v1beta1/projects/some-project/locations/global/publishers/google/models/([^/:]+):streamGenerateContent"
)
_MEMBERS: Final = frozenset(
    ["contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent"]
)
_PARTS: Final = frozenset(
    ["text", "thought", "thoughtSignature", "inlineData", "functionCall", "functionResponse", "fileData"]
)
_SCHEMA: Final = frozenset(
    [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "maxItems",
        "minItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "example",
        "anyOf",
        "propertyOrdering",
        "default",
        "items",
        "minimum",
        "maximum",
    ]
)
USAGE: Final = {
    "promptTokenCount": 100,
    "candidatesTokenCount": 20,
    "thoughtsTokenCount": 10,
    "cachedContentTokenCount": 60,
    "totalTokenCount": 130,
}


@dataclass(frozen=True)
class Thought:
    text: str


@dataclass(frozen=True)
class Text:
    text: str
    signed: bool = False


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any]


Output: TypeAlias = Thought | Text | Call | StreamPause | Disconnect | bytes


@dataclass(frozen=True)
class Answer:
    """The model's answer; `blocked`: why the prompt was. `explained`: in the service's words."""

    output: Sequence[Output]
    finish: str = "STOP"
    blocked: str | None = None
    explained: str | None = None


class Gemini:
    """The service; it knows the signatures that it gave."""

    def __init__(self, *answers: Answer, vertex: bool = False) -> None:
        self.answers = list(answers)
        self.vertex = vertex
        self.signed: dict[str, str] = {}  # what each signature came with
        self.numbers = count(1)
        self.usage: Usage = lambda *_: USAGE
        self.double = ProviderDouble(self.check)

    def check(self, request: web.Request, body: dict[str, Any]) -> StreamPlan:
        found = (_VERTEX_PATH if self.vertex else _PATH).fullmatch(request.path)
        if found is None or request.query.get("alt") != "sse":
            raise _refused("Requested entity was not found.", 404, "NOT_FOUND")
        if self.vertex and request.headers.get("authorization") != f"Bearer {TOKEN}":
            raise _refused("Request had invalid authentication credentials.", 401, "UNAUTHENTICATED")
        if not self.vertex and request.headers.get("x-goog-api-key") != KEY:
            raise _refused("API key not valid. Please pass a valid API key.")
        for name in body:
            _known(name, _MEMBERS)
        for tool in body.get("tools", ()):
            for declared in tool.get("function_declarations", tool.get("functionDeclarations", ())):
                if {"parameters", "parametersJsonSchema"} <= declared.keys():
                    raise _refused("Only one of parameters and parametersJsonSchema may be set.")
                _schema(declared.get("parameters") or {})
                if wrong := schema_refusals.gemini(declared.get("parametersJsonSchema", {"type": "object"})):
                    raise _refused(f"Invalid schema of {declared['name']}: {wrong}")
        signs = found[1].startswith("gemini-3")
        self._format(body.get("generationConfig", {}), tools=bool(body.get("tools")) and not signs)
        self._contents(body["contents"], signs=signs, ids=signs and not self.vertex)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return list(self._play(answer, self.usage(body, answer.output)))

    def _format(self, config: dict[str, Any], *, tools: bool) -> None:
        """`tools`: of a model that takes no format beside them."""
        if config.get("responseMimeType") == "application/json" and tools:
            raise _refused("Function calling with a response mime type: 'application/json' is unsupported")
        if "responseJsonSchema" in config:
            if config.get("responseMimeType") != "application/json":
                raise _refused("response_json_schema is only supported with response mime type application/json")
            if wrong := schema_refusals.gemini(config["responseJsonSchema"]):
                raise _refused(f"Invalid response schema: {wrong}")

    def _contents(self, contents: list[dict[str, Any]], *, signs: bool, ids: bool) -> None:
        pending = 0
        for content in contents:
            parts = [{_camel(name): value for name, value in part.items()} for part in content["parts"]]
            for part in parts:
                for name in part:
                    _known(name, _PARTS)
            calls = [part for part in parts if "functionCall" in part]
            results = [part for part in parts if "functionResponse" in part]
            if content["role"] == "user" and (pending or results) and len(results) != pending:
                raise _refused(
                    "Please ensure that the number of function response parts is equal to the number of function call "
                    "parts of the function call turn."
                )
            pending = len(calls)
            if signs and calls and "thoughtSignature" not in calls[0]:
                raise _refused("Function call is missing a thought_signature in functionCall parts.")
            for part in parts:
                self._signature(part)
            inner = [part.get("functionCall") or part.get("functionResponse") or {} for part in parts]
            if any(bool(each) and ("id" in each) is not ids for each in inner):
                raise _refused('Unknown name "id"' if not ids else "Function call is missing its id.")

    def _signature(self, part: dict[str, Any]) -> None:
        signature = part.get("thoughtSignature", _SKIPPED)
        if signature != _SKIPPED and self.signed.get(signature) != part.get("functionCall", {}).get("name", ""):
            raise _refused("Corrupted thought signature.")

    def _play(self, answer: Answer, usage: dict[str, int]) -> Iterator[bytes | StreamPause | Disconnect]:
        if answer.blocked:
            explained = {"blockReasonMessage": answer.explained} if answer.explained else {}
            feedback = {"blockReason": answer.blocked, **explained}
            yield event({"promptFeedback": feedback, "usageMetadata": {"promptTokenCount": 100}})
            return
        for place, each in enumerate(answer.output):
            if isinstance(each, StreamPause | Disconnect | bytes):
                yield each
                continue
            first = not any(isinstance(earlier, Call) for earlier in answer.output[:place])
            for part in self._parts(each, signs=first):
                content = {"role": "model", "parts": [part]}
                yield event({"candidates": [{"content": content, "index": 0}], "modelVersion": "gemini"})
        explained = {"finishMessage": answer.explained} if answer.explained else {}
        ended = {"finishReason": answer.finish, "index": 0, **explained}
        yield event({"candidates": [ended], "usageMetadata": usage})

    def _parts(self, output: Thought | Text | Call, *, signs: bool) -> Iterator[dict[str, Any]]:
        match output:
            case Thought(text):
                yield {"text": text, "thought": True}
            case Text(text, signed):
                yield {"text": text}
                if signed:
                    yield {"text": "", "thoughtSignature": self._sign("")}
            case Call(name, arguments):
                call: dict[str, Any] = {"functionCall": {"name": name, "args": arguments}}
                yield {**call, "thoughtSignature": self._sign(name)} if signs else call

    def _sign(self, what: str) -> str:
        signature = base64.b64encode(b"\xfb\xef\xff" + str(next(self.numbers)).encode()).decode()
        self.signed[signature] = what
        return signature


_SKIPPED: Final = "skip_thought_signature_validator"  # the service's word for what another model made


def _known(name: str, members: frozenset[str]) -> None:
    if _camel(name) not in members:
        raise _refused(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')


def _schema(schema: dict[str, Any]) -> None:
    for name, value in schema.items():
        _known(name, _SCHEMA)
        for inner in value.values() if name == "properties" else [value] if name == "items" else ():
            _schema(inner)


def _camel(name: str) -> str:
    """Both forms of a name are accepted."""
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def _refused(message: str, status: int = 400, kind: str = "INVALID_ARGUMENT") -> RefusedRequest:
    return RefusedRequest(status, {"error": {"code": status, "message": message, "status": kind}})
