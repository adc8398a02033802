"""Servers that speak OpenAI's chat protocol nearly: what each does otherwise, as a table.

They take requests with any members. `recorded` is charmbracelet/fantasy, providertests/testdata.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from tests.providers.double_outputs import cut_text
from tests.providers.openai_chat import Answer, Call, OpenAIChat, Output, Refusal, Text, Thought
from tests.providers.provider_double import Disconnect, RefusedRequest, StreamPause

_USAGE: Final = {"prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130}
_DETAILS: Final = {
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens_details": {"reasoning_tokens": 10},
}


@dataclass(frozen=True, kw_only=True)
class Server:
    """One that differs from OpenAI in what is not as by default; `source` says where that stands."""

    name: str
    source: str
    believed: bool = False
    # of calls: its own, empty, one for each tool, the tool and the number in the answer, none
    ids: Literal["own", "empty", "name", "numbered", "none"] = "own"
    later: Mapping[str, Any] | None = None  # members of a call's pieces behind the first; `name` is the function's
    index: Literal["counted", "zero", "none"] = "counted"
    calls: Literal["pieces", "whole", "object", "function_call"] = "pieces"
    reasoning: str = "reasoning_content"  # the member for it, or one of the forms below; empty: shows none
    signs_calls: bool = False  # the first call of an answer has a signature, without which it is refused
    wants_reasoning: bool = False  # refuses the turn's calls, whichever model made them, without reasoning
    model: str = "some-model"
    role: Literal["first", "each", "empty"] = "first"  # empty: in each piece
    empty: Mapping[str, Any] | None = None  # members of a delta that it does not set
    finish: str = "tool_calls"  # of an answer with calls
    open_finish: bool = True  # `finish_reason` before the end
    no_finish: str | None = None  # what it says for none
    usage: Literal["behind", "end", "choice", "each", "none"] = "behind"
    null_usage: bool = False  # in the other pieces
    counts: Mapping[str, Any] | None = None
    done: bool = True
    line: bytes = b"\n"
    comment: bytes = b""  # before the answer


THINK: Final = "<think>"  # in the content
DETAILS: Final = "reasoning_details"  # MiniMax
_EXTRA: Final = "extra_content"
BLOCKS: Final = "thinking_blocks"  # litellm, with a signature
SERVERS: Final = (
    Server(
        name="vLLM",
        source="vllm, DeltaMessage.reasoning; the ids of Kimi's calls",
        ids="numbered",
        reasoning="reasoning",
    ),
    Server(
        name="SGLang",
        source="pydantic/pydantic-ai 8208, a captured stream",
        empty={"role": None, "reasoning_content": None, "tool_calls": None},
        null_usage=True,
    ),
    Server(
        name="SGLang, older",
        source="sgl-project/sglang 3912: empty finish reasons",
        no_finish="",
        null_usage=True,
    ),
    Server(
        name="GLM at Mistral",
        source="mistralai/mistral-vibe 1127: another id in later pieces; earendil-works/pi 8387: an empty name",
        later={"id": "toolcall0", "name": ""},
        reasoning="",
    ),
    Server(
        name="llama.cpp",
        source="recorded, TestOpenAICompatibleThinking/llama-cpp-gpt-oss",
        counts={**_USAGE, "timings": {"cache_n": 83}},
    ),
    Server(
        name="llama.cpp, older",
        source="ggml-org/llama.cpp 11992: calls without ids; reasoning in the content is its --reasoning-format none",
        ids="empty",
        reasoning=THINK,
    ),
    Server(
        name="LM Studio",
        source="lmstudio-ai/lmstudio-bug-tracker 649: an empty name in later pieces",
        later={"name": ""},
        reasoning=THINK,
        counts=_USAGE,
    ),
    Server(
        name="LiteLLM proxy",
        source="litellm, types/utils.py: Delta.thinking_blocks and Usage",
        reasoning=BLOCKS,
        counts={**_USAGE, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 0},
    ),
    Server(
        name="DeepSeek",
        model="deepseek-v4",
        source="api-docs.deepseek.com: Rate Limit, Context Caching, Thinking Mode; Wei-Shaw/sub2api 6080: empty names",
        later={"id": "", "name": ""},
        wants_reasoning=True,
        empty={"content": None},
        usage="end",
        null_usage=True,
        counts={**_USAGE, "prompt_cache_hit_tokens": 60, "completion_tokens_details": {"reasoning_tokens": 10}},
        comment=b": keep-alive",
    ),
    Server(
        name="Moonshot",
        model="kimi-k2-thinking",
        source="platform.moonshot.ai/docs: streaming (usage in the choice), context caching, thinking models",
        ids="numbered",
        wants_reasoning=True,
        usage="choice",
        counts={**_USAGE, "cached_tokens": 60},
    ),
    Server(
        name="Groq",
        source="recorded, TestOpenAICompatibleCommon/groq-kimi-k2",
        ids="numbered",
        calls="whole",
        reasoning="reasoning",
        usage="end",
        counts=_USAGE,
    ),
    Server(
        name="xAI",
        source="recorded, TestOpenAICompatibleThinking/xai-grok-3-mini: completion_tokens are without reasoning",
        calls="whole",
        open_finish=False,
        counts={**_USAGE, **_DETAILS, "completion_tokens": 20},
    ),
    Server(
        name="Z.ai",
        source="recorded, TestOpenAICompatibleCommon/zai-glm-4-7-flash",
        calls="whole",
        role="each",
        open_finish=False,
        usage="end",
    ),
    Server(
        name="Qwen",
        source="alibabacloud.com/help/en/model-studio/qwen-function-calling: later pieces have an empty id and no name",
        later={"id": "", "name": None},
        empty={"content": None},
        null_usage=True,
    ),
    Server(
        name="MiniMax",
        source="platform.minimax.io/docs, its API for OpenAI's clients: reasoning_split",
        reasoning=DETAILS,
        calls="whole",
        role="each",
        usage="end",
    ),
    Server(
        name="MiniMax, reasoning in the content",
        source="platform.minimax.io/docs, its API for OpenAI's clients, unless asked; MiniMax-AI/MiniMax-M2.5 2: role",
        reasoning=THINK,
        calls="whole",
        role="empty",
        usage="end",
    ),
    Server(
        name="Gemini",
        source="noho/dayu-agent 82: no index; ai.google.dev, thought signatures: extra_content of the first call",
        index="none",
        calls="whole",
        reasoning="",
        signs_calls=True,
    ),
    Server(
        name="Ollama",
        source="ollama/ollama 15457: index 0 for all calls",
        index="zero",
        calls="whole",
        reasoning="reasoning",
        counts=_USAGE,
    ),
    Server(
        name="Ollama, older",
        source="ollama/ollama 7881: no index",
        index="none",
        calls="whole",
        finish="stop",
        usage="none",
    ),
    Server(
        name="a gateway without ids",
        source="vercel/ai 18440: neither ids nor indices; arguments as objects, CRLF and no end are believed",
        believed=True,
        ids="none",
        index="zero",
        calls="object",
        finish="stop",
        usage="none",
        done=False,
        line=b"\r\n",
    ),
    Server(
        name="a gateway with ids of names",
        source="brainlid/langchain 620: the tool's name in the id; usage in each piece: vllm's continuous_usage_stats",
        ids="name",
        index="none",
        calls="whole",
        usage="each",
    ),
    Server(
        name="the older function_call",
        source="openai, ChoiceDeltaFunctionCall, which is deprecated; that a server still sends it is believed",
        believed=True,
        calls="function_call",
        finish="function_call",
    ),
)


class SloppyChat(OpenAIChat):
    """A server of the table. It shows what it thinks, whatever it is asked."""

    def __init__(self, server: Server, *answers: Answer) -> None:
        super().__init__(*answers)
        self.server = server
        self.usage = lambda *_: {**(server.counts or {**_USAGE, **_DETAILS})}
        self.signed: dict[str, Any] = {}  # by the ids of calls

    def validate(self, body: dict[str, Any]) -> None:
        earlier = False
        for message in reversed(body["messages"]):
            if message["role"] not in ("system", "user", "assistant", "tool"):
                raise _refused(f"Unexpected message role: {message['role']}")
            earlier = earlier or message["role"] == "user"
            for call in message.get("tool_calls") or ():
                if self.server.wants_reasoning and not earlier and not message.get("reasoning_content"):
                    raise _refused("The `reasoning_content` in the thinking mode must be passed back to the API.")
                if call["id"] in self.signed and call.get(_EXTRA) != self.signed[call["id"]]:
                    raise _refused("Function call is missing a thought_signature in functionCall parts.")

    def _play(self, body: dict[str, Any], answer: Answer) -> Iterator[bytes | StreamPause | Disconnect]:
        end = self.server.line * 2
        if self.server.comment:
            yield self.server.comment + end
        yield from (
            each if not isinstance(each, dict) else b"data: " + json.dumps(each).encode() + end
            for each in self._chunks(body, answer)
        )
        if self.server.done:
            yield b"data: [DONE]" + end

    def _chunks(self, body: dict[str, Any], answer: Answer) -> Iterator[Any]:
        server = self.server
        shared: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": body["model"],
        }
        usage = {"usage": self.usage(body, answer.output)}
        if server.null_usage:
            shared["usage"] = None
        open_finish = {"finish_reason": server.no_finish} if server.open_finish else {}
        first = True
        calls = [each for each in answer.output if isinstance(each, Call)]
        for delta in self._all_deltas(answer.output):
            if not isinstance(delta, dict):
                yield delta
                continue
            role = {"role": "" if server.role == "empty" else "assistant"} if first or server.role != "first" else {}
            first = False
            choice = {"index": 0, "delta": {**(server.empty or {}), **role, **delta}, **open_finish}
            yield {**shared, "choices": [choice], **(usage if server.usage == "each" else {})}
        ended: dict[str, Any] = {
            "index": 0,
            "delta": {},
            "finish_reason": answer.finish or (server.finish if calls else "stop"),
        }
        if server.usage == "choice":
            ended |= usage
        yield {**shared, "choices": [ended], **(usage if server.usage in ("end", "each") else {})}
        if server.usage == "behind" and (body.get("stream_options") or {}).get("include_usage"):
            yield {**shared, "choices": [], **usage}

    def _all_deltas(self, output: Sequence[Output]) -> Iterator[Any]:
        index = 0
        for each in output:
            match each:
                case Thought(text):
                    yield from _thought_deltas(text, self.server.reasoning, next(self.numbers))
                case Call():
                    yield from self._call_deltas(each, index, self._id(each, index))
                    index += 1
                case Text() | Refusal():
                    yield from self._deltas(each, index)
                case _:
                    yield each

    def _id(self, call: Call, index: int) -> str | None:
        match self.server.ids:
            case "own":
                return f"call_{next(self.numbers)}"
            case "empty":
                return ""
            case "name":
                return f"call-{call.name}"
            case "numbered":
                return f"functions.{call.name}:{index}"
        return None

    def _call_deltas(self, call: Call, index: int, id: str | None) -> Iterator[dict[str, Any]]:
        server = self.server
        if server.calls == "function_call":
            yield {"function_call": {"name": call.name, "arguments": ""}}
            yield from ({"function_call": {"arguments": part}} for part in cut_text(call.arguments))
            return
        place = {} if server.index == "none" else {"index": index if server.index == "counted" else 0}
        begun = {**place, **({} if id is None else {"id": id}), "type": "function"}
        if server.signs_calls and id and index == 0:
            self.signed[id] = {"google": {"thought_signature": f"secret-{next(self.numbers)}"}}
            begun[_EXTRA] = self.signed[id]
        if server.calls != "pieces":
            arguments: Any = json.loads(call.arguments or "{}") if server.calls == "object" else call.arguments
            yield {"tool_calls": [{**begun, "function": {"name": call.name, "arguments": arguments}}]}
            return
        yield {"tool_calls": [{**begun, "function": {"name": call.name, "arguments": ""}}]}
        later = dict(server.later or {})
        name = {"name": later.pop("name")} if "name" in later else {}
        for part in cut_text(call.arguments):
            yield {"tool_calls": [{**place, **later, "function": {**name, "arguments": part}}]}


def _thought_deltas(text: str, member: str, number: int) -> Iterator[dict[str, Any]]:
    match member:
        case "":
            return
        case _ if member == THINK:
            yield from ({"content": part} for part in cut_text(f"<think>{text}</think>\n\n", 5))
        case _ if member == DETAILS:
            shared = {"type": "reasoning.text", "id": "reasoning-text-1", "format": "MiniMax-response-v1", "index": 0}
            yield from ({DETAILS: [{**shared, "text": part}]} for part in cut_text(text))
        case _ if member == BLOCKS:
            for part in cut_text(text):
                block = {"type": "thinking", "thinking": part, "signature": ""}
                yield {"reasoning_content": part, BLOCKS: [block]}
            yield {BLOCKS: [{"type": "thinking", "thinking": "", "signature": f"secret-{number}"}]}
        case _:
            yield from ({member: part} for part in cut_text(text))


def _refused(message: str) -> RefusedRequest:
    return RefusedRequest(400, {"error": {"message": message, "type": "invalid_request_error"}})
