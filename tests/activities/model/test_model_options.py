"""Options by the names of OpenCode's packages: each wire has them where it had them by those of the chat protocol."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import pytest

from activities.model import model_options
from activities.model.endpoint import Endpoint, Wire
from activities.model.model_options import spell
from activities.model.port import ModelRequest, UserInput
from activities.model.wires import (
    anthropic_request,
    bedrock_request,
    chat_request,
    gemini_request,
    ollama,
    responses_request,
)
from activities.model.wires.wire_request import WireRequest
from workflows.domain.tool_offer import ToolOffer

TOOL: Final = ToolOffer(name="read", description="Reads.", parameters={"type": "object", "properties": {}})
OPTIONS: Final[Mapping[str, Any]] = {
    **{"cacheControl": {"type": "ephemeral"}, "enableThinking": True, "frequencyPenalty": 0.1, "logitBias": {"1": 2}},
    **{"maxCompletionTokens": 99, "maxToolCalls": 3, "parallelToolCalls": False, "presencePenalty": 0.2},
    **{"promptCacheKey": "key", "promptCacheRetention": "24h", "reasoningEffort": "high", "reasoningFormat": "raw"},
    **{"reasoningSummary": "auto", "safePrompt": True, "safetyIdentifier": "me", "serviceTier": "flex"},
    **{"stopSequences": ["END"], "stop_sequences": ["END"], "textVerbosity": "low", "thinkingBudget": 500},
    **{"topK": 7, "topLogprobs": 2, "topP": 0.3},
}
OF_OPENAI: Final = (
    *("enableThinking", "maxToolCalls", "promptCacheKey", "promptCacheRetention", "reasoningFormat", "safePrompt"),
    *("safetyIdentifier", "textVerbosity"),
)


class Case(NamedTuple):
    """`within`: where options stand by the chat protocol's names; `elsewhere`: those with other paths; `unsent`: those
    that are left out."""

    model: str
    wire: Wire
    prepare: Callable[[ModelRequest], WireRequest]
    within: str
    elsewhere: Mapping[str, str]
    unsent: tuple[str, ...]


CASES: Final = [
    Case(
        "anthropic/claude-opus-4-5",
        Wire.ANTHROPIC,
        anthropic_request.prepare,
        "",
        {"maxCompletionTokens": "max_tokens", "stopSequences": "stop_sequences", "stop_sequences": "stop_sequences"},
        (*OF_OPENAI, "frequencyPenalty", "logitBias", "presencePenalty", "reasoningSummary"),
    ),
    Case(
        "bedrock/amazon.nova-2-lite",
        Wire.BEDROCK,
        bedrock_request.prepare,
        "additionalModelRequestFields.",
        {
            "maxCompletionTokens": "inferenceConfig.maxTokens",
            "reasoningEffort": "additionalModelRequestFields.reasoningConfig.maxReasoningEffort",
            "serviceTier": "serviceTier.type",
            "stopSequences": "inferenceConfig.stopSequences",
            "stop_sequences": "inferenceConfig.stopSequences",
            "topP": "inferenceConfig.topP",
        },
        ("frequencyPenalty", "logitBias", "parallelToolCalls", "presencePenalty", "reasoningSummary"),
    ),
    Case("compatible/qwen", Wire.CHAT, chat_request.prepare, "", {}, ("reasoningSummary",)),
    Case(
        "gemini/gemini-3-pro",
        Wire.GEMINI,
        gemini_request.prepare,
        "generationConfig.",
        {
            "frequencyPenalty": "generationConfig.frequencyPenalty",
            "maxCompletionTokens": "generationConfig.maxOutputTokens",
            "presencePenalty": "generationConfig.presencePenalty",
            "reasoningEffort": "generationConfig.thinkingConfig.thinkingLevel",
            "stopSequences": "generationConfig.stopSequences",
            "stop_sequences": "generationConfig.stopSequences",
            "topK": "generationConfig.topK",
            "topP": "generationConfig.topP",
        },
        (*OF_OPENAI, "logitBias", "parallelToolCalls", "reasoningSummary"),
    ),
    Case(
        "ollama_chat/gpt-oss",
        Wire.OLLAMA,
        ollama.prepare,
        "options.",
        {"maxCompletionTokens": "options.num_predict", "reasoningEffort": "think", "topLogprobs": "top_logprobs"},
        ("logitBias", "parallelToolCalls", "reasoningSummary"),
    ),
    Case(
        "openai/gpt-5",
        Wire.RESPONSES,
        responses_request.prepare,
        "",
        {
            "maxCompletionTokens": "max_output_tokens",
            "reasoningEffort": "reasoning.effort",
            "reasoningSummary": "reasoning.summary",
            "textVerbosity": "text.verbosity",
        },
        (),
    ),
]
OF_CLAUDE: Final = {  # what the others have in a word is a form of its own there
    "parallelToolCalls": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    "reasoningEffort": {"thinking": {"type": "enabled", "budget_tokens": 4096}},
}


def body(case: Case, options: Mapping[str, Any]) -> dict[str, Any]:
    endpoint = Endpoint(model=case.model, wire=case.wire, base_url="http://localhost/v1")
    messages, spelled = (UserInput(content="Hi."),), spell(options, case.wire)
    request = ModelRequest(endpoint=endpoint, messages=messages, tools=(TOOL,), options=spelled)
    members: dict[str, Any] = json.loads(case.prepare(request).body)
    return members


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.wire))
@pytest.mark.parametrize("name", OPTIONS)
def test_each_option_stands_where_the_wire_wants_it(case: Case, name: str) -> None:
    plain, sent = body(case, {}), body(case, {name: OPTIONS[name]})
    if name in case.unsent:
        assert sent == plain
    elif case.wire is Wire.ANTHROPIC and name in OF_CLAUDE:
        assert sent == plain | OF_CLAUDE[name]
    else:
        chat = {"stopSequences": "stop", "stop_sequences": "stop", "textVerbosity": "verbosity"}
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
        found: Any = sent
        for member in case.elsewhere.get(name, f"{case.within}{chat.get(name, snake)}").split("."):
            found = found[member]
        assert found == OPTIONS[name]


def test_every_name_that_is_spelled_anew_is_among_them() -> None:
    assert set(OPTIONS) == set(vars(model_options)["_NAMES"])
