"""A model's options as Anthropic's Messages take them, by the family of the model."""

import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import JsonValue

from activities.model.model_families import (
    CLAUDE_4,
    CLAUDE_ADAPTS,
    CLAUDE_ALWAYS_THINKS,
    CLAUDE_TAKES_BUDGET,
    CLAUDE_TALKS_IN_THOUGHTS,
    CLAUDE_THINKS_BETWEEN_CALLS,
    claude_binds,
)
from activities.model.output_limit import EFFORT_BUDGETS
from activities.model.request_json import JsonDict, merge_options
from activities.model.wires.chat_options import OPENAI_ONLY, forbids_parallel_calls, translatable

_PATHS: Final = {  # options → their paths here
    "max_completion_tokens": ("max_tokens",),
    "stop": ("stop_sequences",),
    "user": ("metadata", "user_id"),
    "effort": ("output_config", "effort"),
}
_UNKNOWN: Final = ("seed", "frequency_penalty", "presence_penalty", "reasoning_effort", "thinking")
_BETAS: Final = "anthropicBeta"  # names of betas, in a header
_INTERLEAVED: Final = "interleaved-thinking-2025-05-14"
BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
_DROPS: Final = {"prefix_mismatch_behavior": "drop_block"}
_NOT_DROPPED: Final = re.compile(r"mythos-5[-.]1(?!\d)")
_SPELLINGS: Final = {"budgetTokens": "budget_tokens", "blockBinding": "block_binding"}
_SAMPLING: Final = ("temperature", "top_p", "top_k")
_SHOWN: Final = {"type": "adaptive", "display": "summarized"}
_DEEP: Final = ("xhigh", "max")  # efforts that no model combines with fewer thoughts
_NOT_WITH_THOUGHTS: Final = ("temperature", "top_k")


def is_adaptive(model: str) -> bool:
    """Whether it is a Claude that thinks as much as it finds right."""
    return bool(CLAUDE_ADAPTS.search(model))


def refuses_thoughts(form: JsonDict) -> bool:
    """Whether a request in `form` may have no thoughts in its newest turn. Others than Claude think unasked."""
    kind = (form.get("thinking") or {}).get("type")
    return kind == "disabled" or (kind is None and "claude" in form["model"] and not is_adaptive(form["model"]))


def merge_message_options(form: JsonDict, options: Mapping[str, JsonValue], *, began_without_thought: bool) -> JsonDict:
    """`form` with the options.

    `began_without_thought`: the model has answered in this turn without thinking. Anthropic then refuses a budget for
    thinking.
    """
    model, effort = form["model"], options.get("reasoning_effort")
    others = translatable(options, (*_UNKNOWN, *OPENAI_ONLY, _BETAS))
    thinking, default_effort = _thinking(model, options.get("thinking"), effort)
    if thinking.get("type") == "between_tools" and options.get("effort") in _DEEP:
        thinking = dict(_SHOWN)
    if thinking.get("type") == "enabled" and began_without_thought:
        thinking = {}
    if thinking := _with_binding(model, thinking):
        form["thinking"] = thinking
    if default_effort:
        form["output_config"] = {**form.get("output_config", {}), "effort": default_effort}
    merge_options(form, others, _PATHS)
    if forbids_parallel_calls(options):
        form |= _one_call(form)
    refused = _refused_sampling(model, thinks=bool(thinking) and thinking["type"] != "disabled")
    return {name: value for name, value in form.items() if name not in refused}


def beta_names(form: JsonDict, options: Mapping[str, JsonValue]) -> list[str]:
    """The betas that a request in `form` asks for: those of the options, and those of its thinking."""
    written = options.get(_BETAS) or []
    names = [str(name) for name in (written if isinstance(written, list) else [written])]
    if (form.get("thinking") or {}).get("type") == "enabled" and CLAUDE_4.search(form["model"]):
        names = [_INTERLEAVED, *names]
    if "block_binding" in (form.get("thinking") or {}):
        names.append(BINDING_BETA)
    return list(dict.fromkeys(names))


def _one_call(form: JsonDict) -> JsonDict:
    """The choice of tools that allows one call at a time; none without tools, or where no call is allowed."""
    choice = form.get("tool_choice") or {"type": "auto"}
    if not form.get("tools") or not isinstance(choice, dict) or choice.get("type") == "none":
        return {}
    return {"tool_choice": {**choice, "disable_parallel_tool_use": True}}


def _thinking(model: str, written: JsonValue, effort: JsonValue) -> tuple[dict[str, Any], str | None]:
    if not isinstance(written, dict | None):
        raise ValueError(f"thinking is {written!r}")
    thinking = {_SPELLINGS.get(name, name): value for name, value in (written or {}).items()}
    adapts = is_adaptive(model)
    if isinstance(effort, str):
        thinking = {"type": "enabled", "budget_tokens": EFFORT_BUDGETS[effort]} if effort != "none" else {}
    if CLAUDE_TALKS_IN_THOUGHTS.search(model) and (effort == "none" or thinking.get("type", "disabled") == "disabled"):
        return _least_thinking(model) if thinking or effort == "none" else dict(_SHOWN), None
    if adapts and thinking.get("type") == "enabled" and not (effort is None and CLAUDE_TAKES_BUDGET.search(model)):
        level = effort if isinstance(effort, str) else _effort_of(thinking.get("budget_tokens"))
        shown = {**_SHOWN, **({"display": thinking["display"]} if "display" in thinking else {})}
        return shown, "low" if level == "minimal" else level
    return ({**_SHOWN, **thinking} if thinking.get("type") == "adaptive" else thinking), None


def _least_thinking(model: str) -> dict[str, Any]:
    if not CLAUDE_ALWAYS_THINKS.search(model):
        return {"type": "disabled"}
    return {"type": "between_tools"} if CLAUDE_THINKS_BETWEEN_CALLS.search(model) else dict(_SHOWN)


def _with_binding(model: str, thinking: dict[str, Any]) -> dict[str, Any]:
    """A second net: the service is to drop a thought whose prefix has changed instead of refusing the request.
    `bound_thoughts` is the first. A person's `blockBinding` comes before it; `false` leaves it out."""
    written = thinking.get("block_binding")
    others = {name: value for name, value in thinking.items() if name != "block_binding"}
    if isinstance(written, dict):
        behavior = written.get("prefixMismatchBehavior", written.get("prefix_mismatch_behavior"))
        return {**others, "block_binding": {"prefix_mismatch_behavior": behavior}}
    drops = claude_binds(model) and not _NOT_DROPPED.search(model)
    if written is False or not drops or others.get("type", "adaptive") not in ("adaptive", "enabled"):
        return others
    return {"type": "adaptive", **others, "block_binding": _DROPS}


def _effort_of(budget: JsonValue) -> str:
    tokens = budget if isinstance(budget, int) else 0
    reached = [name for name in ("medium", "high", "xhigh") if tokens >= EFFORT_BUDGETS[name]]
    return reached[-1] if reached else "low"


def _refused_sampling(model: str, *, thinks: bool) -> tuple[str, ...]:
    if is_adaptive(model) and not CLAUDE_TAKES_BUDGET.search(model):
        return _SAMPLING
    return _NOT_WITH_THOUGHTS if thinks else ()
