"""A model's options as Gemini takes them, by the family of the model."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import JsonValue

from activities.model.model_families import GEMINI_MINIMAL, GEMINI_SIGNS, GEMINI_THINKS
from activities.model.output_limit import EFFORT_BUDGETS
from activities.model.request_json import JsonDict, merge_options
from activities.model.wires.chat_options import OPENAI_ONLY, translatable

_CONFIG: Final = "generationConfig"
_TOP: Final = ("safetySettings", "cachedContent", "toolConfig", "labels")
_NAMES: Final = {  # of the chat protocol → here; all others go out as they are
    "top_p": "topP",
    "top_k": "topK",
    "stop": "stopSequences",
    "max_completion_tokens": "maxOutputTokens",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
}
_PATHS: Final = {name: (name,) for name in _TOP} | {name: (_CONFIG, ours) for name, ours in _NAMES.items()}
_OF_THINKING: Final = ("reasoning_effort", "reasoningEffort", "thinking", "thinkingConfig")
_LEVELS: Final = {"none": "minimal", "xhigh": "high", "max": "high"}  # what no model has a level for


def signs_calls(model: str) -> bool:
    """Whether the model wants the signatures of its calls back, and their ids."""
    return bool(GEMINI_SIGNS.match(model))


def merge_generation_options(form: JsonDict, model: str, options: Mapping[str, JsonValue]) -> JsonDict:
    if thinking := _thinking(model, options):
        form[_CONFIG]["thinkingConfig"] = thinking
    others = translatable(options, ("user", *OPENAI_ONLY, *_OF_THINKING))
    return merge_options(form, others, _PATHS, default=(_CONFIG,))


def _thinking(model: str, options: Mapping[str, JsonValue]) -> dict[str, Any]:
    shown = {"includeThoughts": True} if GEMINI_THINKS.match(model) else {}
    own, written = options.get("thinkingConfig"), options.get("thinking")
    effort = options.get("reasoning_effort", options.get("reasoningEffort"))
    if isinstance(own, dict):
        return {**shown, **own}
    if isinstance(effort, str):
        return {"includeThoughts": effort != "none", **_by_effort(model, effort)}
    if written is None:
        return shown
    if not isinstance(written, dict):
        raise ValueError(f"thinking is {written!r}")
    if written.get("type") == "disabled":
        return {"includeThoughts": False}
    budget = written.get("budget_tokens", written.get("budgetTokens"))
    return {"includeThoughts": True} | ({} if signs_calls(model) or budget is None else {"thinkingBudget": budget})


def _by_effort(model: str, effort: str) -> dict[str, Any]:
    if signs_calls(model):
        level = _LEVELS.get(effort, effort)
        return {"thinkingLevel": "low" if level == "minimal" and not GEMINI_MINIMAL.match(model) else level}
    return {"thinkingBudget": 0 if effort == "none" else EFFORT_BUDGETS[effort]}
