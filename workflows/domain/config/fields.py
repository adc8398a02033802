"""The fields of a configuration file, and which of them Holdfast supports (opencode.md 14.3)."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final, get_args, get_origin

from pydantic import AliasChoices, JsonValue

from workflows.domain.config.config import ClientSettings, Config, UnsupportedSettings
from workflows.domain.config.section import Section

JsonObject = dict[str, JsonValue]
FieldPath = tuple[str, ...]


def field_paths(fields: str) -> tuple[FieldPath, ...]:
    """Paths to match: `*` stands for any one key; a path includes everything below it."""
    return tuple(tuple(field.split(".")) for field in fields.split())


def _section_paths(model: type[Section]) -> Iterator[FieldPath]:
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias or name]
        below, section = _section_of(field.annotation)
        deeper = [(*below, *path) for path in _section_paths(section)] if section not in (None, model) else [()]
        yield from ((str(key), *path) for key in choices for path in deeper)


def _section_of(annotation: Any) -> tuple[FieldPath, type[Section] | None]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return (), annotation
    inner = get_args(annotation)
    if get_origin(annotation) is dict:
        return ("*",), _section_of(inner[1])[1]
    return (), next((found for each in inner if (found := _section_of(each)[1]) is not None), None)


CLIENT_FIELDS: Final = tuple(path[0] for path in _section_paths(ClientSettings))  # ignored silently
# `mode` is the older table of agents, read as `agent`.
SUPPORTED_FIELDS: Final = (*((field,) for field in CLIENT_FIELDS), ("mode",), *_section_paths(Config))
AGENT_FIELDS: Final = frozenset(path[2] for path in SUPPORTED_FIELDS if path[:2] == ("agent", "*"))
# Options of providers, as their protocols or OpenCode's packages call them: they may stand in an agent without its
# table `options`. Words that are so general that people use them for something else are none of them.
_OPTIONS: Final = """
    additionalModelRequestFields anthropicBeta cacheControl cache_control cachedContent chat_template_kwargs
    enableThinking enable_thinking extra_body frequencyPenalty frequency_penalty guardrailConfig include logitBias
    logit_bias logprobs maxCompletionTokens maxOutputTokens maxTokens maxToolCalls max_completion_tokens max_tokens
    max_tool_calls minP min_p parallelToolCalls parallel_tool_calls performanceConfig presencePenalty presence_penalty
    promptCacheKey promptCacheRetention prompt_cache_key prompt_cache_retention reasoning reasoningConfig
    reasoningEffort reasoningFormat reasoningSummary reasoning_effort reasoning_format reasoning_summary
    repetition_penalty safePrompt safe_prompt safetyIdentifier safetySettings safety_identifier seed serviceTier
    service_tier stop stopSequences stop_sequences store textVerbosity think thinking thinkingBudget thinkingConfig
    thinking_budget topK topLogprobs topP top_k top_logprobs verbosity
    """
OPTION_FIELDS: Final = frozenset(path[0] for path in field_paths(_OPTIONS))

_UNSUPPORTED_FIELDS: Final = tuple(_section_paths(UnsupportedSettings))

# Options that would act on a conversation at the provider: they would replace the agent's tools, or shorten what each
# step then sends again.
UNSENT_OPTIONS: Final = ("tools", "context_management", "contextManagement")
_OPTION_TABLES: Final = "provider.*.models.*.options provider.*.models.*.variants.* agent.*.options mode.*.options"
_UNSENT_PATHS: Final = field_paths(
    " ".join(f"{each}.{name}" for each in _OPTION_TABLES.split() for name in UNSENT_OPTIONS)
)

KNOWN_FIELDS: Final = frozenset(path[0] for path in (*SUPPORTED_FIELDS, *_UNSUPPORTED_FIELDS))


def split_by_paths(tree: JsonObject, wanted: Sequence[FieldPath]) -> tuple[JsonObject, tuple[FieldPath, ...]]:
    kept: JsonObject = {}
    rest: list[FieldPath] = []
    for key, value in tree.items():
        below = [path[1:] for path in wanted if path[0] in ("*", key)]
        if () in below:
            kept[key] = value
        elif below and isinstance(value, dict):
            kept[key], deeper = split_by_paths(value, below)
            rest += [(key, *path) for path in deeper]
        else:
            rest.append((key,))
    return kept, tuple(rest)


def is_within(path: FieldPath, wanted: Sequence[FieldPath]) -> bool:
    """Whether a `wanted` path names `path` or contains it."""
    return any(
        len(each) <= len(path) and all(key in ("*", mine) for key, mine in zip(each, path, strict=False))
        for each in wanted
    )


def unsupported_fields(tree: JsonObject) -> tuple[FieldPath, ...]:
    """Known to OpenCode, but not supported yet."""
    ignored = (path for path in split_by_paths(tree, SUPPORTED_FIELDS)[1] if path[0] in KNOWN_FIELDS)
    return (*ignored, *(path for wanted in _UNSENT_PATHS for path in _present(tree, wanted)))


def _present(tree: JsonValue, wanted: FieldPath) -> Iterator[FieldPath]:
    if not wanted:
        yield ()
    elif isinstance(tree, dict):
        for key in tree if wanted[0] == "*" else tree.keys() & {wanted[0]}:
            yield from ((key, *path) for path in _present(tree[key], wanted[1:]))


def unknown_fields(tree: JsonObject) -> tuple[str, ...]:
    """Top-level, unknown to OpenCode too: probably misspelt."""
    return tuple(key for key in tree if key not in KNOWN_FIELDS)


def value_at(tree: JsonObject, path: FieldPath) -> JsonValue:
    """None if absent; indices name list items, from 0."""
    value: JsonValue = tree
    for key in path:
        items = dict(zip(map(str, count()), value, strict=False)) if isinstance(value, list) else value
        value = items.get(key) if isinstance(items, dict) else None
    return value


def with_value_at(tree: JsonObject, path: FieldPath, value: JsonValue) -> JsonObject:
    key, *below = path
    inner = tree.get(key)
    return {
        **tree,
        key: with_value_at(inner if isinstance(inner, dict) else {}, tuple(below), value) if below else value,
    }


def without_path(tree: JsonObject, path: FieldPath) -> JsonObject:
    key, *below = path
    if not below:
        return {name: value for name, value in tree.items() if name != key}
    inner = tree.get(key)
    return {**tree, key: without_path(inner, tuple(below))} if isinstance(inner, dict) else tree
