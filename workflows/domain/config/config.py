"""Config: the configuration fields that Holdfast acts on (opencode.md 14.3)."""

import re
from typing import Annotated, Final, Literal

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)
from pydantic.alias_generators import to_camel

from workflows.domain.agents.agent import AgentMode
from workflows.domain.budgets import OnLimit
from workflows.domain.permissions.permission_keys import PATTERNLESS
from workflows.domain.permissions.rules import Action

_MAX_NAME_LENGTH: Final = 100  # characters: shown in columns, margins and search attributes
_COLOR: Final = re.compile("#[0-9a-fA-F]{6}|primary|secondary|accent|success|warning|error|info")

PermissionValue = Action | dict[str, Action]


def _check_patternless(permission: dict[str, PermissionValue]) -> dict[str, PermissionValue]:
    wrong = [name for name in PATTERNLESS & permission.keys() if not isinstance(permission[name], Action)]
    if wrong:
        raise ValueError(f"permission {wrong[0]!r} takes no patterns, only allow, ask or deny")
    return permission


PermissionSettings = Annotated[dict[str, PermissionValue], AfterValidator(_check_patternless)]


def _check_agent_name(name: str) -> str:
    if not name.isprintable() or not 0 < len(name) <= _MAX_NAME_LENGTH:
        raise ValueError(f"an agent's name has 1 to {_MAX_NAME_LENGTH} printable characters")
    return name


AgentName = Annotated[str, AfterValidator(_check_agent_name)]


def _check_command_name(name: str) -> str:
    if not name.isprintable() or not 0 < len(name) <= _MAX_NAME_LENGTH:
        raise ValueError(f"a command's name has 1 to {_MAX_NAME_LENGTH} printable characters")
    return name


CommandName = Annotated[str, AfterValidator(_check_command_name)]


def _check_printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError("a name has printable characters only")
    return name


PrintableName = Annotated[str, AfterValidator(_check_printable)]


def _check_color(color: str) -> str:
    if _COLOR.fullmatch(color) is None:
        raise ValueError("a color is #RRGGBB, primary, secondary, accent, success, warning, error or info")
    return color


class Section(BaseModel):
    """A frozen part of the configuration; ignores fields that it does not model."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def _check_milliseconds(value: object) -> object:
    """Words for what is no time: JSON's `true` would be 1."""
    if value is None or value is False:
        return value
    if isinstance(value, int | float) and value is not True and value > 0:
        return value
    raise ValueError("it takes milliseconds, such as 600000, or false for no limit")


Milliseconds = Annotated[float | Literal[False] | None, BeforeValidator(_check_milliseconds)]


class GoogleAuthOptions(Section):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    key_filename: str | None = None


class ProviderOptions(Section):
    """`{env:…}`, `{file:…}` and `{config:…}` are resolved at use. `set_cache_key`: whether requests have one.

    `key_name`: of `holdfast auth login --name`. `project`, `location` and `google_auth_options` are those of Google's
    Vertex AI; `resource_name`, `api_version` and `use_deployment_based_urls` those of Azure; `region`, `profile` and
    `endpoint` those of Bedrock. The timeouts say how long a provider may be silent.
    """

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    api_key: str | None = None
    key_name: str | None = None
    base_url: str | None = Field(None, alias="baseURL")
    headers: dict[str, str] = {}
    project: str | None = None
    location: str | None = None
    google_auth_options: GoogleAuthOptions = GoogleAuthOptions()
    proxy: str | None = None
    ca_file: str | None = None
    resource_name: str | None = None
    api_version: str | None = None
    use_deployment_based_urls: bool | None = None
    set_cache_key: bool | None = None
    timeout: Milliseconds = None
    header_timeout: Milliseconds = None
    chunk_timeout: Milliseconds = None
    region: str | None = None
    profile: str | None = None
    endpoint: str | None = None


class Prices(Section):
    """US dollars per million tokens."""

    input: float = 0
    output: float = 0
    cache_read: float | None = None
    cache_write: float | None = None
    context_over_200k: "Prices | None" = None


class ModelLimits(Section):
    """In tokens. `input`: of a request, where that is less than the context."""

    context: PositiveInt
    input: PositiveInt | None = None
    output: PositiveInt


class Modalities(Section):
    """Kinds of content that a model takes: `text`, `image`, `pdf` and others."""

    input: tuple[str, ...] = ()


class ProviderModel(Section):
    """`id` is its name at the provider, if it differs from the key. `reasoning` and `temperature`: whether it thinks,
    and takes sampling. `variants`: options by a variant's name; `disabled` there removes one."""

    id: str | None = None
    name: str | None = None
    attachment: bool | None = None
    modalities: Modalities | None = None
    reasoning: bool | None = None
    temperature: bool | None = None
    cost: Prices | None = None
    limit: ModelLimits | None = None
    options: dict[str, JsonValue] = {}
    variants: dict[str, dict[str, JsonValue]] = {}
    headers: dict[str, str] = {}


