"""Config: the configuration fields that Holdfast acts on (opencode.md 14.3)."""

import re
from typing import Annotated, Final, Literal

from pydantic import (
    AfterValidator,
    AliasChoices,
    ConfigDict,
    Field,
    JsonValue,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from workflows.domain.agents.agent import AgentMode
from workflows.domain.budgets import LEAST_COST, OnLimit, parse_cost
from workflows.domain.config.mcp_settings import McpServer, McpTrust, ServerName
from workflows.domain.config.provider_settings import Provider
from workflows.domain.config.section import PrintableName, Section
from workflows.domain.permissions.permission_keys import PATTERNLESS
from workflows.domain.permissions.rules import Action

EXA: Final = "exa"  # who searches, and the name of the key
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


def _known_color(color: str | None) -> str | None:
    """Other programs know other names: a colour is only shown."""
    return color if color is not None and _COLOR.fullmatch(color) else None


class AgentSettings(Section):
    """An agent's part of the configuration."""

    name: PrintableName | None = None
    """Shown in place of the key."""
    mode: AgentMode | None = None
    """`primary` works for people, `subagent` for other agents, `all` for both."""
    description: str | None = None
    """What it is for: other agents read this before they hand it work."""
    color: Annotated[str | None, AfterValidator(_known_color)] = None
    """How other programs show it."""
    prompt: str | None = None
    """The first part of its system prompt."""
    disable: bool = False
    """Whether there is no such agent."""
    hidden: bool | None = None
    """Whether people do not see it in lists; it is never the default."""
    model: PrintableName | None = None
    """Its model, as `provider/model`."""
    variant: PrintableName | None = None
    """The variant of its model."""
    temperature: float | None = None
    """For its requests, to models that take one."""
    top_p: float | None = None
    """For its requests, to models that take one."""
    options: dict[str, JsonValue] = {}
    """More for each request of it, over the options of the model; what providers know may stand in the agent itself."""
    permission: PermissionSettings = {}
    """Its rules, behind those for all agents."""
    tools: dict[str, bool] = {}
    """The older form of rules: true allows, false denies."""
    steps: PositiveInt | None = Field(None, validation_alias=AliasChoices("steps", "maxSteps"))
    """The most answers of a turn, the last without tools. `maxSteps` is its older name."""


class CommandSettings(Section):
    """A slash command."""

    template: str
    """What is sent in its place."""
    description: str | None = None
    """What lists say of it."""
    agent: PrintableName | None = None
    """The agent that works on it."""
    model: PrintableName | None = None
    """The model that works on it."""
    variant: PrintableName | None = None
    """The variant of that model."""
    subtask: bool | None = None
    """Whether a subagent does its work; by default as its agent's mode says."""


class ToolOutput(Section):
    """For the model (opencode.md 5.1)."""

    max_lines: PositiveInt | None = None
    """How many lines of a tool's output the model gets."""
    max_bytes: PositiveInt | None = None
    """How many bytes of a tool's output the model gets."""


class SkillSettings(Section):
    """Where skills are, besides the usual folders."""

    paths: tuple[str, ...] = ()
    """More folders with skills."""
    urls: tuple[str, ...] = ()
    """Such folders on the net, with an index."""


class Experimental(Section):
    """What OpenCode calls experimental."""

    continue_loop_on_deny: bool = False
    """Whether a turn goes on after a rejection."""
    primary_tools: tuple[str, ...] = ()
    """Tools that no subagent has."""
    mcp_timeout: PositiveInt | None = None
    """How long servers of tools may be silent, in milliseconds, where none says otherwise."""


class Compaction(Section):
    """When a context is compacted, and what of it stays as it is."""

    auto: bool = True
    """Whether a conversation that grows too long is compacted."""
    prune: bool = False
    """Whether old results of tools are cleared from what the model sees."""
    reserved: NonNegativeInt | None = None
    """Tokens of a model's input that stay free."""
    tail_turns: int | None = None
    """How many of the newest turns stay as they are, at most."""
    preserve_recent_tokens: NonNegativeInt | None = None
    """How many tokens of the newest conversation stay as they are."""


class ExactSection(Section):
    """Refuses fields that it does not model: what is misspelt would limit nothing."""

    model_config = ConfigDict(extra="forbid")


_Checked = AfterValidator(lambda cost: float(parse_cost(str(cost))))
Cost = Annotated[float, _Checked, Field(json_schema_extra={"minimum": float(LEAST_COST)})]


class DayBudget(ExactSection):
    """What all sessions may use on a day, in UTC."""

    cost: Cost | None = None
    """US dollars."""
    tokens: PositiveInt | None = None
    """Tokens, read and written."""
    steps: PositiveInt | None = None
    """Answers of models."""
    on_limit: OnLimit | None = None
    """What to do at such a limit: `ask` a person, or `finish` with one last answer."""


class Budget(DayBudget):
    """What a turn or a session may use, with its subagents."""

    minutes: PositiveFloat | None = None
    """Minutes by the clock."""


class ProjectBudget(ExactSection):
    """What the sessions of a project may use."""

    day: DayBudget = DayBudget()
    """Limits of a day."""


class Budgets(ExactSection):
    """Each counts by itself."""

    turn: Budget = Budget()
    """For each turn."""
    session: Budget = Budget()
    """For each session."""
    project: ProjectBudget = ProjectBudget()
    """For the sessions of each project."""
    day: DayBudget = DayBudget()
    """For all sessions of this host, on a day."""

    @property
    def of_cost(self) -> bool:
        return any(each.cost is not None for each in (self.turn, self.session, self.project.day, self.day))


def _check_search(search: str) -> str:
    if search != EXA and not re.fullmatch(r"https?://[^\s?#]+", search):
        raise ValueError(f"write {EXA!r}, or the address of a SearXNG, such as http://localhost:8888")
    return search.rstrip("/")


def _check_host(host: str) -> str:
    if not re.fullmatch(r"([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?", host):
        raise ValueError("write a host in small letters, with its port unless that is 80 or 443, as localhost:3000")
    return host


class WebSettings(ExactSection):
    """What `webfetch` and `websearch` may reach."""

    search: Annotated[str, AfterValidator(_check_search)] | None = None
    """Who searches for `websearch`: `exa`, or the address of a SearXNG. Without it there is no such tool."""
    private_hosts: tuple[Annotated[str, AfterValidator(_check_host)], ...] = ()
    """Hosts of your own network, with their ports, that `webfetch` may reach, as `localhost:3000`."""


class HoldfastSettings(Section):
    """Fields that OpenCode does not have."""

    budget: Budgets = Budgets()
    """What sessions may use; from your own files only."""
    larger_model: str | None = None
    """Takes over where a conversation does not fit its own model although it was compacted."""
    mcp: dict[ServerName, McpTrust] = {}
    """What you know about servers of tools; from your own files only."""
    trust: Literal["ask", "never"] = "ask"
    """`never`: nothing of a project's own files can be accepted; `ask`: a person decides."""
    web: WebSettings = WebSettings()
    """What `webfetch` and `websearch` may reach; from your own files only."""


class Config(Section):
    """The merged configuration. Texts may hold references, resolved at use."""

    model: PrintableName | None = None
    """The model, as `provider/model`."""
    small_model: PrintableName | None = None
    """The model that names sessions."""
    default_agent: PrintableName | None = None
    """The agent that works where none is named."""
    instructions: tuple[str, ...] = ()
    """More files for the model to read, as paths, patterns or addresses."""
    skills: SkillSettings = SkillSettings()
    """Where skills are, besides the usual folders."""
    permission: PermissionSettings = {}
    """What is allowed, denied or asked: the last rule that matches decides."""
    tools: dict[str, bool] = {}
    """The older form of rules: true allows, false denies."""
    provider: dict[str, Provider] = {}
    """Model providers by name."""
    disabled_providers: tuple[str, ...] = ()
    """Providers that are not asked."""
    enabled_providers: tuple[str, ...] | None = None
    """The only providers that are asked."""
    agent: dict[AgentName, AgentSettings] = {}
    """Agents by name."""
    command: dict[CommandName, CommandSettings] = {}
    """Slash commands by name."""
    mcp: dict[ServerName, McpServer] = {}
    """Servers of tools by name."""
    subagent_depth: NonNegativeInt = 1
    """How many levels of subagents there may be below a session."""
    tool_output: ToolOutput = ToolOutput()
    """How much of a tool's output the model gets."""
    compaction: Compaction = Compaction()
    """When a context is compacted, and what of it stays as it is."""
    experimental: Experimental = Experimental()
    """What OpenCode calls experimental."""
    holdfast: HoldfastSettings = HoldfastSettings()
    """Fields that OpenCode does not have."""


class OlderSettings(Section):
    """They are moved to newer fields once the file is checked."""

    mode: dict[AgentName, AgentSettings] = {}
    """The older table of primary agents, as `agent`."""


class UnsupportedSettings(Section):
    """Fields of OpenCode that Holdfast does not act on; docs/configuration.md says why."""

    attachment: JsonValue = None
    """How pictures are made smaller."""
    autoshare: JsonValue = None
    """The older form of `share`."""
    enterprise: JsonValue = None
    """Where an organisation's sessions are shared."""
    formatter: JsonValue = None
    """Programs that format a file after it was written."""
    lsp: JsonValue = None
    """Language servers that are asked about files."""
    plugin: JsonValue = None
    """Packages that change OpenCode."""
    references: JsonValue = None
    """Other repositories to look into."""
    share: JsonValue = None
    """Whether sessions are published."""
    shell: JsonValue = None
    """Which shell runs commands."""
    snapshot: JsonValue = None
    """Whether the work tree is recorded before each step."""


class ClientSettings(Section):
    """Settings for editors and OpenCode's own programs: accepted and ignored."""

    schema_: JsonValue = Field(None, alias="$schema")
    """The address of the schema that this file is written by."""
    keybinds: JsonValue = None
    """Keys of OpenCode's terminal program."""
    theme: JsonValue = None
    """Colours of OpenCode's terminal program."""
    tui: JsonValue = None
    """Other settings of OpenCode's terminal program."""
    autoupdate: JsonValue = None
    """Whether OpenCode replaces itself by a newer release."""
    layout: JsonValue = None
    """How OpenCode's terminal program arranges its parts."""
    log_level: JsonValue = Field(None, alias="logLevel")
    """How much OpenCode writes into its log."""
    server: JsonValue = None
    """Where OpenCode's own server listens."""
    username: str | None = None
    """What a person is called."""
    watcher: JsonValue = None
    """Files whose changes are not noticed."""
