"""SlashCommand: a template for prompts, with a name (opencode.md 11)."""

import hashlib
from collections.abc import Sequence
from enum import StrEnum

from workflows.domain.agents.agent import Agent, AgentMode
from workflows.domain.commands.template import ExpandedTemplate, expand_template, find_hints
from workflows.domain.config.references import has_reference
from workflows.domain.errors import UnknownAgent, UsageError
from workflows.domain.messages import PromptPart, ShellPart, SubtaskPart, TextPart
from workflows.domain.permissions import permission_keys
from workflows.domain.prompt import Prompt, PromptMode, UsedCommand
from workflows.domain.value import Value


class CommandSource(StrEnum):
    BUILT_IN = "built-in"
    CONFIGURATION = "command"
    SKILL = permission_keys.SKILL


class SlashCommand(Value):
    """`files`: those that set something of it; `trusted`: its template is the user's own, or built in;
    `agent_trusted`: so are its agent, and whether it is a subtask. `subtask`: None leaves it to the agent's mode."""

    name: str
    template: str
    description: str | None = None
    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    subtask: bool | None = None
    source: CommandSource = CommandSource.CONFIGURATION
    files: tuple[str, ...] = ()
    trusted: bool = True
    agent_trusted: bool = True

    @property
    def hints(self) -> tuple[str, ...]:
        return find_hints(self.template)

    @property
    def digest(self) -> str:
        """The digest of its template."""
        return hashlib.sha256(self.template.encode("utf-8", "surrogatepass")).hexdigest()


def command_prompt(
    command: SlashCommand, arguments: str, given: Prompt, agents: Sequence[Agent], default: str
) -> Prompt:
    """The prompt that a command becomes. `given`: what its caller names besides, with parts that follow; `default`: the
    agent of a turn that names none.

    Raises UnknownAgent; UsageError for a template that is empty with these arguments, or cannot take them.
    """
    expanded = expand_template(command.template, arguments)
    if not expanded.text:
        raise UsageError(f"The command /{command.name} is empty without arguments: say what it is to work on.")
    agent = _agent(command, given, agents, default)
    own_model = command.model or (agent.model if command.agent and not agent.model_family else None)
    model = own_model if own_model and not has_reference(own_model) else given.model
    variant = command.variant or (given.variant if own_model is None else None)
    is_subtask = agent.mode is AgentMode.SUBAGENT if command.subtask is None else command.subtask
    trusted = command.trusted and (command.agent_trusted or not is_subtask)
    named = {"name": command.name, "template": command.digest, "trusted": trusted}
    used = UsedCommand(**named, arguments=arguments, typed_at=expanded.arguments)
    shared = {"command": used, "mode": PromptMode.QUEUE}
    if not is_subtask:
        named = {"agent": command.agent or given.agent, "model": model, "variant": variant}
        return given.model_copy(
            update={"parts": _parts(TextPart(text=expanded.text), expanded, given), **named, **shared}
        )
    work = SubtaskPart(
        agent=agent.name,
        description=command.description or command.name,
        prompt=expanded.text,
        model=command.model,
        variant=command.variant,
        command=command.name,
    )
    return given.model_copy(update={"parts": _parts(work, expanded, given), **shared})


def _agent(command: SlashCommand, given: Prompt, agents: Sequence[Agent], default: str) -> Agent:
    name = command.agent or given.agent or default
    agent = next((each for each in agents if each.name == name), None)
    if agent is None:
        problem = f"The command /{command.name} is for the agent {name!r}, which is not there."
        raise UnknownAgent(problem, (each.name for each in agents if not each.hidden))
    return agent


def _parts(part: PromptPart, expanded: ExpandedTemplate, given: Prompt) -> tuple[PromptPart, ...]:
    shell = (ShellPart(part=0, start=each.start, end=each.end, command=each.command) for each in expanded.shell)
    return part, *shell, *given.parts


class RefusedCommand(Value):
    """`why` begins with the file, and the line if it is known."""

    name: str
    why: str
