"""The doubles that litellm's wire reaches, each behind one form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pydantic import JsonValue

from activities.model.failures import Overflow, Retry, StopKind
from activities.model.port import Finish
from tests.providers import bedrock_converse, mistral_chat
from tests.providers.bedrock_converse import Bedrock
from tests.providers.double_outputs import Answer
from tests.providers.mistral_chat import Mistral
from tests.providers.ollama_chat import Ollama, error_line
from tests.providers.provider_double import ProviderDouble, RefusedRequest, event

Expected = type[Retry] | type[Overflow] | StopKind


class Service(Protocol):
    """What the doubles have in common."""

    double: ProviderDouble


@dataclass(frozen=True)
class Spoken:
    """A provider: how it is asked, how it ends answers, and how it fails.

    `ends`: its words for the ends of answers. `failures`: what it answers instead, and what is right to do then.
    `broken`: pieces that report a failure in the middle of an answer.
    """

    name: str
    model: str
    make: Callable[..., Service]
    ends: Mapping[str, Finish | Expected]
    failures: Mapping[str, tuple[RefusedRequest, Expected]]
    key: str | None = None
    thinking: Mapping[str, JsonValue] = field(default_factory=dict)
    broken: Mapping[str, bytes] = field(default_factory=dict)

    def serve(self, *answers: Answer) -> Service:
        return self.make(*answers)


def _bedrock(status: int, code: str, message: str) -> RefusedRequest:
    return bedrock_converse.refused(status, code, message)


def _mistral(status: int, message: str, kind: str, code: str) -> RefusedRequest:
    return RefusedRequest(status, mistral_chat.error_body(message, kind, code))


def _ollama(status: int, message: str) -> RefusedRequest:
    return RefusedRequest(status, {"error": message})


LOST: Final[Mapping[str, Finish]] = dict.fromkeys(  # litellm makes "stop" of them
    ("model_context_window_exceeded", "malformed_tool_use", "malformed_model_output"), Finish.STOP
)
BEDROCK: Final = Spoken(
    name="bedrock",
    model=f"bedrock/{bedrock_converse.CLAUDE}",
    make=Bedrock,
    thinking={"thinking": {"type": "enabled", "budget_tokens": 2048}},
    ends={
        "end_turn": Finish.STOP,
        "stop_sequence": Finish.STOP,
        "max_tokens": Finish.LENGTH,
        "content_filtered": Finish.CONTENT_FILTER,
        "guardrail_intervened": Finish.CONTENT_FILTER,
        **LOST,
    },
    failures={
        "throttled": (
            _bedrock(429, "ThrottlingException", "Too many tokens, please wait before trying again."),
            Retry,
        ),
        "per day": (_bedrock(429, "ThrottlingException", "Too many tokens per day, please wait."), Retry),
        "not ready": (_bedrock(429, "ModelNotReadyException", "The model is not ready for inference."), Retry),
        "timeout": (_bedrock(408, "ModelTimeoutException", "Model has timed out in processing the request."), Retry),
        "model error": (_bedrock(424, "ModelErrorException", "The model failed."), Retry),
        "internal": (_bedrock(500, "InternalServerException", "The system met an error."), Retry),
        "unavailable": (_bedrock(503, "ServiceUnavailableException", "Bedrock is unable to process it."), Retry),
        "denied": (
            _bedrock(403, "AccessDeniedException", "You don't have access to the model with the specified model ID."),
            StopKind.AUTH,
        ),
        "expired": (
            _bedrock(403, "ExpiredTokenException", "The security token included in the request is expired"),
            StopKind.AUTH,
        ),
        "not found": (_bedrock(404, "ResourceNotFoundException", "The model is not found."), StopKind.NOT_FOUND),
        "invalid": (
            _bedrock(400, "ValidationException", "The provided model identifier is invalid."),
            StopKind.BAD_REQUEST,
        ),
        "too long": (_bedrock(400, "ValidationException", "Input is too long for requested model."), Overflow),
        "too long, in the model's words": (
            _bedrock(
                400,
                "ValidationException",
                "The model returned the following errors: prompt is too long: 201000 tokens > 200000 maximum",
            ),
            Overflow,
        ),
    },
    broken={
        "throttled": bedrock_converse.THROTTLED,
        "overloaded": bedrock_converse.OVERLOADED,
        "broken": bedrock_converse.BROKEN,
    },
)
MISTRAL: Final = Spoken(
    name="mistral",
    model="mistral/magistral-medium-latest",
    make=Mistral,
    key=mistral_chat.KEY,
    ends={"stop": Finish.STOP, "length": Finish.LENGTH, "error": Finish.STOP},  # litellm makes "stop" of "error"
    failures={
        "rate": (_mistral(429, "Rate limit exceeded", "rate_limited", "1300"), Retry),
        "capacity": (_mistral(429, "Service tier capacity exceeded for this model.", "service_tier", "3505"), Retry),
        "key": (RefusedRequest(401, {"detail": "Unauthorized"}), StopKind.AUTH),
        "model": (_mistral(400, "Invalid model: x", "invalid_model", "1500"), StopKind.BAD_REQUEST),
        "types": (
            RefusedRequest(422, mistral_chat.error_body({"detail": []}, "invalid_request_error")),
            StopKind.BAD_REQUEST,
        ),
        "too long": (
            _mistral(
                400,
                "Prompt contains 140000 tokens, too large for model with 131072 maximum context length",
                "invalid_request_prompt",
                "3051",
            ),
            Overflow,
        ),
        "internal": (_mistral(500, "Service unavailable.", "internal_server_error", "1000"), Retry),
        "gateway": (RefusedRequest(502, {"message": "Bad gateway"}), Retry),
    },
    broken={"error": event({"object": "error", "message": "Service unavailable.", "type": "unavailable", "code": "1"})},
)
OLLAMA: Final = Spoken(
    name="ollama",
    model="ollama_chat/qwen3",
    make=Ollama,
    ends={"stop": Finish.STOP, "length": Finish.LENGTH},
    failures={
        "model": (_ollama(404, "model 'qwen3' not found"), StopKind.NOT_FOUND),
        "tools": (_ollama(400, "registry.ollama.ai/library/qwen3 does not support tools"), StopKind.BAD_REQUEST),
        "busy": (_ollama(503, "server busy, please try again.  maximum pending requests exceeded"), Retry),
        "runner": (_ollama(500, "llama runner process has terminated: exit status 2"), Retry),
    },
    broken={"error": error_line("an error was encountered while running the model: unexpected EOF")},
)
SERVICES: Final = (BEDROCK, MISTRAL, OLLAMA)


def asked(service: Service) -> list[dict[str, Any]]:
    """The requests for answers, of a double that is also asked for other things."""
    requests: list[dict[str, Any]] = getattr(service, "asked", service.double.asked)
    return requests
