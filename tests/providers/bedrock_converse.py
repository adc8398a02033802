"""Bedrock's ConverseStream as agents use it, from the service model that botocore brings, and the rules below.

It refuses, in the service's words, what does not fit the model, unsigned requests, calls without results and results
without calls, and reasoning that is changed, moved or missing.
"""

import base64
import hmac
import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import count
from typing import Any, Final
from urllib.parse import quote

from aiohttp import web

from tests.providers.double_outputs import Answer, Call, Rule, Text, Thought, cut_text
from tests.providers.event_stream_frames import KIND, event_frame, exception_frame
from tests.providers.prompt_cache import Usage
from tests.providers.provider_double import Disconnect, ProviderDouble, RefusedRequest, StreamPause, StreamPlan
from tests.providers.schema_refusals import nodes
from tests.providers.service_shapes import service_model, violations

ACCESS_KEY: Final = "AKIALOCAL"
SECRET_KEY: Final = "wJalrXUtnFEMI/K7MDENG"
API_KEY: Final = "ABSKQmVkcm9ja0FQSUtleS1sb2NhbA=="  # of Bedrock's own
CLAUDE: Final = "anthropic.claude-sonnet-4-5-20250929-v1:0"
LLAMA: Final = "us.meta.llama4-maverick-17b-instruct-v1:0"
NOVA: Final = "amazon.nova-pro-v1:0"
NEWEST_CLAUDE: Final = "us.anthropic.claude-opus-5-5-v1:0"
MODELS: Final = (CLAUDE, LLAMA, NOVA, NEWEST_CLAUDE)
PROFILE: Final = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6"  # of Claude's

