"""What families of models get unless a person says otherwise, and their variants.

The constants are those of OpenCode's transform (`packages/opencode/src/provider/transform.ts`), where no other source
stands. A row names services, "WIRE:PROVIDER" by our name of the wire and litellm's of the provider, and models.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from pydantic import JsonValue

from activities.model.endpoint import Endpoint, Wire
from activities.model.port import ModelFacts

Options: TypeAlias = Mapping[str, JsonValue]
Variants: TypeAlias = Mapping[str, Options]


class _Row(NamedTuple):
    services: re.Pattern[str]
    models: re.Pattern[str]
    options: Options


class _VariantRow(NamedTuple):
    """`variants`: with their options, or efforts in the form that the service has."""

    services: re.Pattern[str]
    models: re.Pattern[str]
    variants: Variants | str


class _FormRow(NamedTuple):
    services: re.Pattern[str]
    models: re.Pattern[str]
    form: Callable[[str], Options]


def _row(services: str, models: str, **options: JsonValue) -> _Row:
    return _Row(re.compile(services), re.compile(models), options)


def _variants(services: str, models: str, variants: Variants | str) -> _VariantRow:
    return _VariantRow(re.compile(services), re.compile(models), variants)


def _form(services: str, models: str, form: Callable[[str], Options]) -> _FormRow:
    return _FormRow(re.compile(services), re.compile(models), form)


def _adaptive(name: str) -> Options:
    return {"thinking": {"type": "adaptive", "display": "summarized"}, "effort": name}


def _budgets(**tokens: int) -> Variants:
    return {name: {"thinking": {"type": "enabled", "budget_tokens": budget}} for name, budget in tokens.items()}


def _gemini_budgets(**tokens: int) -> Variants:
    return {
        name: {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": budget}} for name, budget in tokens.items()
    }


# How generations think. Claude from 4.6 on thinks as much as it finds right; later ones take no budget and no sampling
CLAUDE_ADAPTS: Final = re.compile(
    r"claude-(opus|sonnet|haiku)-(4[-.]([6-9]|\d\d)|[5-9]|\d\d)(?!\d)|claude-(fable|mythos)-"
)
CLAUDE_TAKES_BUDGET: Final = re.compile(r"claude-\w+-4[-.]6(?!\d)")  # of those that adapt
# "What's new in Claude Opus 5.5", "… Sonnet 5.5", "… Haiku 5.5": what these write between calls is in their thoughts,
# which are empty unless their display is asked for; and all but Haiku cannot be told not to think
CLAUDE_TALKS_IN_THOUGHTS: Final = re.compile(
    r"claude-(fable|mythos)-|claude-(opus|sonnet|haiku)-(5[-.][5-9]|[6-9]|\d\d)(?!\d)"
)
CLAUDE_ALWAYS_THINKS: Final = re.compile(rf"(?!.*haiku).*({CLAUDE_TALKS_IN_THOUGHTS.pattern})")
CLAUDE_THINKS_BETWEEN_CALLS: Final = re.compile(r"claude-sonnet-5[-.]5")  # instead of not at all
_GENERATION: Final = re.compile(r"claude\D*(\d+)(?:[-.](\d{1,2})(?!\d))?")
_BINDS_FROM: Final = 5, 1  # Claude's generation (Anthropic, "Prefix checks on thinking blocks")
_GPT_BINDS: Final = re.compile(r"(^|[ /])gpt-([6-9]|\d\d)")
CLAUDE_4: Final = re.compile(r"claude-(opus|sonnet|haiku)-4(?!\d)")  # thinks between calls by a beta only
GEMINI_SIGNS: Final = re.compile(r"gemini-([3-9]|\d\d)|gemini-(pro|flash|flash-lite)-latest")  # and thinks by levels
GEMINI_THINKS: Final = re.compile(r"(?!.*(image|tts|audio|live))gemini-(2\.5|[3-9]|\d\d|(pro|flash|flash-lite)-latest)")
GEMINI_MINIMAL: Final = re.compile(r"gemini-(3([.-][0-6])?-flash|flash-lite-latest)")  # has a level below `low`
_GIVES_PATCHES: Final = re.compile(r"(?!.*(oss|gpt-4)).*gpt-")
OPENAI_REASONS: Final = re.compile(r"(gpt-([5-9]|\d\d)|o\d|codex|gpt-daybreak)(?!.*-chat)")  # others refuse `reasoning`

_ANY: Final = ""
_LOW_TO_HIGH: Final = "low medium high"
_GEMINI_SAMPLED: Final = r"gemini-(2[.-]5|3-(flash|pro)|3[.-]1|3[.-]5-flash(?!-lite))([.:-]|$)"
_CLAUDE_ADAPTIVE: Final = r"claude-(opus|sonnet|haiku)-(4[-.]([7-9]|\d\d)|[5-9]|\d\d)(?!\d)|claude-(fable|mythos)-"
_GPT_5: Final = r"(^|/)gpt-([5-9]|\d\d)(?!.*-(chat|pro))"  # and later ones
_TAKES_TOP_K: Final = r"^(anthropic|bedrock|gemini|ollama):|:openrouter$"  # all others lack it, or refuse it

# The first row that fits counts.
_SAMPLING: Final = (
    _row(_ANY, "claude"),
    _row(_ANY, "north-mini-code", temperature=1.0),
    _row(_ANY, _GEMINI_SAMPLED, temperature=1.0, top_p=0.95, top_k=64),
    _row(_ANY, r"glm-4\.[67]", temperature=1.0),
    _row(_ANY, r"minimax-m2(\.|5|1)", temperature=1.0, top_p=0.95, top_k=40),
    _row(_ANY, "minimax-m2", temperature=1.0, top_p=0.95, top_k=20),
    _row(_ANY, r"kimi-k2[.p-]5", temperature=1.0, top_p=0.95),
    _row(_ANY, r"kimi-k2(.*thinking|\.|p)", temperature=1.0),
    _row(_ANY, "kimi-k2", temperature=0.6),
    _row(_ANY, r"deepseek-v4-flash.0731", top_p=0.95),
    _row(r":(deepseek|opencode.*)$", "deepseek-v4-flash", top_p=0.95),
)
# OpenAI: "Unsupported parameter: 'temperature' is not supported with this model"; see also anthropic_options
REFUSES_SAMPLING: Final = re.compile(r"(^|/)(gpt-([5-9]|\d\d)|o\d|codex)(?!.*-chat)")

# All rows that fit count.
_DEFAULTS: Final = (
    _row("^responses:(openai|azure|opencode)$", _GPT_5, reasoning_effort="medium", reasoning_summary="auto"),
    _row("^responses:(openai|opencode)$", r"^gpt-5\.(?!.*(codex|-chat))", verbosity="low"),
    # OpenAI's later ones refuse an effort together with tools in this protocol
    _row(r"^chat:(?!openrouter$)", r"(^|/)gpt-5(\.[1-3])?(?![\d.])(?!.*-(chat|pro))", reasoning_effort="medium"),
    _row(r":openrouter$", r"(^|/)gpt-5(?!.*-(chat|pro))", reasoning={"effort": "medium"}),
    _row(r":openrouter$", "gemini-3", reasoning={"effort": "high"}),
    _row("^gemini:", "gemini-3", thinkingConfig={"thinkingLevel": "high"}),
    _row("^anthropic:", "minimax-m3", thinking={"type": "adaptive"}),
    _row("^chat:(zai|zhipuai)", _ANY, thinking={"type": "enabled", "clear_thinking": False}),
    _row("^chat:baseten$", _ANY, chat_template_args={"enable_thinking": True}),
)
_DEFAULTS_OF_THINKERS: Final = (  # the same, for models that the table knows to think
    _row("^anthropic:", "kimi", thinking={"type": "adaptive", "display": "summarized"}, effort="high"),
    _row("^chat:(dashscope|alibaba-.*-cn)$", "^(?!.*kimi-k2-thinking)", enable_thinking=True),
)

# How services name an effort: the first row that fits counts.
_FORMS: Final = (
    _form(":openrouter$", _ANY, lambda name: {"reasoning": {"effort": name}}),
    _form("^(anthropic|bedrock):", CLAUDE_ADAPTS.pattern, _adaptive),
    _form(
        "^(anthropic|bedrock):",
        "claude",
        lambda name: {"thinking": {"type": "enabled", "budget_tokens": 16_000}, "effort": name},
    ),
    _form("^anthropic:", "kimi", _adaptive),
    _form("^anthropic:", _ANY, lambda name: {"effort": name}),
    _form("^bedrock:", "nova", lambda name: {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": name}}),
    _form("^gemini:", _ANY, lambda name: {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": name}}),
    _form("^responses:", _ANY, lambda name: {"reasoning_effort": name, "reasoning_summary": "auto"}),
    _form(_ANY, _ANY, lambda name: {"reasoning_effort": name}),
)

# The first row that fits counts, for models that think and whose efforts no table has: as models.dev had most of a
# family on 2026-09-28.
_VARIANTS: Final = (
    _variants(
        "^(anthropic|chat):(?!nvidia)",
        "minimax-m3",
        {
            "none": {"thinking": {"type": "disabled"}},
            "thinking": {"thinking": {"type": "adaptive"}},
        },
    ),
    _variants(
        ":nvidia",
        "minimax-m3",
        {
            "none": {"chat_template_kwargs": {"thinking_mode": "disabled"}},
            "thinking": {"chat_template_kwargs": {"thinking_mode": "enabled"}},
        },
    ),
    _variants(":openrouter$", "glm-5[.p-]2|deepseek-v4", "high xhigh"),
    _variants("^(anthropic|chat):", "glm-5[.p-]2", "high max"),
    _variants(_ANY, r"glm-5[.p-]([3-9]|\d\d)", "low high max"),
    _variants("^anthropic:", "kimi", "low medium high xhigh max"),
    _variants(_ANY, r"kimi-k([3-9]|\d\d)", "low high max"),
    _variants(":(cerebras|groq)$", r"qwen-?3[.-]8", "none low medium high"),
    _variants(_ANY, r"qwen-?3[.-]8", "low medium xhigh"),
    _variants(_ANY, r"deepseek-(chat|reasoner|r1|v3)|minimax|glm|kimi|k2p|qwen|big-pickle", {}),
    _variants(_ANY, "deepseek-(v4|flash)", "low high max"),
    _variants(_ANY, "grok-3-mini", "low high"),
    _variants(_ANY, _CLAUDE_ADAPTIVE, "low medium high xhigh max"),
    _variants(_ANY, r"claude-(opus|sonnet)-4[-.]6(?!\d)", "low medium high max"),
    _variants("^(anthropic|bedrock):", r"claude-opus-4[-.]5(?!\d)", _LOW_TO_HIGH),
    _variants("^(anthropic|bedrock):", "claude", _budgets(high=16_000, max=31_999)),
    _variants("^anthropic:", _ANY, _budgets(high=16_000, max=31_999)),
    _variants("^gemini:", r"gemini-2[.-]5-pro", _gemini_budgets(high=16_000, max=32_768)),
    _variants("^gemini:", r"gemini-2[.-]5", _gemini_budgets(high=16_000, max=24_576)),
    _variants(_ANY, GEMINI_MINIMAL.pattern, "minimal low medium high"),
    _variants("^gemini:", r"gemini-([3-9]|\d\d|flash)", _LOW_TO_HIGH),
    _variants("^gemini:", _ANY, "low high"),
    _variants(_ANY, "gpt-oss|deep-research", _LOW_TO_HIGH),
    _variants(_ANY, r"gpt-5-chat", {}),
    _variants(_ANY, r"gpt-5[.-]\d+.*-chat", "medium"),
    _variants(_ANY, r"gpt-5[.-]?pro", "high"),
    _variants(_ANY, r"gpt-5[.-]([3-9]|\d\d).*codex", "none low medium high xhigh"),
    _variants(_ANY, r"gpt-5[.-]2.*codex|gpt-5.*codex-max", "low medium high xhigh"),
    _variants(_ANY, r"gpt-5.*codex", _LOW_TO_HIGH),
    _variants(_ANY, r"gpt-5[.-]\d+-pro", "medium high xhigh"),
    _variants(_ANY, r"gpt-\d+.*astra", "low medium high xhigh max"),
    _variants(_ANY, r"gpt-(5[.-]([6-9]|\d\d)|[6-9]|\d\d|daybreak)", "none low medium high xhigh max"),
    _variants(_ANY, r"gpt-5[.-]1(?!\d)", "none low medium high"),
    _variants(_ANY, r"gpt-5[.-]\d", "none low medium high xhigh"),
    _variants(_ANY, r"gpt-5(?!\d)", "minimal low medium high"),
    _variants(":openrouter$", "gpt", "none minimal low medium high xhigh"),
    _variants(_ANY, r"mistral-(small-(2603|latest)|medium-(3[.-]5|2604|latest))", "none high"),
    _variants(":cohere", _ANY, "none high"),  # docs.cohere.com, "Compatibility API"
    _variants(":(mistral|perplexity)$", _ANY, {}),
    # docs.x.ai, "Reasoning": the others refuse an effort
    _variants(_ANY, r"grok-4\.[6-9](?!\d)|grok.*multi-agent", "low medium high xhigh"),
    _variants(_ANY, r"grok-4\.3(?!\d)", "none low medium high"),
    _variants(_ANY, r"grok-4\.[45](?!\d)", _LOW_TO_HIGH),
    _variants(_ANY, "grok", {}),
    _variants(":groq$", _ANY, "none low medium high"),  # console.groq.com/docs/reasoning
    _variants(_ANY, "north-mini-code", "none high"),
    _variants(_ANY, "muse-spark", "minimal low medium high xhigh"),
    _variants(_ANY, _ANY, _LOW_TO_HIGH),
)


def default_options(endpoint: Endpoint, facts: ModelFacts) -> dict[str, JsonValue]:
    """The options of a model's family."""
    return dict(_default_options(*_names(endpoint), facts.reasoning, facts.sampled))


