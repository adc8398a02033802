"""Servers of OpenAI's chat protocol that nobody knows by name: one that is strict, and one that is sloppy."""

from typing import Any, ClassVar, Final

from activities.model.port import InputMessage, ModelRequest
from tests.providers import bills
from tests.providers.behaviours.chat_wire import ChatWire
from tests.providers.behaviours.openai_failures import error
from tests.providers.behaviours.script import End, Failure
from tests.providers.double_requests import GO
from tests.providers.provider_double import event
from tests.providers.sloppy_chat import Server, SloppyChat
from tests.providers.strict_chat import StrictChat

_LIMITED: Final = error(
    "Rate limit reached for model `openai/gpt-oss-120b` on tokens per minute (TPM): Limit 8000, Used 7900, Requested "
    "900. Please try again in 34s.",
    "rate_limit_exceeded",
    "tokens",
)


class StrictWire(ChatWire):
    """Groq's forms and failures, at an address of a person's own."""

    name = "strict compatible"
    model = "openai/openai/gpt-oss-120b"
    thinks = True
    signs = False
    ends = {End.STOP: "stop", End.LENGTH: "length", End.FILTER: "content_filter"}
    failures = {
        **ChatWire.failures,
        Failure.MODEL: (404, error("The model `x` does not exist or you do not have access to it.", "model_not_found")),
        Failure.TOO_LONG: (
            400,
            error("Please reduce the length of the messages or completion.", "context_length_exceeded"),
        ),
        Failure.TOO_LARGE: (413, error("Request Entity Too Large", "request_too_large")),
        Failure.RATE: (429, _LIMITED),
    }
    hints = (
        ({"retry-after": "34"}, _LIMITED),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "34s"}, _LIMITED),
        ({}, _LIMITED),
    )

    def __init__(self) -> None:
        super().__init__(StrictChat())

    def request(self, messages: tuple[InputMessage, ...] = GO, **more: Any) -> ModelRequest:
        """Without a cache key, which a person's own endpoint gets only if it is configured so."""
        return super().request(messages, **{**more, "cache_key": None})


SLOPPY: Final = Server(
    name="much that a server of the table does otherwise",
    source="sloppy_chat.SERVERS",
    ids="none",
    index="zero",
    calls="whole",
    reasoning="reasoning",
    role="each",
    empty={"content": None, "tool_calls": None},
    open_finish=False,
    usage="choice",
    null_usage=True,
    counts={"prompt_tokens": 100, "completion_tokens": 30, "cached_tokens": 60},
    done=False,
    line=b"\r\n",
    comment=b": keep-alive",
)
_CACHED: Final = ("prompt_cache_hit_tokens", "cached_tokens")
_VLLM: Final[dict[str, Any]] = {"object": "error", "type": "BadRequestError", "param": None, "code": 400}


class SloppyWire(ChatWire):
    """Failures of vLLM, llama.cpp, FastAPI, nginx and LM Studio."""

    name = "sloppy compatible"
    model = "openai/some-model"
    thinks = True
    signs = False
    keep_alive = b": keep-alive\r\n\r\n"
    ends = {
        **ChatWire.ends,  # a LiteLLM proxy passes OpenAI's refusals on
        End.WINDOW: "model_context_window_exceeded",  # docs.z.ai, the chat completion API: finish_reason
    }
    failures = {
        Failure.KEY: (401, {"error": "Unauthorized"}),
        Failure.CREDIT: (402, error("Insufficient Balance", "invalid_request_error", "unknown_error")),
        Failure.MODEL: (404, {**_VLLM, "message": "The model `some-model` does not exist.", "code": 404}),
        Failure.TIMEOUT: (408, "Request Timeout"),
        Failure.TOO_LARGE: (413, "<html>413 Request Entity Too Large</html>"),
        Failure.TOO_LONG: (400, {**_VLLM, "message": "This model's maximum context length is 2 tokens."}),
        Failure.RATE: (429, {"detail": "Too many requests"}),
        Failure.QUOTA: (429, error("You exceeded your current quota", "insufficient_quota")),
        Failure.SERVER: (500, "Internal Server Error"),
        Failure.GATEWAY: (502, "<html>502 Bad Gateway</html>"),
        Failure.OVERLOADED: (503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
        Failure.IN_STREAM: (
            200,
            event({"error": {**_VLLM, "message": "EngineCore encountered an issue.", "code": 500}}),
        ),
        Failure.AS_SUCCESS: (
            200,
            event({"error": {"message": "Compute error."}, "message": "Compute error."}, "error"),
        ),
    }
    hints = (
        ({"retry-after": "34"}, {"detail": "Too many requests"}),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "34"}, "Too many requests"),
    )

    server: ClassVar[Server] = SLOPPY

    def __init__(self) -> None:
        super().__init__(SloppyChat(self.server))

    def bill(self) -> bool:
        """Under the server's own name for cached tokens."""
        counts = self.server.counts or {}
        self.service.usage = bills.openai_chat(next(filter(counts.get, _CACHED), None))
        return True
