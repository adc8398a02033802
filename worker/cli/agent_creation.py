"""A new agent: what it may do, its file, and the questions to a person."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import click
import yaml

from worker import model_choices
from worker.cli.agent_listing import load_any_config
from worker.cli.command_support import current_directory
from worker.cli.render.escaping import escape_prose
from worker.probe import write_agent_by
from worker.settings import Settings
from workflows.domain.agents.agent import AgentMode
from workflows.domain.agents.built_in import BUILT_IN, HIDDEN
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.permissions.permission_keys import OF_TOOLS

_NAME: Final = re.compile(r"[\w-]+(/[\w-]+)*")


@dataclass(frozen=True)
class NewAgent:
    """`allowed`: of OF_TOOLS; None: all."""

    name: str
    description: str
    prompt: str
    mode: AgentMode
    allowed: frozenset[str] | None

    @property
    def markdown(self) -> str:
        """The content of its file."""
        denied = [] if self.allowed is None else [each for each in OF_TOOLS if each not in self.allowed]
        fields = {
            "description": self.description,
            "mode": self.mode.value,
            **({"permission": dict.fromkeys(denied, "deny")} if denied else {}),
        }
        head = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=10_000)
        return f"---\n{head}---\n\n{self.prompt.strip()}\n"


@dataclass(frozen=True)
class Wanted:
    """What a person has said; None: nothing. `tools`: as typed. `mine`: for all projects. `path`: a directory of
    configuration."""

    name: str | None = None
    description: str | None = None
    prompt: str | None = None
    mode: str | None = None
    tools: str | None = None
    mine: bool = False
    path: str | None = None


@dataclass(frozen=True)
class Draft:
    """`written_by`: the model; None: the person has said everything."""

    agent: NewAgent
    file: Path
    written_by: str | None


def read_tools(typed: str | None) -> frozenset[str] | None:
    """Names with commas between them, `none` for none; None: all. Raises UsageError."""
    if typed is None:
        return None
    named = {each.strip() for each in typed.split(",") if each.strip()} - {"none"}
    if unknown := sorted(named - set(OF_TOOLS)):
        raise UsageError(f"No tool is named {unknown[0]!r}. There are: {', '.join(OF_TOOLS)}.")
    return frozenset(named)


def ask_for_rest(wanted: Wanted) -> Wanted:
    """Ask the person on the terminal for what they have not said."""
    whole = wanted.name is not None and wanted.prompt is not None
    if wanted.description is None:
        asked = click.prompt("When is it to be used" if whole else "What should the agent do, and when", err=True)
        wanted = replace(wanted, description=asked)
    if wanted.mode is None:
        wanted = replace(wanted, mode=_ask_mode())
    if wanted.tools is None:
        wanted = replace(wanted, tools=_ask_tools())
    if wanted.path is None and not wanted.mine:
        question = "Is it for you, in all your projects (otherwise it is this project's)"
        wanted = replace(wanted, mine=click.confirm(question, default=False, err=True))
    return wanted


def _ask_mode() -> str:
    choice = click.Choice([each.value for each in AgentMode])
    question = "Who may hand it work: people (primary), other agents (subagent), or all"
    mode: str = click.prompt(question, type=choice, default=AgentMode.ALL.value, show_choices=False, err=True)
    return mode


def _ask_tools() -> str | None:
    """The tools that the person wants; None: all."""
    question = f"Which tools may it use, with commas between: {', '.join(OF_TOOLS)}"
    while True:
        typed: str = click.prompt(question, default="all", err=True)
        try:
            read_tools(None if typed == "all" else typed)
        except UsageError as error:
            click.echo(escape_prose(str(error)), err=True)
        else:
            return None if typed == "all" else typed


async def draft_agent(settings: Settings, wanted: Wanted, model: str | None) -> Draft:
    """The agent as far as the person has said it; a model finds the rest. Raises UsageError."""
    allowed = read_tools(wanted.tools)
    turn_config, _ = await load_any_config(settings)
    taken = _taken_names(turn_config)
    name, description, prompt = wanted.name, wanted.description, wanted.prompt
    if name is not None:
        _check_name(name, taken)
    if description is None:
        raise UsageError("Say with --description when the agent is to be used, or what a model is to write it from.")
    written_by = None
    if name is None or prompt is None:
        written_by = _model(settings, turn_config, model)
        found = await write_agent_by(settings, written_by, turn_config.config, description, taken)
        name = name or found.identifier
        description, prompt = (found.when_to_use, found.system_prompt) if prompt is None else (description, prompt)
    agent = NewAgent(name, description, prompt, AgentMode(wanted.mode or AgentMode.ALL), allowed)
    return Draft(agent, _folder(settings, turn_config, wanted) / f"{name}.md", written_by)


def _model(settings: Settings, turn_config: TurnConfig, named: str | None) -> str:
    """Raises UsageError."""
    try:
        return model_choices.choose_model(settings, turn_config, named)
    except UsageError as error:
        remedy = "Or say NAME, --description and --prompt yourself: a model writes what you leave out."
        raise UsageError(f"{error} {remedy}") from error


def _taken_names(turn_config: TurnConfig) -> frozenset[str]:
    """Names that no new agent can have: those of disabled and refused ones, too."""
    refused = {name for each in turn_config.refused_agents for name in each.names}
    known = {each.name for each in turn_config.delegation.agents}
    return frozenset({*BUILT_IN, *HIDDEN, *turn_config.config.agent, *refused, *known})


def _check_name(name: str, taken: Collection[str]) -> None:
    """Raises UsageError."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be an agent's name: letters, digits, - and _, with / between folders.")
    if name in taken:
        raise UsageError(f"There is an agent {name!r} already; `holdfast agents show {name}` shows it.")


def _folder(settings: Settings, turn_config: TurnConfig, wanted: Wanted) -> Path:
    """Raises UsageError."""
    if wanted.path is not None and wanted.mine:
        raise UsageError("--global and --path name two places: give one of them.")
    if wanted.path is not None:
        return Path(wanted.path).absolute() / "agent"
    project = Path(turn_config.worktree or current_directory())
    return (settings.config if wanted.mine else project / ".opencode") / "agent"


def write_file(draft: Draft) -> None:
    """Raises UsageError where there is such a file."""
    try:
        draft.file.parent.mkdir(parents=True, exist_ok=True)
        with draft.file.open("x", encoding="utf-8") as opened:
            opened.write(draft.agent.markdown)
    except FileExistsError as error:
        raise UsageError(f"{draft.file} exists already, and stays as it is.") from error
    except OSError as error:
        raise UsageError(f"{draft.file} cannot be written: {error.strerror}.") from error
