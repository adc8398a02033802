"""Failures of servers that speak OpenAI's chat protocol, in their own forms."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from activities.model.endpoint import Wire
from activities.model.failures import Overflow, Retry, Stop, StopKind, classify
from activities.model.port import Finish
from activities.model.wires.router import WireRouter
from tests.providers.azure_openai import RULES as AZURE
from tests.providers.azure_openai import filtered_prompt
from tests.providers.double_requests import collect_answer, request
from tests.providers.openai_chat import KEY, OpenAIChat
from tests.providers.provider_double import ProviderDouble, RefusedRequest, event, serve_double
from workflows.domain.errors import ModelError
from workflows.domain.messages import ReasoningPart, TextPart

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Failure:
    """What a server answers, and what follows; `source` says where it stands, `kind` is of a body with status 200."""

    source: str
    body: Any
    expected: type[Retry] | type[Overflow] | StopKind
    words: str
    status: int = 200
    kind: str = "text/event-stream"
    pause: float | None = None


def _error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def _minimax(code: int, message: str) -> dict[str, Any]:
    return {"id": "1", "choices": None, "base_resp": {"status_code": code, "status_msg": message}}


_MINIMAX: Final = "platform.minimax.io/docs, error codes"
_KEPT: Final = (
    "Trying to keep the first 6547 tokens when context overflows. However, the model is loaded with a context length "
    "of only 4096 tokens, which is not enough."
)
FAILURES: Final = (
    Failure("n4ze3m/page-assist 356: LM Studio", event(_error(_KEPT), "error"), Overflow, "only 4096"),
    Failure("zendev-sh/goai 110: LM Studio", event(_error("Compute error."), "error"), Retry, "Compute error."),
    Failure(_MINIMAX, _minimax(1002, "rate limit"), Retry, "rate limit", kind="application/json"),
    Failure(_MINIMAX, _minimax(1008, "insufficient balance"), StopKind.QUOTA, "balance", kind="application/json"),
    *(
        Failure(_MINIMAX, body, StopKind.AUTH, "login fail", kind=kind)
        for body, kind in (
            (_minimax(1004, "login fail"), "application/json"),
            (event(_minimax(1004, "login fail")), "text/event-stream"),
        )
    ),
    Failure(
        _MINIMAX,
        {"type": "error", **_error("login fail: Please carry the API secret key", type="authorized_error")},
        StopKind.AUTH,
        "login fail",
        status=401,
    ),
    Failure(
        "console.groq.com/docs/tool-use: a call that Groq could not read",
        event(_error("Failed to call a function.", type="invalid_request_error", code="tool_use_failed"), "error"),
        Retry,
        "Failed to call",
    ),
    Failure(
        "Kilo-Org/kilocode 10375: Cerebras",
        {"message": "property 'x' is unsupported", "type": "invalid_request_error", "code": "wrong_api_format"},
        StopKind.BAD_REQUEST,
        "property 'x' is unsupported",
        status=400,
    ),
    Failure(
        "platform.moonshot.ai/docs, errors",
        _error("request reached max organization concurrency, please try again after 34 seconds"),
        Retry,
        "concurrency",
        status=429,
        pause=34,
    ),
    Failure(
        "platform.moonshot.ai/docs, errors",
        _error("You exceeded your current token quota", type="exceeded_current_quota_error"),
        StopKind.QUOTA,
        "quota",
        status=429,
    ),
    Failure(
        "docs.z.ai, error codes",
        _error("Insufficient balance or no resource package. Please recharge.", code="1113"),
        StopKind.QUOTA,
        "recharge",
        status=429,
    ),
    Failure(
        "docs.z.ai, error codes",
        _error("Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-02-01 00:00:00", code="1310"),
        StopKind.QUOTA,
        "Exhausted",
        status=429,
    ),
    Failure(
        "docs.z.ai, error codes", _error("Prompt exceeds max length", code="1261"), Overflow, "max length", status=400
    ),
    Failure(
        "DashScope's error messages",
        _error("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 202752]"),
        Overflow,
        "input length",
        status=400,
    ),
    Failure(
        "Together, as text-generation-inference",
        _error("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs`"),
        Overflow,
        "must be <=",
        status=422,
    ),
    Failure(
        "openrouter.ai/docs, errors: moderation",
        _error('OpenAI requires moderation. Your input was flagged for "violence"', code=403),
        StopKind.CONTENT,
        "flagged",
        status=403,
    ),
    Failure(
        "xAI: a team without credits",
        {"code": "denied", "error": "Your newly created team doesn't have any credits yet. You can purchase credits."},
        StopKind.QUOTA,
        "credits",
        status=403,
    ),
    Failure(
        "xAI: a wrong key",
        {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: ab***yz."},
        StopKind.AUTH,
        "Incorrect API key",
        status=400,
    ),
    Failure(
        "compl-ai/compl-ai 20: a prompt that Azure's filter blocks",
        filtered_prompt(),
        StopKind.CONTENT,
        "content management policy",
        status=400,
    ),
    Failure(
        "Azure's reference",
        {"error": {"code": "DeploymentNotFound", "message": AZURE["deployment"].words}},
        StopKind.NOT_FOUND,
        "deployment",
        status=404,
    ),
    Failure(
        "llama.cpp, tools/server: exceed_context_size_error",
        _error("the request exceeds the available context size, try increasing it", code=400),
        Overflow,
        "context size",
        status=400,
    ),
    Failure(
        "opencode's patterns of overflow: xAI",
        {"code": "invalid", "error": "This model's maximum prompt length is 2 but the request contains 3 tokens."},
        Overflow,
        "maximum prompt length",
        status=400,
    ),
)


@pytest.mark.parametrize("failure", FAILURES, ids=[f"{each.source}: {each.words}" for each in FAILURES])
async def test_a_failure_of_its_own_form_is_understood(port: WireRouter, failure: Failure) -> None:
    service = OpenAIChat()

    def fail(*_: object) -> Any:
        if failure.status != 200:
            raise RefusedRequest(failure.status, failure.body)
        return [failure.body if isinstance(failure.body, bytes) else json.dumps(failure.body).encode()]

    service.double.check, service.double.kind = fail, failure.kind
    async with serve_double(service.double):
        with pytest.raises(ModelError, match=failure.words) as caught:
            await collect_answer(port, request(Wire.CHAT, "openai/m", f"{service.double.url}/v1", KEY))
    action = classify(caught.value.failure)
    assert (action.kind if isinstance(action, Stop) else type(action)) == failure.expected
    if isinstance(action, Retry) and failure.pause:
        assert action.pause_seconds(1, _NOW, jitter=0) == failure.pause


async def test_an_answer_is_whole_where_its_stream_says_so_without_a_finish_reason(port: WireRouter) -> None:
    text = event({"choices": [{"index": 0, "delta": {"content": "<think>So.</think>Hi"}}]})
    whole, empty = [ProviderDouble(lambda *_, pieces=pieces: [*pieces, b"data: [DONE]\n\n"]) for pieces in ([text], [])]
    async with serve_double(whole), serve_double(empty):
        answer = await collect_answer(port, request(Wire.CHAT, "some/model", whole.url, KEY))
        with pytest.raises(ModelError, match="answered nothing"):
            await collect_answer(port, request(Wire.CHAT, "some/model", empty.url, KEY))

    thought = ReasoningPart(text="So.", details=({"field": "<think>"},))
    assert (answer.finish, answer.parts) == (Finish.STOP, (thought, TextPart(text="Hi")))