class Provider(Section):
    """A model provider, or changes to a known one."""

    npm: str | None = None
    options: ProviderOptions = ProviderOptions()
    models: dict[str, ProviderModel] = {}


class AgentSettings(Section):
    """`name` is shown in place of the key. `prompt`: of the model's instructions, the first part. `tools` is the older
    form of `permission`. `steps`: the most answers of a turn, the last without tools; `maxSteps` is its older name."""

    name: PrintableName | None = None
    mode: AgentMode | None = None
    description: str | None = None
    color: Annotated[str, AfterValidator(_check_color)] | None = None
    prompt: str | None = None
    disable: bool = False
    hidden: bool | None = None
    model: PrintableName | None = None
    variant: PrintableName | None = None
    temperature: float | None = None
    top_p: float | None = None
    options: dict[str, JsonValue] = {}
    permission: PermissionSettings = {}
    tools: dict[str, bool] = {}
    steps: PositiveInt | None = Field(None, validation_alias=AliasChoices("steps", "maxSteps"))


class CommandSettings(Section):
    """A slash command. `subtask`: whether a subagent does its work (None: as its agent's mode says)."""

    template: str
    description: str | None = None
    agent: PrintableName | None = None
    model: PrintableName | None = None
    variant: PrintableName | None = None
    subtask: bool | None = None


class ToolOutput(Section):
    """For the model (opencode.md 5.1)."""

    max_lines: PositiveInt | None = None
    max_bytes: PositiveInt | None = None


class SkillSettings(Section):
    """`paths`: more folders with skills. `urls`: of such folders on the net, with an index."""

    paths: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class Experimental(Section):
    """`primary_tools`: those that no subagent has."""

    continue_loop_on_deny: bool = False
    primary_tools: tuple[str, ...] = ()


class Compaction(Section):
    """When a context is compacted, and what of it stays as it is.

    `auto`: whether at all. `prune`: whether old results of tools are cleared. `reserved`: tokens of a model's input
    that stay free. `preserve_recent_tokens` and `tail_turns`: at most so much of the newest conversation stays.
    """

    auto: bool = True
    prune: bool = False
    reserved: NonNegativeInt | None = None
    tail_turns: int | None = None
    preserve_recent_tokens: NonNegativeInt | None = None


class ExactSection(Section):
    """Refuses fields that it does not model: what is misspelt would limit nothing."""

    model_config = ConfigDict(extra="forbid")


class DayBudget(ExactSection):
    """What all sessions may use on a day: US dollars, tokens, steps. `on_limit`: ask a person, or finish with one last
    answer."""

    cost: PositiveFloat | None = None
    tokens: PositiveInt | None = None
    steps: PositiveInt | None = None
    on_limit: OnLimit | None = None


class Budget(DayBudget):
    """What a turn or a session may use, with its subagents; `minutes` by the clock."""

    minutes: PositiveFloat | None = None


class ProjectBudget(ExactSection):
    """What the sessions of a project may use."""

    day: DayBudget = DayBudget()


class Budgets(ExactSection):
    """Each counts by itself."""

    turn: Budget = Budget()
    session: Budget = Budget()
    project: ProjectBudget = ProjectBudget()
    day: DayBudget = DayBudget()


class HoldfastSettings(Section):
    """Fields that OpenCode does not have. `larger_model`: takes over where a conversation does not fit its own model
    although it was compacted."""

    budget: Budgets = Budgets()
    larger_model: str | None = None


class Config(Section):
    """The merged configuration. Texts may hold references, resolved at use. `small_model`: for titles."""

    model: PrintableName | None = None
    small_model: PrintableName | None = None
    default_agent: PrintableName | None = None
    instructions: tuple[str, ...] = ()
    skills: SkillSettings = SkillSettings()
    permission: PermissionSettings = {}
    tools: dict[str, bool] = {}
    provider: dict[str, Provider] = {}
    agent: dict[AgentName, AgentSettings] = {}
    command: dict[CommandName, CommandSettings] = {}
    subagent_depth: NonNegativeInt = 1
    tool_output: ToolOutput = ToolOutput()
    compaction: Compaction = Compaction()
    experimental: Experimental = Experimental()
    holdfast: HoldfastSettings = HoldfastSettings()


class OlderSettings(Section):
    """`mode`: the older table of primary agents; they are moved to `agent` once the file is checked."""

    mode: dict[AgentName, AgentSettings] = {}


class UnsupportedSettings(Section):
    """Fields validated like OpenCode's, but without effect yet."""

    username: str | None = None