@lru_cache(maxsize=256)
def _default_options(service: str, model: str, thinks: bool, sampled: bool) -> Options:
    sampling = next((row.options for row in _SAMPLING if sampled and _fits(row, service, model)), {})
    if not re.search(_TAKES_TOP_K, service):
        sampling = {name: value for name, value in sampling.items() if name != "top_k"}
    known = (*_DEFAULTS, *_DEFAULTS_OF_THINKERS) if thinks else _DEFAULTS
    rows = [row.options for row in known if _fits(row, service, model)]
    return {name: value for options in (sampling, *rows) for name, value in options.items()}


def built_in_variants(endpoint: Endpoint) -> Variants:
    """The variants of a model that thinks, and whose efforts no table has."""
    service, model = _names(endpoint)
    variants = next(row.variants for row in _VARIANTS if _fits(row, service, model))
    return effort_variants(endpoint, variants.split()) if isinstance(variants, str) else variants


def effort_variants(endpoint: Endpoint, efforts: Iterable[str]) -> Variants:
    """The variants of a model that takes these efforts."""
    service, model = _names(endpoint)
    form = next(row.form for row in _FORMS if _fits(row, service, model))
    return {name: form(name) for name in efforts}


def binds_thoughts(endpoint: Endpoint) -> bool:
    """Whether the model's provider takes a thought back only after just what it was given after.

    OpenAI withholds others from the model (`input_transformations` of its Responses), and does not name the first
    such model: we take GPT-6, the generation in which that field appeared."""
    names = f"{endpoint.name} {endpoint.behind}".lower()
    return claude_binds(names) or (endpoint.wire is Wire.RESPONSES and bool(_GPT_BINDS.search(names)))


def gives_patches(model: str) -> bool:
    """Whether a "provider/model" was taught to change files by patches (opencode.md 7.1)."""
    return _GIVES_PATCHES.match(model.partition("/")[2].lower()) is not None


def claude_binds(names: str) -> bool:
    """The same of a Claude; one that names no generation counts as one of the newest."""
    found = _GENERATION.search(names)
    return "claude" in names and (found is None or (int(found[1]), int(found[2] or 0)) >= _BINDS_FROM)


def _names(endpoint: Endpoint) -> tuple[str, str]:
    return f"{endpoint.wire}:{endpoint.model.partition('/')[0]}", endpoint.name.lower()


def _fits(row: _Row | _VariantRow | _FormRow, service: str, model: str) -> bool:
    return bool(row.services.search(service) and row.models.search(model))
