"""A model's options as Bedrock's Converse takes them, by the family of the model, and what that family takes."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from activities.model.request_json import JsonDict, merge_options
from activities.model.wires.anthropic_options import BINDING_BETA, merge_message_options
from activities.model.wires.chat_options import translatable

OTHERS: Final = "additionalModelRequestFields"  # of the model behind the service, in its own words
_LIMITS: Final = {  # of the chat protocol, of Anthropic → here
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), "maxTokens"),
    **dict.fromkeys(("stop", "stop_sequences"), "stopSequences"),
    "top_p": "topP",
    "temperature": "temperature",
}
_TOP: Final = ("guardrailConfig", "performanceConfig", "requestMetadata", "additionalModelResponseFieldPaths", OTHERS)
_PATHS: Final = {
    **{name: ("inferenceConfig", ours) for name, ours in _LIMITS.items()},
    **{name: (name,) for name in _TOP},
    "service_tier": ("serviceTier", "type"),
}
_NAMES: Final = {"anthropicBeta": "anthropic_beta"}
_UNKNOWN: Final = ("user", "seed", "frequency_penalty", "presence_penalty", "extra_body")  # the last goes in as it is
_REASONING: Final = "reasoningConfig"  # of OpenCode's package, for all models


class Family(NamedTuple):
    """What models of one family take. `closes`: a word of theirs between results and a prompt."""

    claude: bool
    caches: bool
    statuses: bool
    closes: bool
    short_ids: bool


@cache
def family_of(model: str) -> Family:
    """From AWS's user guide (prompt caching), the reference of the API (`ToolResultBlock.status`), and its refusals."""
    claude, nova = "claude" in model, "nova-" in model
    old = re.search(r"claude-(v\d|instant|3-(opus|sonnet|haiku)|3-5-sonnet)", model)
    return Family(
        claude=claude,
        caches=nova or (claude and not old),
        statuses=claude or nova,
        closes=bool(re.search(r"llama|mistral|pixtral", model)),
        short_ids=bool(re.search(r"mistral|pixtral", model)),
    )


def settle_options(form: JsonDict, options: Mapping[str, JsonValue], *, began_without_thought: bool) -> JsonDict:
    """`form` with the options: Claude's are Anthropic's. It holds what Anthropic's Messages call so."""
    named = {_NAMES.get(name, name): value for name, value in options.items() if name not in _UNKNOWN}
    config = named.pop(_REASONING, None)
    if not family_of(form["model"]).claude:
        return form | _thinking(form["model"], named, config) | translatable(named)
    if isinstance(config, dict):
        effort = config.get("maxReasoningEffort")
        named |= {"effort": effort} if effort else {}
        named["thinking"] = {name: value for name, value in config.items() if name != "maxReasoningEffort"}
    settled = merge_message_options(form, named, began_without_thought=began_without_thought)
    if "block_binding" in settled.get("thinking", {}):
        settled["anthropic_beta"] = [*settled.get("anthropic_beta", ()), BINDING_BETA]
    return settled


def converse_parameters(form: JsonDict, options: Mapping[str, JsonValue]) -> JsonDict:
    """What `settle_options` made, as members of a request."""
    settled = {name: value for name, value in form.items() if name not in ("model", "tools")}
    extra = {"extra_body": options["extra_body"]} if "extra_body" in options else {}
    return merge_options({}, {**settled, **extra}, _PATHS, default=(OTHERS,))


def _thinking(model: str, named: dict[str, JsonValue], config: JsonValue) -> dict[str, Any]:
    """Nova takes an effort in a configuration, all others take that of a configuration as a level."""
    written = config if isinstance(config, dict) else {}
    effort = named.pop("reasoning_effort", written.get("maxReasoningEffort"))
    if "nova-" not in model:
        return {"reasoning_effort": effort} if effort else {}
    return {_REASONING: written or {"type": "enabled", "maxReasoningEffort": effort}} if written or effort else {}
