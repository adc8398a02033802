"""Config: what the configuration files say, as far as Holdfast acts on it (opencode.md 14.3)."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    NonNegativeInt,
    PositiveInt,
)
from pydantic.alias_generators import to_camel

from workflows.domain.permissions.rules import Action

_PLAIN: Final = frozenset({"todowrite", "question", "webfetch", "websearch", "doom_loop"})  # take no patterns

_LONGEST_NAME: Final = 100  # of an agent: it stands in columns, margins and search attributes

PermissionValue = Action | dict[str, Action]


def _without_patterns_where_plain(permission: dict[str, PermissionValue]) -> dict[str, PermissionValue]:
    wrong = [name for name in _PLAIN & permission.keys() if not isinstance(permission[name], Action)]
    if wrong:
        raise ValueError(f"permission {wrong[0]!r} takes no patterns, only allow, ask or deny")
    return permission


Permission = Annotated[dict[str, PermissionValue], AfterValidator(_without_patterns_where_plain)]


def _speakable(name: str) -> str:
    if not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME:
        raise ValueError(f"an agent's name has 1 to {_LONGEST_NAME} printable characters")
    return name


AgentName = Annotated[str, AfterValidator(_speakable)]


class Section(BaseModel):
    """A part of the configuration: frozen; fields that are not modelled here are left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Options(Section):
    """How a provider is reached; `{env:…}`, `{file:…}` and `{config:…}` in its texts are resolved at use."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    api_key: str | None = None
    base_url: str | None = Field(None, alias="baseURL")
    headers: dict[str, str] = {}


class Prices(Section):
    """US dollars for a million tokens."""

    input: float = 0
    output: float = 0
    cache_read: float | None = None
    cache_write: float | None = None
    context_over_200k: "Prices | None" = None


class Limits(Section):
    """Numbers of tokens."""

    context: PositiveInt
    output: PositiveInt


class ProviderModel(Section):
    """A model of a provider; `id` is its name there, when that is not the key."""

    id: str | None = None
    name: str | None = None
    attachment: bool | None = None
    cost: Prices | None = None
    limit: Limits | None = None
    options: dict[str, JsonValue] = {}
    headers: dict[str, str] = {}


class Provider(Section):
    """A model provider, or what is different about a known one."""

    npm: str | None = None
    options: Options = Options()
    models: dict[str, ProviderModel] = {}


class Mode(StrEnum):
    """Who an agent works for: people (primary), other agents (subagent), or both."""

    PRIMARY = "primary"
    SUBAGENT = "subagent"
    ALL = "all"


class AgentSettings(Section):
    """What a configuration says about an agent; `tools` is the older form of `permission`.

    `steps` is how many answers a turn may take, the last of them without tools; `maxSteps` is its older name.
    """

    mode: Mode | None = None
    description: str | None = None
    disable: bool = False
    hidden: bool | None = None
    model: str | None = None
    permission: Permission = {}
    tools: dict[str, bool] = {}
    steps: PositiveInt | None = Field(None, validation_alias=AliasChoices("steps", "maxSteps"))


class ToolOutput(Section):
    """When the output of a tool is shortened for the model (opencode.md 5.1)."""

    max_lines: PositiveInt | None = None
    max_bytes: PositiveInt | None = None


class Experimental(Section):
    """Switches that OpenCode calls experimental."""

    continue_loop_on_deny: bool = False


class Config(Section):
    """The merged configuration, as far as it is acted on: what is not modelled here is named to people as ignored.

    Texts may hold references, which are resolved at use.
    """

    model: str | None = None
    default_agent: str | None = None
    instructions: tuple[str, ...] = ()
    permission: Permission = {}
    tools: dict[str, bool] = {}
    provider: dict[str, Provider] = {}
    agent: dict[AgentName, AgentSettings] = {}
    subagent_depth: NonNegativeInt = 1
    tool_output: ToolOutput = ToolOutput()
    experimental: Experimental = Experimental()


class Compaction(Section):
    """How a long conversation is made short."""

    auto: bool | None = None
    prune: bool | None = None
    reserved: int | None = None


class Later(Section):
    """What is checked as OpenCode checks it, and not acted on yet."""

    username: str | None = None
    compaction: Compaction = Compaction()