_SHAPES: Final = service_model("bedrock-runtime").operation_model("ConverseStream")
_EVENTS: Final = _SHAPES.output_shape.members["stream"].members
_PATH: Final = re.compile(r"/model/(.+)/converse-stream")
_SIGNATURE: Final = re.compile(
    rf"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/(?P<scope>\d{{8}}/[\w-]+/bedrock/aws4_request), ?"
    r"SignedHeaders=(?P<headers>[\w;-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
_NAME_OF_DOCUMENT: Final = re.compile(r"(?!.*\s\s)[\w\s()\[\]-]+")
_MARKS: Final = 4
_PADDING: Final = "abcdefghijklmnopqrstuvwxyz"  # the service fills events up, to hide how long they are

_API: Final = "the reference of the API, as in botocore's service model"
_CACHING: Final = "the user guide, on prompt caching"
_THINKING: Final = "the user guide, on extended thinking"
_REPORTS: Final = "reports of what the service answers: "
RULES: Final[Mapping[str, Rule]] = {
    "shape": Rule("1 validation error detected: {}", _API),
    "signed": Rule("Missing Authentication Token", "AWS Signature Version 4"),
    "credential": Rule("The security token included in the request is invalid.", "AWS Signature Version 4"),
    "request signature": Rule(
        "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access "
        "Key and signing method. Consult the service documentation for details.",
        "AWS Signature Version 4",
    ),
    "model": Rule("The provided model identifier is invalid.", _REPORTS + "every SDK", believed=True),
    "user first": Rule(
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        _REPORTS + "langchainjs 6724",
        believed=True,
    ),
    "alternate": Rule(
        "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between "
        "user and assistant roles and try again.",
        _REPORTS + "langchainjs 6724",
        believed=True,
    ),
    "content": Rule(
        "The content field in the Message object at messages.{} is empty. Add a ContentBlock object to the content "
        "field and try again.",
        _REPORTS + "strands-agents",
        believed=True,
    ),
    "blank": Rule(
        "The text field in the ContentBlock object at {} is blank. Add text to the text field, and try again.",
        _REPORTS + "hermes-agent 55092",
        believed=True,
    ),
    "tool config": Rule(
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        _REPORTS + "onyx 7842, pentagi 160",
        believed=True,
    ),
    "results": Rule(
        "Expected toolResult blocks at messages.{}.content for the following Ids: {}",
        _REPORTS + "nearai",
        believed=True,
    ),
    "too many results": Rule(
        "The number of toolResult blocks at messages.{}.content exceeds the number of toolUse blocks of previous turn.",
        _REPORTS + "pydantic-ai 2327",
        believed=True,
    ),
    "duplicates": Rule("The {} blocks at messages.{}.content contain duplicate Ids: {}", _REPORTS, believed=True),
    "results apart": Rule(
        "messages.{}.content: Conversation blocks and tool result blocks cannot be provided in the same turn.",
        _REPORTS + "strands-agents 1223, with Llama",
        believed=True,
    ),
    "images": Rule("messages.{}: images and documents are allowed in messages of the user only", _API),
    "document": Rule("messages.{}: a document needs a text block in the same message", _API),
    "document name": Rule(
        "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, "
        "and square brackets. The name can't contain more than one consecutive whitespace character.",
        _API,
    ),
    "document names": Rule(
        "Messages can't contain duplicate document names. Rename the document and retry your request.",
        _REPORTS + "bifrost 7003",
        believed=True,
    ),
    "caching model": Rule(
        "You invoked an unsupported model or your request did not allow prompt caching. See the documentation for more "
        "information.",
        _CACHING,
    ),
    "status": Rule(
        "messages.{}: the status of a tool's result is supported by Amazon Nova and Anthropic Claude only", _API
    ),
    "format": Rule(
        "The model returned the following errors: output_config.format.schema: {}",
        "the user guide, on structured output",
        believed=True,
    ),
    "marks": Rule("A maximum of 4 blocks with cachePoint may be provided. Found {}.", _CACHING),
    "reasoning role": Rule(
        "User messages cannot contain reasoning content. Please remove the reasoning content and try again.",
        _REPORTS + "langchain-aws",
        believed=True,
    ),
    "reasoning model": Rule(
        "This model doesn't support the reasoningContent field. Remove reasoningContent and try again.",
        _REPORTS + "litellm 9063, with Nova",
        believed=True,
    ),
    "signature": Rule(
        "The model returned the following errors: {}: Invalid `signature` in `thinking` block",
        "the reference of the API: include the text and its signature unmodified",
    ),
    "order": Rule(
        "The model returned the following errors: messages.{}.content: `thinking` or `redacted_thinking` blocks in the "
        "latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
        _THINKING,
    ),
    "thinking first": Rule(
        "The model returned the following errors: messages.{}.content.0.type: Expected `thinking` or "
        "`redacted_thinking`, but found `tool_use`.",
        _THINKING,
    ),
    "thinking off": Rule(
        "The model returned the following errors: messages.{}: When thinking is disabled, an `assistant` message in "
        "the final position cannot contain `thinking`.",
        _REPORTS + "of Anthropic's API",
        believed=True,
    ),
}
_CODES: Final = {
    "signed": "MissingAuthenticationTokenException",
    "credential": "UnrecognizedClientException",
    "request signature": "InvalidSignatureException",
    "caching model": "AccessDeniedException",
}  # with status 403
USAGE: Final = {
    "inputTokens": 10,
    "outputTokens": 15,
    "totalTokens": 125,
    "cacheReadInputTokens": 80,
    "cacheWriteInputTokens": 20,
}
OVERLOADED: Final = exception_frame("serviceUnavailableException", {"message": "Bedrock is unable to process it."})
BROKEN: Final = exception_frame(
    "modelStreamErrorException",
    {"message": "An error occurred in the model.", "originalStatusCode": 424, "originalMessage": "Broken."},
)
THROTTLED: Final = exception_frame(
    "throttlingException", {"message": "Too many tokens, please wait before trying again."}
)


def refused(status: int, code: str, message: str) -> RefusedRequest:
    """An error of the service: its name is in a header."""
    return RefusedRequest(status, {"message": message}, {"x-amzn-errortype": f"{code}:http://internal.amazon.com/"})


class Bedrock:
    """The service; it knows the reasoning that it gave, and where it stood between the calls."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.signed: dict[str, str] = {}
        self.order: dict[str, list[str]] = {}
        self.numbers = count(1)
        self.usage: Usage = lambda *_: USAGE
        self.double = ProviderDouble(self.check, kind=KIND)

    def check(self, request: web.Request, body: dict[str, Any]) -> StreamPlan:
        _signed(request, self.double.received[-1])
        found = _PATH.fullmatch(request.path)
        if found is None:
            raise refused(404, "UnknownOperationException", "")
        model = CLAUDE if found[1] == PROFILE else found[1]
        if model not in MODELS:
            raise _broken("model")
        for violation in violations(_SHAPES.input_shape, body):
            raise _broken("shape", violation)
        self._conversation(model, body)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return list(self._play(answer, self.usage(body, answer.output)))

    def _conversation(self, model: str, body: dict[str, Any]) -> None:
        messages = body.get("messages", [])
        if not messages or messages[0]["role"] != "user":
            raise _broken("user first")
        for number, message in enumerate(messages):
            if number and message["role"] == messages[number - 1]["role"]:
                raise _broken("alternate")
            _content(number, message)
            if model == LLAMA and any("status" in block["toolResult"] for block in _blocks([message], "toolResult")):
                raise _broken("status", number)
            if model == LLAMA and len({"toolResult" in block for block in message["content"]}) > 1:
                raise _broken("results apart", number)
        names = [block["document"]["name"] for block in _blocks(messages, "document")]
        if len(set(names)) < len(names):
            raise _broken("document names")
        _calls(messages)
        if "toolConfig" not in body and any(_blocks(messages, "toolUse", "toolResult")):
            raise _broken("tool config")
        _format(model, body)
        marks = json.dumps(body).count('"cachePoint"')
        if marks > _MARKS:
            raise _broken("marks", marks)
        if marks and model == LLAMA:
            raise _broken("caching model")
        thinks = (body.get("additionalModelRequestFields", {}).get("thinking") or {}).get("type") == "enabled"
        self._thinking(messages, thinks=thinks, free=model == NEWEST_CLAUDE)
        self._reasoning(model, messages)

    def _reasoning(self, model: str, messages: list[dict[str, Any]]) -> None:
        for number, message in enumerate(messages):
            for place, block in enumerate(message["content"]):
                if "reasoningContent" not in block:
                    continue
                if message["role"] == "user":
                    raise _broken("reasoning role")
                if model not in (CLAUDE, NEWEST_CLAUDE):
                    raise _broken("reasoning model")
                mark, text = _mark(block["reasoningContent"])
                if mark not in self.signed or self.signed[mark] != text:
                    raise _broken("signature", f"messages.{number}.content.{place}")

    def _thinking(self, messages: list[dict[str, Any]], *, thinks: bool, free: bool) -> None:
        """A turn thinks as a whole: it begins with a thought, or has none. Its newest answer comes back as it was.
        `free`: a model that thinks when it finds it right."""
        turn = _turn(messages)
        if not turn or free:
            return
        first, newest = turn[0], turn[-1]
        reasons = [number for number in turn if _blocks([messages[number]], "reasoningContent")]
        if thinks and "reasoningContent" not in messages[first]["content"][0]:
            raise _broken("thinking first", first)
        if reasons and not thinks:
            raise _broken("thinking off", reasons[0])
        order = _order(messages[newest]["content"])
        if newest in reasons and any(self.order.get(mark, order) != order for mark in order):
            raise _broken("order", newest)

    def _play(self, answer: Answer, usage: dict[str, Any]) -> Iterator[bytes | StreamPause | Disconnect]:
        yield _event("messageStart", role="assistant")
        given: list[dict[str, Any]] = []
        for each in answer.output:
            if isinstance(each, StreamPause | Disconnect | bytes):
                yield each
                continue
            block, start, deltas = self._block(each)
            index = len(given)
            given.append(block)
            if start:  # the service announces calls only
                yield _event("contentBlockStart", start=start, contentBlockIndex=index)
            for delta in deltas:
                yield _event("contentBlockDelta", delta=delta, contentBlockIndex=index)
            yield _event("contentBlockStop", contentBlockIndex=index)
        order = _order(given)
        self.order.update(dict.fromkeys(order, order))
        usual = "tool_use" if any("toolUse" in block for block in given) else "end_turn"
        yield _event("messageStop", stopReason=answer.stop_reason or usual)
        yield _event("metadata", usage=usage, metrics={"latencyMs": 7})

    def _block(self, output: Thought | Text | Call) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
        """A block as it must come back, its announcement, and its deltas."""
        number = next(self.numbers)
        match output:
            case Thought(redacted=True):
                secret = base64.b64encode(f"secret-{number}".encode()).decode()
                self.signed[secret] = ""
                block = {"reasoningContent": {"redactedContent": secret}}
                return block, {}, [block]
            case Thought(text):
                signature = f"sig+{number}/=="
                self.signed[signature] = text
                whole = {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}
                thoughts = [*({"text": piece} for piece in cut_text(text)), {"signature": signature}]
                return whole, {}, [{"reasoningContent": each} for each in thoughts]
            case Text(text):
                return {"text": text}, {}, [{"text": piece} for piece in cut_text(text)]
            case Call(name, arguments):
                call = {"toolUseId": f"tooluse_{number}", "name": name}
                pieces = ["", *cut_text("" if arguments == "{}" else arguments)]  # Claude writes no empty arguments
                return {"toolUse": call}, {"toolUse": call}, [{"toolUse": {"input": piece}} for piece in pieces]


def _broken(rule: str, *details: object) -> RefusedRequest:
    words = RULES[rule].words.format(*details)
    return refused(403 if rule in _CODES else 400, _CODES.get(rule, "ValidationException"), words)


def _format(model: str, body: dict[str, Any]) -> None:
    """A schema is text, and closes each object."""
    if (config := body.get("outputConfig", {}).get("textFormat")) is None:
        return
    if model not in (CLAUDE, NEWEST_CLAUDE):
        raise _broken("format", "Extra inputs are not permitted")
    try:
        found = list(nodes(json.loads(config["structure"]["jsonSchema"]["schema"])))
    except ValueError:
        found = []
    if not found or any(node.get("additionalProperties") is not False for node in found if "properties" in node):
        raise _broken("format", "For 'object' type, 'additionalProperties' must be explicitly set to false")


def _signed(request: web.Request, body: bytes) -> None:
    """By an API key, or by AWS Signature Version 4 for the bytes that came."""
    authorization = request.headers.get("authorization")
    if not authorization:
        raise _broken("signed")
    if authorization == f"Bearer {API_KEY}":
        return
    found = _SIGNATURE.fullmatch(authorization)
    if found is None:
        raise _broken("credential")
    names = found["headers"].split(";")
    if not {"host", "x-amz-date"} <= set(names) or found["signature"] != _signature(
        request, body, found["scope"], names
    ):
        raise _broken("request signature")


def _signature(request: web.Request, body: bytes, scope: str, names: list[str]) -> str:
    """As AWS describes it: of the path, escaped once more, the named headers, and the body."""
    headers = "".join(f"{name}:{request.headers[name]}\n" for name in names)
    path = quote(request.raw_path, safe="/~")
    canonical = "\n".join((request.method, path, "", headers, ";".join(names), sha256(body).hexdigest()))
    signed = "\n".join(
        ("AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, sha256(canonical.encode()).hexdigest())
    )
    key = f"AWS4{SECRET_KEY}".encode()
    for part in (*scope.split("/"), signed):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex()


def _content(number: int, message: dict[str, Any]) -> None:
    blocks = message["content"]
    if not blocks:
        raise _broken("content", number)
    for place, block in enumerate(blocks):
        inner = block["toolResult"]["content"] if "toolResult" in block else [block]
        if any("text" in each and not each["text"].strip() for each in inner):
            raise _broken("blank", f"messages.{number}.content.{place}")
    attached = [block for block in blocks if "image" in block or "document" in block]
    if attached and message["role"] != "user":
        raise _broken("images", number)
    documents = [block["document"] for block in attached if "document" in block]
    if documents and not any("text" in block for block in blocks):
        raise _broken("document", number)
    if any(not _NAME_OF_DOCUMENT.fullmatch(document["name"]) for document in documents):
        raise _broken("document name")


def _calls(messages: list[dict[str, Any]]) -> None:
    waiting: list[str] = []
    for number, message in enumerate([*messages, {"content": []}]):
        results = [block["toolResult"]["toolUseId"] for block in _blocks([message], "toolResult")]
        missing = [id for id in waiting if id not in results]
        if missing:
            raise _broken("results", number, ", ".join(missing))
        if len(set(results)) < len(results):
            raise _broken("duplicates", "toolResult", number, results[0])
        if len(results) > len(waiting):
            raise _broken("too many results", number)
        waiting = [block["toolUse"]["toolUseId"] for block in _blocks([message], "toolUse")]
        if len(set(waiting)) < len(waiting):
            raise _broken("duplicates", "toolUse", number, waiting[0])


def _blocks(messages: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [block for message in messages for block in message["content"] if any(kind in block for kind in kinds)]


def _turn(messages: list[dict[str, Any]]) -> list[int]:
    """The places of the answers since the newest one without calls."""
    answers = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
    closed = [number for number in answers if not _blocks([messages[number]], "toolUse")]
    return [number for number in answers if not closed or number > closed[-1]]


def _mark(reasoning: dict[str, Any]) -> tuple[str, str]:
    """What tells a block of reasoning from all others, and its text."""
    if "redactedContent" in reasoning:
        return reasoning["redactedContent"], ""
    return reasoning["reasoningText"].get("signature", ""), reasoning["reasoningText"]["text"]


def _order(content: list[dict[str, Any]]) -> list[str]:
    """The reasoning and the calls of an answer, by their marks and ids."""
    return [
        block["toolUse"]["toolUseId"] if "toolUse" in block else _mark(block["reasoningContent"])[0]
        for block in content
        if "toolUse" in block or "reasoningContent" in block
    ]


def _event(name: str, **payload: Any) -> bytes:
    """An event, which must fit the service model."""
    wrong = list(violations(_EVENTS[name], payload, name))
    if wrong:
        raise ValueError(wrong)
    return event_frame(name, {**payload, "p": _PADDING[: 1 + len(str(payload)) % len(_PADDING)]})
